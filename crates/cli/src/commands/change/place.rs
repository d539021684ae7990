//! In which process a command runs: in that which owns the group that its operands name, if any
//! does, and from its first step.
//!
//! ```text
//!   operands ─▸ groups, by one look ─▸ the first that has an owner ─▸ there
//!                                   ╲ none has ─▸ here
//! ```
//!
//! Nothing was said, asked or read into by then, so that nothing is said twice, and nothing is
//! refused here that the owner could do. Commands that choose their groups otherwise (by tags, by
//! criteria, by the disks that they are given, or all) find out when they know them, at their first
//! change: see [`Work::change`].
//!
//! Where nobody owns anything on this machine, none of this costs a look.

use ashlar::live::{Client, any_owner};
use ashlar::scan::{FoundVg, Restriction, Scan};

use super::table::is_placed_by_operands;
use super::work::{Work, failed};
use crate::args::{Arguments, Error, LvName, Target, split_target};

impl Work<'_> {
    /// The process that the command called `name` has to run in, if its operands say that it is
    /// another one.
    pub(super) fn place(
        &mut self,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Option<Client>, Error> {
        if !is_placed_by_operands(name) || !any_owner() {
            return Ok(None);
        }
        let scan = self.scan()?;
        let mut owner = None;
        for word in arguments.operands() {
            let Some(group) = group_named(&scan, word) else {
                continue;
            };
            owner = Client::find(group.uuid).map_err(|error| failed(&error))?;
            if owner.is_some() {
                break;
            }
        }
        Ok(owner)
    }
}

/// The one group that an operand names, or whose volume. Of clones it is not known which is owned.
fn group_named<'s>(scan: &'s Scan, word: &str) -> Option<&'s FoundVg> {
    let name = match split_target(word) {
        Target::Vg(group) | Target::Lv(LvName { vg: group, .. }) => group,
        Target::Tag(_) => return None,
    };
    let group = scan.find_group(&name).ok()?;
    let is_cloned = group.restrictions.contains(&Restriction::DuplicateVgid);
    (!is_cloned).then_some(group)
}
