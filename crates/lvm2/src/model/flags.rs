//! The flags of a volume group, a physical volume, a logical volume and a segment type.
//!
//! In the text they stand in three places, which differ in what an older reader does with one it
//! does not know:
//!
//! ```text
//!     status = ["READ", "WRITE"]     it refuses the whole text
//!     flags = ["CACHE_VOL"]          it ignores the flag
//!     type = "raid5+RESHAPE"         it takes the segment for an unknown type
//! ```
//!
//! [`Flags`] holds the first two. A known flag is accepted in either place and written back in
//! its own, in stock's order; unknown names are kept in the place where they stood. The third
//! belongs to a segment and is a list of [`TypeFlag`].

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Where a flag is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `status = [ … ]`
    Status,
    /// `flags = [ … ]`
    Compatible,
}

/// The flags that one kind of object can have.
pub trait Flag: Copy + Eq + 'static {
    /// All of them, in the order in which they are written.
    const ALL: &'static [Self];
    /// The name in the text.
    fn name(self) -> &'static str;
    /// Where it is written.
    fn place(self) -> Place;
    /// The bit that stands for it in memory.
    fn bit(self) -> u32;
}

macro_rules! flags {
    ($(#[$about:meta])* $type:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal in $place:ident,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$doc])* $variant,)*
        }

        const _: () = assert!(<$type as Flag>::ALL.len() <= 32, "each flag has its bit");
        impl Flag for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),*];

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn place(self) -> Place {
                match self { $(Self::$variant => Place::$place,)* }
            }

            fn bit(self) -> u32 {
                1 << self as u32
            }
        }
    };
}

flags! {
    /// A flag of a volume group.
    VgFlag {
        /// Handed over to another machine: not to be touched before it is imported.
        Exported = "EXPORTED" in Status,
        /// Physical volumes may be added and removed.
        Resizeable = "RESIZEABLE" in Status,
        /// A move of extents is under way.
        Pvmove = "PVMOVE" in Status,
        /// May be read.
        Read = "READ" in Status,
        /// May be changed.
        Write = "WRITE" in Status,
        /// May be changed, but not by versions that do not know this flag.
        WriteLocked = "WRITE_LOCKED" in Compatible,
        /// Shared by the cluster manager of old.
        Clustered = "CLUSTERED" in Status,
        /// Shared through lvmlockd.
        Shared = "SHARED" in Status,
        /// Not activated when the machine starts.
        NoAutoactivate = "NOAUTOACTIVATE" in Compatible,
    }
}

flags! {
    /// A flag of a physical volume.
    PvFlag {
        /// New extents may be taken from it.
        Allocatable = "ALLOCATABLE" in Status,
        /// Belongs to an exported volume group.
        Exported = "EXPORTED" in Status,
        /// Was not there when the text was last written; its content may be stale.
        Missing = "MISSING" in Compatible,
    }
}

flags! {
    /// A flag of a logical volume.
    LvFlag {
        /// May be read.
        Read = "READ" in Status,
        /// May be written.
        Write = "WRITE" in Status,
        /// May be written, but not by versions that do not know this flag.
        WriteLocked = "WRITE_LOCKED" in Compatible,
        /// Has a device number of its own choice.
        FixedMinor = "FIXED_MINOR" in Status,
        /// People may use it; without it, it is part of another volume.
        Visible = "VISIBLE" in Status,
        /// The temporary volume of a move.
        Pvmove = "PVMOVE" in Status,
        /// Has extents that are being moved.
        Locked = "LOCKED" in Status,
        /// Was created without a first synchronisation.
        NotSynced = "NOTSYNCED" in Status,
        /// An image to be rebuilt at the next activation.
        Rebuild = "REBUILD" in Status,
        /// An image that is read only where no other can be.
        WriteMostly = "WRITEMOSTLY" in Status,
        /// Activated only when asked for twice.
        ActivationSkip = "ACTIVATION_SKIP" in Compatible,
        /// Not activated when the machine starts.
        NoAutoactivate = "NOAUTOACTIVATE" in Compatible,
        /// A thin pool that fails at once where it has no space, instead of waiting.
        ErrorWhenFull = "ERROR_WHEN_FULL" in Compatible,
        /// Data and metadata of a cache in one volume.
        CacheVol = "CACHE_VOL" in Compatible,
    }
}

flags! {
    /// A flag behind the name of a segment's type (`raid5+RESHAPE`). The place has no meaning here.
    TypeFlag {
        /// A reshape is under way.
        Reshape = "RESHAPE" in Status,
        /// A reshape moves the data's start.
        ReshapeDataOffset = "RESHAPE_DATA_OFFSET" in Status,
        /// A reshape adds images.
        ReshapeDeltaDisksPlus = "RESHAPE_DELTA_DISKS_PLUS" in Status,
        /// A reshape removes images.
        ReshapeDeltaDisksMinus = "RESHAPE_DELTA_DISKS_MINUS" in Status,
        /// An image to be removed when the reshape has ended.
        RemoveAfterReshape = "REMOVE_AFTER_RESHAPE" in Status,
        /// A cache whose metadata has format 2.
        MetadataFormat = "METADATA_FORMAT" in Status,
        /// A thin pool whose metadata device is cropped to what the kernel uses.
        CropMetadata = "CROP_METADATA" in Status,
        /// A cache on a volume that holds its data and metadata.
        CacheUsesCachevol = "CACHE_USES_CACHEVOL" in Status,
    }
}

/// A set of flags, with the names that we do not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags<F> {
    bits: u32,
    unknown: Vec<(Place, String)>,
    kind: PhantomData<F>,
}

impl<F> Default for Flags<F> {
    fn default() -> Self {
        Self {
            bits: 0,
            unknown: Vec::new(),
            kind: PhantomData,
        }
    }
}

impl<F: Flag> Flags<F> {
    /// The set of these flags.
    pub fn of(flags: &[F]) -> Self {
        let mut set = Self::default();
        for flag in flags {
            set.insert(*flag);
        }
        set
    }

    /// Whether `flag` is set.
    pub fn has(&self, flag: F) -> bool {
        self.bits & flag.bit() != 0
    }

    /// Sets `flag`.
    pub fn insert(&mut self, flag: F) {
        self.bits |= flag.bit();
    }

    /// Clears `flag`.
    pub fn remove(&mut self, flag: F) {
        self.bits &= !flag.bit();
    }

    /// Takes a name as it was found in `place`; one that is not known is kept.
    pub fn insert_name(&mut self, place: Place, name: &str) {
        match F::ALL.iter().find(|flag| flag.name() == name) {
            Some(flag) => self.insert(*flag),
            None => self.unknown.push((place, name.to_owned())),
        }
    }

    /// What is written in `place`: the known flags in stock's order, then the unknown names.
    pub fn names(&self, place: Place) -> impl Iterator<Item = &str> {
        let known = F::ALL
            .iter()
            .filter(move |flag| flag.place() == place && self.has(**flag));
        let unknown = self
            .unknown
            .iter()
            .filter(move |(found, _)| *found == place);
        known
            .map(|flag| flag.name())
            .chain(unknown.map(|(_, name)| name.as_str()))
    }

    /// The names in `place` that we do not know.
    pub fn unknown(&self, place: Place) -> impl Iterator<Item = &str> {
        self.unknown
            .iter()
            .filter(move |(found, _)| *found == place)
            .map(|(_, name)| name.as_str())
    }
}
