//! A load as calls of several clients, which take turns.
//!
//! Each client has a directory of its own and knows what is in it, so that every call that is made
//! can be made. The warm-up of all clients comes before the only phase, `execute`.

use super::client::{Client, Numbers};
use super::load::Load;
use crate::workload::InputError;
use crate::workload::program::{Call, Directory, Stream};

/// Clients at most.
const CLIENTS_MAX: u32 = 1024;

/// The calls of so many clients. Fails, with its line, at a request that cannot be made: of a file
/// that is not there.
pub fn stream(load: Load, clients: u32) -> Result<Stream, InputError> {
    if clients == 0 || clients > CLIENTS_MAX {
        let what = format!("1 to {CLIENTS_MAX} can be played");
        return Err(InputError::new(0, "clients", what));
    }
    // Clients do not meet: what one can do, all can.
    let mut numbers = Numbers::default();
    let mut one = Client::new(0, &mut numbers);
    for request in &load.requests {
        one.request(&load, request, &mut numbers)?;
    }
    Ok(Box::new(Turns::new(load, clients)))
}

/// The requests of all clients, in turns.
struct Turns {
    load: Load,
    clients: Vec<Client>,
    numbers: Numbers,
    /// Calls that are to be made next, the last one first.
    calls: Vec<Call>,
    index: usize,
    client: usize,
}

impl Turns {
    fn new(load: Load, clients: u32) -> Self {
        let mut numbers = Numbers::default();
        let clients: Vec<Client> = (0..clients)
            .map(|number| Client::new(number, &mut numbers))
            .collect();
        let made = clients.iter().map(|client| Call::Mkdir {
            parent: Directory::ROOT,
            name: client.name.clone(),
            directory: client.home,
        });
        let calls = made.rev().collect();
        Self {
            load,
            clients,
            numbers,
            calls,
            index: 0,
            client: 0,
        }
    }

    fn turn(&mut self) -> Option<()> {
        let mut calls = Vec::new();
        if self.client == 0 && self.index == self.load.warm_up {
            calls.push(Call::phase("execute"));
        }
        let request = self.load.requests.get(self.index)?;
        let client = &mut self.clients[self.client];
        let made = client.request(&self.load, request, &mut self.numbers);
        calls.extend(made.expect("one client has made it before"));
        calls.reverse();
        self.calls = calls;
        self.client += 1;
        if self.client == self.clients.len() {
            self.client = 0;
            self.index += 1;
        }
        Some(())
    }
}

impl Iterator for Turns {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        loop {
            if let Some(call) = self.calls.pop() {
                return Some(call);
            }
            self.turn()?;
        }
    }
}
