//! LVM2's UUIDs: 32 characters, not RFC 4122's 128 bits.
//!
//! On disk the 32 characters stand alone; in the text and to people they are printed in groups of
//! 6-4-4-4-4-4-6. The alphabet is `0-9a-zA-Z`, and `!` and `#`, which LVM2 accepts and does not
//! draw. Dashes carry no information: they are ignored wherever they stand when reading.
//!
//! Drawing a new one needs randomness, which is an argument here.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::error::{Error, Kind};

/// Characters in a UUID without its dashes.
pub const UUID_LEN: usize = 32;

/// The characters from which new UUIDs are drawn.
const DRAWN: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Where the printed form puts its dashes: the lengths of its groups.
const GROUPS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];
const _: () = assert!(
    GROUPS[0] + 5 * GROUPS[1] + GROUPS[6] == UUID_LEN,
    "all is printed"
);

/// The identity of a physical volume, a volume group, or a logical volume.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; UUID_LEN]);

impl Uuid {
    /// From the 32 characters that stand on a disk.
    pub fn from_bytes(bytes: &[u8; UUID_LEN]) -> Result<Self, Error> {
        match bytes.iter().find(|byte| !is_valid(**byte)) {
            None => Ok(Self(*bytes)),
            Some(byte) => Err(Error::new(
                Kind::Uuid,
                format!("the byte {byte:#04x} cannot stand in a UUID"),
            )),
        }
    }

    /// A new one from 32 random bytes.
    pub fn from_random(random: &[u8; UUID_LEN]) -> Self {
        Self(random.map(|byte| DRAWN[usize::from(byte) % DRAWN.len()]))
    }

    /// The 32 characters as they stand on a disk.
    pub fn as_bytes(&self) -> &[u8; UUID_LEN] {
        &self.0
    }

    /// The 32 characters without dashes, as device-mapper's names have them.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }
}

impl FromStr for Uuid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut bytes = [0; UUID_LEN];
        let mut len = 0;
        for byte in text.bytes().filter(|byte| *byte != b'-') {
            if !is_valid(byte) || len == UUID_LEN {
                return Err(not_a_uuid(text));
            }
            bytes[len] = byte;
            len += 1;
        }
        debug_assert!(len <= UUID_LEN, "no more is taken than there is room for");
        if len == UUID_LEN {
            Ok(Self(bytes))
        } else {
            Err(not_a_uuid(text))
        }
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.as_str();
        for (index, len) in GROUPS.into_iter().enumerate() {
            let (group, behind) = rest.split_at(len);
            rest = behind;
            f.write_str(if index == 0 { "" } else { "-" })?;
            f.write_str(group)?;
        }
        debug_assert!(rest.is_empty(), "all of it is printed");
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

fn is_valid(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'!' || byte == b'#'
}

fn not_a_uuid(text: &str) -> Error {
    // The text comes from a disk: only its beginning is worth showing.
    let shown: String = text.chars().take(48).collect();
    Error::new(
        Kind::Uuid,
        format!("{shown:?} is not a UUID of {UUID_LEN} letters and digits"),
    )
}

#[cfg(test)]
mod tests;
