//! Settings that say what an option would: whoever sets `global/test` gets `--test` with every
//! command that has it.
//!
//! An option that was typed counts more. What is added here stands among the words of the command,
//! too, so that it reaches the owner of a group, which has a configuration of its own.

use std::iter;

use ashlar::host::Config;
use lvm2::text::Value;

use super::parse::Arguments;
use super::table::Command;

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
            let values = standing.values(config);
            values.for_each(|value| arguments.add_unsaid(flag, value));
        }
    }
}

impl Standing {
    /// The option's values, one for each time that it is added.
    fn values(&self, config: &Config) -> impl Iterator<Item = Option<String>> {
        let is_on = config.flag(self.key, false);
        let (count, value) = match self.how {
            How::Times(count) => (if is_on { count } else { 0 }, None),
            How::Count(most) => {
                let number = config.integer(self.key).unwrap_or(0);
                (usize::try_from(number).unwrap_or(0).min(most), None)
            }
            How::Value => {
                let value = match config.value(self.key) {
                    Some(Value::String(word)) if !word.is_empty() => Some((**word).to_owned()),
                    Some(Value::Integer(number)) => Some(number.to_string()),
                    _ => None,
                };
                (usize::from(value.is_some()), value)
            }
            How::Switch => (usize::from(is_on), Some("y".to_owned())),
        };
        iter::repeat_n(value, count)
    }
}

#[cfg(test)]
mod tests;
