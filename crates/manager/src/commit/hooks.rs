//! What happens to volumes in use while a commit is under way.

use crate::Result;

/// Called by a commit at the moments that matter to whoever serves volumes of the group.
pub trait Hooks {
    /// The texts are durable, and no header was written. Hold new requests whose volumes change,
    /// and wait, within a limit, for those in flight. An error ends the commit: nothing changed.
    fn suspend(&mut self) -> Result<()>;

    /// The commit is done: load the new tables and go on.
    fn publish(&mut self);

    /// The commit failed before any header was submitted: go on with the old tables.
    fn resume(&mut self);
}

/// Nothing of the group is in use by this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn suspend(&mut self) -> Result<()> {
        Ok(())
    }

    fn publish(&mut self) {}

    fn resume(&mut self) {}
}
