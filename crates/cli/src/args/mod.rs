//! The command line: one table of commands and flags, and everything that is derived from it.
//!
//! ```text
//!   flags.rs + commands/*.rs        what exists: names, value kinds, one sentence each
//!        │
//!        ├── parse.rs               words in, `Arguments` out, or a message that names the word
//!        │      ├── values.rs         whether a value is of its option's kind
//!        │      ├── forms.rs          whether options and names go together
//!        │      ├── default_group.rs  the group that LVM_VG_NAME names
//!        │      ├── settings.rs       what they set of the configuration, as values
//!        │      └── from_settings.rs  what the configuration sets of them
//!        ├── help.rs                `--help`
//!        ├── man.rs                 roff pages
//!        └── complete.rs            what completes words in a shell
//! ```
//!
//! The rules are LVM2's, because its scripts must run unchanged: options and names may be mixed,
//! short flags may be grouped (`-aL 1g`), a long option may be cut short while it stays
//! unambiguous, hyphens inside a long option do not count, `--` ends the options.

mod complete;
mod default_group;
mod error;
pub(crate) mod flags;
mod forms;
pub(crate) mod from_settings;
mod help;
mod man;
mod name;
pub(crate) mod nodes_dir;
mod parse;
pub(crate) mod settings;
mod size;
mod source_date;
mod suggest;
mod table;
mod values;

pub(crate) use complete::{Shell, completion};
pub(crate) use error::{Error, Kind};
pub(crate) use forms::volume_types;
pub(crate) use help::{overview, text};
pub(crate) use man::pages;
pub(crate) use name::{LvName, Target, split_target};
pub(crate) use parse::{Arguments, parse, read_typed, require_form, split_leading};
pub(crate) use size::bytes;
pub(crate) use source_date::source_date;
pub(crate) use suggest::{meant, nearest};
pub(crate) use table::{Command, Example, Flag, Task};
