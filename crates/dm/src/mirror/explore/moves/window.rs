//! A window on a disk that no machine uses at the moment: requests go to it as they are.

use block::sim::{Disk, Random, Ticket};
use block::{Buffer, Completion, Durability, Error, Kind, Request};

use crate::explore::{NEVER, SECTOR, Sort, encode};

/// One window, which is a disk of its own here.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) disk: Disk,
    /// It failed a flush, or a write with FUA, and does so until it is opened again.
    pub(super) latched: bool,
    /// What fails next.
    pub(super) arranged: Vec<Sort>,
    /// What is in flight, and whether it has to be durable.
    flying: Vec<(Ticket, bool)>,
}

impl Window {
    pub(super) fn new(disk: Disk, latched: bool) -> Self {
        Self {
            disk,
            latched,
            arranged: Vec::new(),
            flying: Vec::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flying.is_empty()
    }

    pub(super) fn begin(&mut self, request: Request) {
        let sort = Sort::of(&request);
        let durable = sort == Sort::Flush || request.durability == Durability::Fua;
        let arranged = self.arranged.iter().position(|one| *one == sort);
        if let Some(arranged) = arranged {
            self.arranged.swap_remove(arranged);
        }
        if arranged.is_some() || (durable && self.latched) {
            let next = self.disk.begun() + 1;
            self.disk.faults_mut().failing.insert(next, Kind::Io);
        }
        let ticket = self.disk.begin(request);
        self.flying.push((ticket, durable));
    }

    /// Answers one of the requests in flight.
    pub(super) fn step(&mut self, random: &mut Random) -> Completion {
        let index = random.index(self.flying.len());
        let (ticket, durable) = self.flying.swap_remove(index);
        let mut answer = self.disk.finish(ticket);
        if durable {
            self.latched |= answer.result.is_err();
            if self.latched && answer.result.is_ok() {
                let what = "another flush failed";
                answer.result = Err(Error::new(Kind::FlushFailed, what));
            }
        }
        answer
    }

    /// Whoever asked is killed: some of it was sent.
    pub(super) fn kill(mut self, random: &mut Random) -> Disk {
        for (ticket, _) in self.flying {
            match random.below(3) {
                0 => self.disk.abandon(ticket),
                1 => self.disk.interrupt(ticket),
                _ => self.disk.finish_unheard(ticket),
            }
        }
        self.disk
    }
}

/// Others write to a disk, durably: what it holds of the volume, from sector `first` on, is free.
pub(super) fn reuse(disk: &mut Disk, first: u64) {
    if disk.is_gone() {
        return;
    }
    for sector in 0..disk.info().size / SECTOR {
        let buffer = Buffer::copy_of(&encode((first + sector) as usize, NEVER));
        let request = Request::write(0, sector * SECTOR, Durability::Fua, buffer);
        let ticket = disk.begin(request);
        disk.finish(ticket);
    }
}
