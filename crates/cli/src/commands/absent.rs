//! LVM2's commands that are not there, and what to do instead.
//!
//! A script that calls one of them must fail, and whoever reads the message must be able to go on:
//! so each has a sentence of its own. The name of another command is never guessed for one of
//! these, also where the program was called by such a name through a link. `dispatch` asks here
//! before it looks for what was probably meant.

use crate::args::Error;

/// A command of LVM2's that does not exist here.
struct Absent {
    /// All names that it has.
    names: &'static [&'static str],
    /// What to do instead, as whole sentences.
    instead: &'static str,
}

const ABSENT: &[Absent] = &[
    Absent {
        names: &["lvpoll", "lvmpolld", "dmeventd"],
        instead: "Nothing is polled or monitored: the process that serves a volume also brings its \
            copies in sync.",
    },
    Absent {
        names: &["lvmlockctl", "lvmlockd", "lvm_import_vdo", "blkdeactivate"],
        instead: "Use LVM2 for this.",
    },
];

/// What to say of `name`, if it is a command of LVM2's that is not there.
pub(super) fn refusal(name: &str) -> Option<Error> {
    let absent = ABSENT.iter().find(|absent| absent.names.contains(&name))?;
    Some(Error::no_such_command(format!(
        "{name} of LVM2 is not there yet, and nothing was done.  {}",
        absent.instead
    )))
}

#[cfg(test)]
mod tests;
