//! A stream that comes in: standard input, which a signal ends between two looks.
//!
//! A read of a pipe waits for as long as the sender does, and signals do not end it. So it is begun
//! only when there is something to read, or nothing more to come.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::args::Error;
use crate::commands::cp::Signals;

/// How often to look for a signal while nothing comes.
const LOOK: Duration = Duration::from_millis(200);

/// Standard input.
pub(super) struct Input<'a> {
    file: File,
    signals: &'a Signals,
}

impl<'a> Input<'a> {
    /// Standard input, which ends when a signal comes.
    pub(super) fn new(signals: &'a Signals) -> Result<Self, Error> {
        let file = rustix::stdio::stdin().try_clone_to_owned();
        let file =
            file.map_err(|error| Error::failed("Could not read the stream").because(error))?;
        Ok(Self {
            file: file.into(),
            signals,
        })
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let limit = Timespec::try_from(LOOK).expect("it is short");
        loop {
            // Whoever gets the error asks the signals why.
            self.signals.check().map_err(std::io::Error::other)?;
            let mut looked = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN)];
            match poll(&mut looked, Some(&limit)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.file.read(buffer),
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}
