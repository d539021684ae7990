//! Settings that say what an option would: whoever sets `global/test` gets `--test` with every
//! command that has it.
//!
//! An option that was typed counts more. What is added here stands among the words of the command,
//! too, so that it reaches the owner of a group, which has a configuration of its own.

use ashlar::host::Config;
use lvm2::text::Value;

use super::parse::Arguments;
use super::table::{Command, Flag};

/// A setting, and the option that it stands for.
struct Standing {
    key: &'static str,
    /// The option's long name.
    long: &'static str,
    /// Options beside which it says nothing.
    beside: &'static [&'static str],
    /// The commands that read it; empty: all that have the option.
    commands: &'static [&'static str],
    how: How,
}

/// What the value of a setting becomes.
#[derive(Clone, Copy)]
enum How {
    /// The option so many times, where it is switched on.
    Times(usize),
    /// The option as often as the number says, no more than this.
    Count(usize),
    /// The option's value.
    Value,
    /// `y` or `n`.
    Switch,
}

const MAKES_DISKS: &[&str] = &["pvcreate", "vgcreate", "vgextend", "vgconvert"];

const ALL: &[Standing] = &[
    Standing {
        key: "global/test",
        long: "test",
        beside: &[],
        commands: &[],
        how: How::Times(1),
    },
    Standing {
        key: "log/silent",
        long: "quiet",
        beside: &[],
        commands: &[],
        how: How::Times(2),
    },
    Standing {
        key: "log/verbose",
        long: "verbose",
        beside: &["quiet"],
        commands: &[],
        how: How::Count(4),
    },
    Standing {
        key: "activation/activation_mode",
        long: "activationmode",
        beside: &["partial"],
        commands: &[],
        how: How::Value,
    },
    Standing {
        key: "metadata/vgmetadatacopies",
        long: "vgmetadatacopies",
        beside: &["metadatacopies"],
        commands: &["vgcreate"],
        how: How::Value,
    },
    Standing {
        key: "metadata/pvmetadataignore",
        long: "metadataignore",
        beside: &[],
        commands: MAKES_DISKS,
        how: How::Switch,
    },
    Standing {
        key: "activation/polling_interval",
        long: "interval",
        beside: &[],
        commands: &[],
        how: How::Value,
    },
];

/// Adds to the options what the settings say.
pub(crate) fn apply(command: &Command, config: &Config, arguments: &mut Arguments) {
    for standing in ALL {
        let is_read = standing.commands.is_empty() || standing.commands.contains(&command.name);
        let flag = command.all_flags().find(|flag| flag.long == standing.long);
        let is_said = |long: &&str| arguments.has_long(long);
        if let Some(flag) = flag
            && is_read
            && !is_said(&standing.long)
            && !standing.beside.iter().any(is_said)
        {
            standing.add(flag, config, arguments);
        }
    }
}

impl Standing {
    fn add(&self, flag: &Flag, config: &Config, arguments: &mut Arguments) {
        let set = config.value(self.key);
        let number = config.integer(self.key);
        let is_on = config.flag(self.key, false);
        match self.how {
            How::Times(count) => (0..count).for_each(|_| {
                if is_on {
                    arguments.add_unsaid(flag, None);
                }
            }),
            How::Count(most) => {
                let count = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
                (0..count.min(most)).for_each(|_| arguments.add_unsaid(flag, None));
            }
            How::Value => match set {
                Some(Value::String(word)) if !word.is_empty() => {
                    arguments.add_unsaid(flag, Some((**word).to_owned()));
                }
                Some(Value::Integer(number)) => {
                    arguments.add_unsaid(flag, Some(number.to_string()));
                }
                _ => {}
            },
            How::Switch if is_on => arguments.add_unsaid(flag, Some("y".to_owned())),
            How::Switch => {}
        }
    }
}

#[cfg(test)]
mod tests;
