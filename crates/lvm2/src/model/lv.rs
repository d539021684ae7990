//! A logical volume: its name, its properties, and the segments that it is made of.
//!
//! Parts of a volume (images, logs, pools' halves) are logical volumes themselves, without the
//! flag that makes them visible. How they belong together is in [`Relations`](super::Relations).

use alloc::string::String;
use alloc::vec::Vec;

use super::extras::Extras;
use super::flags::{Flags, LvFlag, TypeFlag};
use super::segment::{Segment, SegmentType};
use crate::{Extents, Sectors, Uuid};

/// A logical volume.
#[derive(Debug, Clone, PartialEq)]
pub struct LogicalVolume {
    /// Its name. Inside a volume group it is changed by `VolumeGroup::rename_lv` only.
    pub(crate) name: String,
    /// Its identity.
    pub uuid: Uuid,
    /// The flags.
    pub flags: Flags<LvFlag>,
    /// The tags.
    pub tags: Vec<String>,
    /// When it was created, in seconds since 1970 began.
    pub creation_time: Option<u64>,
    /// Where it was created.
    pub creation_host: Option<String>,
    /// What lvmlockd needs to know.
    pub lock_args: Option<String>,
    /// How new extents are chosen; `None` as the volume group says.
    pub allocation: Option<AllocationPolicy>,
    /// The configuration profile.
    pub profile: Option<String>,
    /// How much is read in advance.
    pub read_ahead: ReadAhead,
    /// A device number of its own choice: the driver's.
    pub major: Option<i64>,
    /// A device number of its own choice: the device's.
    pub minor: Option<i64>,
    /// The segments, in the order of their extents.
    pub segments: Vec<Segment>,
    /// Keys that the model does not name.
    pub extra: Extras,
}

/// How much is read in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAhead {
    /// As the system finds right.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// This much.
    Sectors(u32),
}

/// How new extents are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AllocationPolicy {
    /// Beside the ones that are there.
    Contiguous,
    /// On the physical volumes that are in use already.
    Cling,
    /// On physical volumes that share a tag with those.
    ClingByTags,
    /// Sensibly: never two stripes on one physical volume.
    Normal,
    /// Wherever there is space.
    Anywhere,
}

impl AllocationPolicy {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Contiguous,
        Self::Cling,
        Self::ClingByTags,
        Self::Normal,
        Self::Anywhere,
    ];

    /// The name in the text and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contiguous => "contiguous",
            Self::Cling => "cling",
            Self::ClingByTags => "cling_by_tags",
            Self::Normal => "normal",
            Self::Anywhere => "anywhere",
        }
    }

    /// The policy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

impl LogicalVolume {
    /// A volume without segments, flags or properties.
    pub fn new(name: impl Into<String>, uuid: Uuid) -> Self {
        Self {
            name: name.into(),
            uuid,
            flags: Flags::default(),
            tags: Vec::new(),
            creation_time: None,
            creation_host: None,
            lock_args: None,
            allocation: None,
            profile: None,
            read_ahead: ReadAhead::Auto,
            major: None,
            minor: None,
            segments: Vec::new(),
            extra: Extras::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many extents it has.
    pub fn extents(&self) -> Extents {
        // Segments of a text that was not checked may add up to anything.
        Extents(
            self.segments
                .iter()
                .fold(0, |sum, segment| sum.saturating_add(segment.length.0)),
        )
    }

    /// How much people can use of it: its extents without those that a reshape has set aside.
    /// `None` beyond what 64 bits can count.
    pub fn size(&self, extent_size: Sectors) -> Option<Sectors> {
        let lengths = self
            .segments
            .iter()
            .map(|segment| segment.usable_length().0);
        Extents(lengths.fold(0, u64::saturating_add)).to_sectors(extent_size)
    }

    /// The first segment, which says what kind of volume this is.
    pub fn first(&self) -> Option<&SegmentType> {
        self.segments.first().map(|segment| &segment.kind)
    }

    /// Of an image of an array: whether it is split off to be read, and the array goes on without
    /// it until it is merged.
    pub fn is_set_aside(&self) -> bool {
        self.flags.has(LvFlag::Visible) && !self.is_writable()
    }

    /// Of an image of an array, or its metadata: whether it goes when a reshape is over.
    pub fn goes_after_reshape(&self) -> bool {
        let mut segments = self.segments.iter();
        segments.any(|one| one.type_flags.contains(&TypeFlag::RemoveAfterReshape))
    }

    /// Whether its flags allow writing.
    pub fn is_writable(&self) -> bool {
        self.flags.has(LvFlag::Write) || self.flags.has(LvFlag::WriteLocked)
    }
}
