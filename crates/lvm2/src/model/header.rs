//! What stands beside the volume group in a text: who wrote it, when, and what for.
//!
//! Half of it is comments, which nobody reads back, so a text that was only read has no generator
//! and no description of its host. Every text that we write gets a header of its own.

use alloc::string::String;

use super::extras::Extras;

/// What `contents` always says.
pub const CONTENTS: &str = "Text Format Volume Group";
/// What `version` always says.
pub const VERSION: u64 = 1;

/// The keys and comments beside the volume group's section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header {
    /// A comment: the program and its version, as in `Ashlar 0.1.0`.
    pub generator: Option<String>,
    /// Why the text was written: the command line, in stock's sentence.
    pub description: Option<String>,
    /// The machine's name.
    pub creation_host: Option<String>,
    /// A comment behind it: system, release and hardware.
    pub host_detail: Option<String>,
    /// Seconds since 1970 began.
    pub creation_time: Option<u64>,
    /// Whether a time of creation in the text, of the group or of a volume, could not be, and was
    /// replaced when it was read. The next text is right again.
    pub has_invalid_times: bool,
    /// Keys that the model does not name.
    pub extra: Extras,
}
