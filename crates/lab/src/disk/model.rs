//! The seam that everything in virtual time shares: commands in, answers out, at given times.

use super::drive::{Answer, Command};

/// Anything that takes commands and answers them in its own time: a drive, a capped volume.
///
/// Times never go back. What is submitted at a time is done by then as far as it can be; an answer
/// is given out once, when its time has come.
pub trait Model: std::fmt::Debug + Send {
    /// Blocks of 512 bytes.
    fn blocks(&self) -> u64;

    /// Gives it a command at `now_ns`.
    fn submit(&mut self, now_ns: u64, command: Command);

    /// When it has something to do or to answer; `None` until the next command.
    fn wake(&self) -> Option<u64>;

    /// The next answer whose time has come, in the order of their times.
    fn answer(&mut self, now_ns: u64) -> Option<Answer>;
}

impl Model for Box<dyn Model> {
    fn blocks(&self) -> u64 {
        self.as_ref().blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        self.as_mut().submit(now_ns, command);
    }

    fn wake(&self) -> Option<u64> {
        self.as_ref().wake()
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.as_mut().answer(now_ns)
    }
}
