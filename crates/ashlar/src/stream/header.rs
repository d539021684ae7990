//! The head of a stream: what it is of, and where this part of it begins.
//!
//! ```text
//!    0  size:8  volume:32  moment:32  base:32 (zeros: whole)  lasting:1  zeros:7
//!  112  position:8  chain:32 (zeros at position 0)
//!  152  name, to the end: letters, digits and +_.-/
//! ```
//!
//! Sizes and UUIDs say what may follow what; the name is for people only.

use lvm2::{UUID_LEN, Uuid};

use super::chain::Chain;
use super::frame::damaged;
use crate::Result;
use crate::activate::Permanence;

/// The longest name: a group's and a volume's, 127 bytes each at most.
pub const NAME_MAX: usize = 255;
/// Bytes in front of the name.
const FIXED: usize = 152;
/// Of these, what is the same in all parts of a stream.
const SAME: usize = 112;
/// Larger volumes there are none: offsets of files end there.
const SIZE_MAX: u64 = 1 << 63;

/// What a stream is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The volume as it was called where it was sent: `vg0/monday`.
    pub name: String,
    /// The volume of which this is a moment.
    pub volume: Uuid,
    /// The moment: of a snapshot the volume that joins it, else the volume itself.
    pub moment: Uuid,
    /// The moment whose bytes all others are; `None`: no byte is left out.
    pub base: Option<Uuid>,
    /// Whether the moment can be sent again as it was: then an interrupted stream can be gone on
    /// with.
    pub permanence: Permanence,
    /// Bytes of the volume.
    pub size: u64,
    /// The byte of the volume at which this part begins, and the chain up to there; `None`: the
    /// stream begins here.
    pub from: Option<(u64, Chain)>,
}

impl Header {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        assert!(is_name(&self.name), "volumes have such names");
        let mut bytes = Vec::with_capacity(FIXED + self.name.len());
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(self.volume.as_bytes());
        bytes.extend_from_slice(self.moment.as_bytes());
        let base = self.base.as_ref().map_or(&[0; UUID_LEN], Uuid::as_bytes);
        bytes.extend_from_slice(base);
        bytes.push(u8::from(self.permanence == Permanence::Lasting));
        bytes.extend_from_slice(&[0; 7]);
        let (position, chain) = match &self.from {
            Some((position, chain)) => (*position, *chain.as_bytes()),
            None => (0, [0; Chain::LEN]),
        };
        bytes.extend_from_slice(&position.to_le_bytes());
        bytes.extend_from_slice(&chain);
        debug_assert_eq!(bytes.len(), FIXED);
        bytes.extend_from_slice(self.name.as_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let Some((fixed, name)) = bytes.split_first_chunk::<FIXED>() else {
            return Err(damaged("its head is too short"));
        };
        let half = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("8 bytes"));
        let Some(name) = str::from_utf8(name).ok().filter(|name| is_name(name)) else {
            return Err(damaged("the name in its head is none"));
        };
        let uuid = |at: usize| {
            let bytes = fixed[at..at + UUID_LEN].try_into().expect("32 bytes");
            Uuid::from_bytes(bytes).map_err(|_| damaged("a UUID in its head is none"))
        };
        let base = if fixed[72..72 + UUID_LEN] == [0; UUID_LEN] {
            None
        } else {
            Some(uuid(72)?)
        };
        let permanence = match fixed[104] {
            0 => Permanence::Passing,
            1 => Permanence::Lasting,
            _ => return Err(damaged("its head has an unknown flag")),
        };
        let (size, position) = (half(0), half(112));
        if fixed[105..SAME] != [0; 7] || size > SIZE_MAX || position > size {
            return Err(damaged("its head makes no sense"));
        }
        let chain: [u8; Chain::LEN] = fixed[120..FIXED].try_into().expect("32 bytes");
        let is_begin = position == 0 && chain == [0; Chain::LEN];
        Ok(Self {
            name: name.to_owned(),
            volume: uuid(8)?,
            moment: uuid(40)?,
            base,
            permanence,
            size,
            from: (!is_begin).then(|| (position, Chain::from_bytes(chain))),
        })
    }

    /// The byte of the volume at which this part begins.
    pub fn position(&self) -> u64 {
        self.from.map_or(0, |(position, _)| position)
    }

    /// The chain at which this part begins.
    pub(super) fn chain(&self) -> Chain {
        self.from
            .map_or_else(|| Chain::of(&self.to_bytes()), |(_, chain)| chain)
    }

    /// Whether both are parts of one stream. A volume may have got another name in between.
    pub fn is_same_stream(&self, other: &Self) -> bool {
        self.to_bytes()[..SAME] == other.to_bytes()[..SAME]
    }
}

/// Whether it may be the name of a volume: it is printed, and stands in the lines of a note.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+_.-/".contains(&byte);
    text.len() <= NAME_MAX && text.bytes().all(is_plain)
}
