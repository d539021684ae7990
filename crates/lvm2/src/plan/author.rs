//! Who makes a change: what a plan needs from outside and must not fetch itself.

use alloc::string::String;
use core::fmt;

use crate::Uuid;
use crate::model::Header;

/// Who makes a change, when, and with which identities for what is new.
pub struct Author<'a> {
    /// The program and its version, as in `Ashlar 0.1.0`.
    pub generator: String,
    /// Why the text is written: the command line, in stock's sentence.
    pub description: String,
    /// The machine's name.
    pub host: String,
    /// System, release and hardware of the machine.
    pub host_detail: Option<String>,
    /// Seconds since 1970 began.
    pub time: u64,
    /// Gives a fresh UUID at each call.
    pub uuids: &'a mut dyn FnMut() -> Uuid,
}

impl Author<'_> {
    /// A fresh UUID.
    pub fn uuid(&mut self) -> Uuid {
        (self.uuids)()
    }

    /// What stands beside the group in a text of this author.
    pub fn header(&self) -> Header {
        Header {
            generator: Some(self.generator.clone()),
            description: Some(self.description.clone()),
            creation_host: Some(self.host.clone()),
            host_detail: self.host_detail.clone(),
            creation_time: Some(self.time),
            ..Header::default()
        }
    }
}

impl fmt::Debug for Author<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Author")
            .field("description", &self.description)
            .field("host", &self.host)
            .field("time", &self.time)
            .finish_non_exhaustive()
    }
}
