//! What can be found at a volume that matters to whether it is served, and the rule for each.
//!
//! The list is closed on both sides: every flag, segment type and use that the model knows is
//! mapped to a condition by a match without a wildcard, so that a new one does not compile before
//! it has a rule; and `Condition::ALL` is the table in `docs/format.md`, row by row.

use crate::Kind;

/// What happens to one kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ruling {
    /// It is allowed: what is read, or what is written.
    Served(&'static str),
    /// It is refused, and why: a clause that ends a sentence about the volume.
    Refused(&'static str),
    /// The type has no code that reads it.
    NotYet,
}

/// What holds where a condition is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    /// The condition in the words of the text and of people: a cell of the table.
    pub(super) what: &'static str,
    /// Reading.
    pub(super) read: Ruling,
    /// Writing; where reading is refused, so is writing.
    pub(super) write: Ruling,
}

use Ruling::{NotYet, Refused, Served};

const WHOLE: Ruling = Served("as it is");
const OWN_BYTES: Ruling = Served("its own bytes");
const PART: Ruling = Refused("it is a part of another volume");
const MOVE: Ruling = Refused(
    "it is what pvmove moves volumes with: write those; pvmove goes on, pvmove --abort ends it",
);
const UNREAD: Ruling = Refused("it cannot be read");

macro_rules! conditions {
    ($($(#[$doc:meta])* $name:ident: $what:literal, $read:expr, $write:expr;)*) => {
        /// What was found at a volume, or at one that it stands on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) enum Condition {
            $($(#[$doc])* $name,)*
        }

        impl Condition {
            /// All of them, in the order of the table.
            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$name),*];

            /// What holds where it is found.
            pub(super) fn rule(self) -> Rule {
                match self {
                    $(Self::$name => Rule { what: $what, read: $read, write: $write },)*
                }
            }
        }
    };
}

conditions! {
    /// A striped segment with one area.
    Linear: "type `striped` with one area (linear)", WHOLE, WHOLE;
    /// A striped segment with several areas.
    Striped: "type `striped`", WHOLE, WHOLE;
    /// A zero segment.
    Zero: "type `zero`", Served("zeros"), Served("to nothing");
    /// An error segment.
    ErrorSegment: "type `error`", Served("errors"), Served("errors");
    /// A mirror of volumes, which may be mirrors themselves while it is converted.
    Mirror: "type `mirror` over volumes; also one that is being converted, over a mirror",
        Served("an image that its log calls in sync"), Served("all images");
    /// The mirror that moves extents.
    Move: "type `mirror` over physical volumes, flag `PVMOVE` (pvmove in progress)",
        Served("the area that `extents_moved` says: the second of a piece that is moved whole, \
        else the first"),
        MOVE;
    /// A mirror whose images are extents, and that is no move.
    MirrorOnPvs: "type `mirror` over physical volumes without `PVMOVE`",
        Refused("its mirror lies on physical volumes and is no move: it is not known which copy \
        is right; convert it with LVM2 (lvconvert -m0)"), UNREAD;
    /// RAID 0.
    Raid0: "types `raid0` and `raid0_meta`", Served("stripes over its images"),
        Served("its images, not its superblocks");
    /// RAID with copies or parity.
    Raid: "types `raid1`, `raid4`, `raid5*`, `raid6*`, `raid10*`",
        Served("images that their superblocks call right; what is missing, from the others"),
        Served("all images that are there; what is not in sync is brought in sync");
    /// The holder of a snapshot's segment.
    SnapshotSegment: "type `snapshot`",
        Refused("it only joins an origin and a snapshot of it: read those"), UNREAD;
    /// A thin pool.
    ThinPool: "type `thin-pool`", NotYet, NotYet;
    /// A thin volume.
    Thin: "type `thin`, also with `origin` or `external_origin`", NotYet, NotYet;
    /// A thin snapshot that is to replace its origin.
    ThinMerging: "type `thin` with `merge`",
        Refused("it is being merged into its origin: activate the origin with LVM2, which ends \
        that"), UNREAD;
    /// A cache pool.
    CachePool: "type `cache-pool`", NotYet, NotYet;
    /// A cached volume.
    Cache: "type `cache`", NotYet, NotYet;
    /// A volume with a cache for writes.
    Writecache: "type `writecache`", NotYet, NotYet;
    /// A volume with checksums.
    Integrity: "type `integrity`",
        Served("blocks that are what their checksums say; what its journal holds, from there"),
        Served("data and checksums");
    /// A VDO pool.
    VdoPool: "type `vdo-pool`", NotYet, NotYet;
    /// A VDO volume.
    Vdo: "type `vdo`", NotYet, NotYet;
    /// A type of which nothing is known.
    UnknownType: "any other type, or a type with an unknown suffix",
        Refused("it has a segment of an unknown type: use the version of LVM2 that made it"
        ), UNREAD;
    /// A suffix behind a type that is otherwise served.
    TypeSuffix: "a known suffix (`+RESHAPE`, `+CACHE_USES_CACHEVOL`, …) behind a type that is \
        served",
        Refused("the type of its segment has a suffix, which changes what it means: use LVM2"
        ), UNREAD;
    /// Extents set aside for a reshape in a type that has none.
    Reshape: "`reshape_count` in a type that is served",
        Refused("extents of it are set aside for a reshape: let LVM2 end that"), UNREAD;
    /// The origin of a snapshot.
    Origin: "used as `origin` of a snapshot", WHOLE,
        Served("as it is, when its snapshots have what was there before");
    /// An origin into which a snapshot is being merged.
    MergingOrigin: "used as `origin` of a snapshot with `merging_store`",
        Served("what the snapshot's store still holds, else its own bytes"),
        Served("the same, while the rest of the store is copied back");
    /// The origin of a thin snapshot that is being merged.
    ThinMergeTarget: "used as `merge` by a thin volume",
        Refused("a thin snapshot is being merged into it, and replaces it: activate it with LVM2, \
        which ends that"), UNREAD;
    /// An origin that exists only for its snapshot.
    VirtualOrigin: "a virtual origin (`_vorigin`)", WHOLE, PART;
    /// The store of a snapshot, which has the snapshot's name.
    Cow: "used as `cow_store` (what people call the snapshot)",
        Served("what its store holds, else the origin's bytes"),
        Served("its store");
    /// The store of a snapshot that is being merged.
    MergingCow: "used as `merging_store`",
        Refused("it is a snapshot that is being merged into its origin: serve the origin, which \
        ends that"), UNREAD;
    /// What a thin volume shows where it holds nothing.
    ExternalOrigin: "used as `external_origin` of a thin volume", WHOLE,
        Refused("thin volumes show it where they hold nothing themselves");
    /// A thin pool, thin origin, thin volume to be created or VDO pool, whose own type decides.
    TypeDecides: "used as `thin_pool`, as `origin` of a thin volume, in a pool's message, as \
        `vdo_pool`",
        Served("what its own type gives"), Served("what its own type takes");
    /// An area of another volume.
    AreaOf: "used as an area (`stripes`) of another volume", OWN_BYTES, PART;
    /// A mirror's image.
    MirrorImage: "used as an image of a mirror", OWN_BYTES, PART;
    /// A mirror's log.
    MirrorLog: "used as `mirror_log`", OWN_BYTES, PART;
    /// A RAID image.
    RaidImage: "used as an image of a RAID", OWN_BYTES, PART;
    /// The metadata of a RAID image.
    RaidMeta: "used as the metadata of a RAID image", OWN_BYTES, PART;
    /// Data or metadata of a pool, the checksums of a volume, the space of VDO.
    PoolPart: "used as data or metadata of a pool (`_tdata`, `_tmeta`, `_cdata`, `_cmeta`, \
        `_vdata`, `_imeta`)",
        OWN_BYTES, PART;
    /// A cache.
    CacheOf: "used as a cache (cache pool, cachevol, writecache)", OWN_BYTES, PART;
    /// The volume behind a cache.
    CacheOrigin: "used as `origin` of a cache (`_corig`)",
        Refused("what was written last may be in its cache only: write that back with LVM2 \
        (lvconvert --splitcache)"), UNREAD;
    /// The volume behind a cache for writes.
    WritecacheOrigin: "used as `origin` of a writecache (`_wcorig`)",
        Refused("what was written last may be in its cache only: write that back with LVM2 \
        (lvconvert --splitcache)"), UNREAD;
    /// The data of a volume with checksums.
    IntegrityOrigin: "used as `origin` of an integrity volume (`_iorig`)",
        Refused("what was written last may be in its journal only: take the checksums away \
        (lvconvert --raidintegrity n)"), UNREAD;
    /// The spare of pools.
    Spare: "the spare for pool metadata (`_pmspare`)", OWN_BYTES, PART;
    /// No permission to read.
    NoRead: "no flag `READ`", Served("as with it, like the kernel"), Served("as with it");
    /// No permission to write.
    NoWrite: "neither `WRITE` nor `WRITE_LOCKED`", WHOLE,
        Refused("its permission is read-only (lvchange -prw changes that)");
    /// The permission to write, for those who know it.
    WriteLocked: "flag `WRITE_LOCKED`", WHOLE, WHOLE;
    /// A device number of its own choice.
    FixedMinor: "flag `FIXED_MINOR`", Served("as without it"), Served("as without it");
    /// Not for people, and nobody's part.
    Hidden: "no flag `VISIBLE`, and no part of another volume", OWN_BYTES,
        Refused("it is hidden: a part of a volume that is gone, or of a command that did not end");
    /// Volumes of a move.
    PvmoveFlag: "flag `PVMOVE` on a volume of another type (`pvmove --atomic`)", WHOLE, MOVE;
    /// Extents that are being moved.
    Locked: "flag `LOCKED`", Served("as `PVMOVE` below it says"),
        Served("the same, and where a piece is being copied to, too");
    /// No first synchronisation.
    NotSynced: "flag `NOTSYNCED`", Served("as without it; a mirror without a log takes all its \
        images to be in sync"),
        Served("as without it");
    /// An image to be rebuilt.
    Rebuild: "flag `REBUILD`",
        Refused("it is an image that is to be rebuilt: what it holds is not the volume's; read \
        another image"), UNREAD;
    /// An image that is read last.
    WriteMostly: "flag `WRITEMOSTLY`", Served("as without it"), Served("as without it");
    /// Activated only when asked for twice.
    ActivationSkip: "flag `ACTIVATION_SKIP`", Served("as it is, by its own name; not with its \
        whole group"),
        Served("as it is, by its own name");
    /// Not activated when the machine starts.
    NoAutoactivate: "flag `NOAUTOACTIVATE`", Served("as without it"), Served("as without it");
    /// A thin pool that fails when full.
    ErrorWhenFull: "flag `ERROR_WHEN_FULL`", Served("as without it"), Served("as without it");
    /// A cache's data and metadata.
    Cachevol: "flag `CACHE_VOL`", OWN_BYTES,
        Refused("it holds the data and the metadata of a cache");
    /// A name in `flags` that is not known.
    UnknownFlag: "an unknown name in `flags`", Served("as without it, like stock"), Served("as \
        without it, like stock");
    /// A name in `status` that is not known.
    UnknownStatus: "an unknown name in `status` of the volume, its group, or a physical volume \
        below it",
        Refused("a status flag of it, of its group or of a physical volume is not known, and may \
        mean anything: use the version of LVM2 that set it"), UNREAD;
}

impl Ruling {
    /// The kind of the error that it makes; `None` where it allows.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Served(_) => None,
            Refused(_) => Some(Kind::Refused),
            NotYet => Some(Kind::Unsupported),
        }
    }
}
