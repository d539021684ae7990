//! Options that several commands share, and what their values mean.

use std::time::Duration;

use lvm2::model::name::validate_tag;
use lvm2::ondisk::AreaUse;
use lvm2::plan::initialise::{AreaCount, Detection, NewPv, SIZE_MIN_DEFAULT, StartOfDevice};
use lvm2::plan::size::parse_size;
use lvm2::{Sectors, UUID_LEN, Uuid};

use ashlar::apply::FileSystems;

use super::work::Work;
use crate::args::{Arguments, Error, Flag, flags};

/// `-A`
pub(super) const AUTOBACKUP: Flag = Flag::value(
    "autobackup",
    "y|n",
    "Whether the metadata is also kept in the backup and archive directories after the change. The \
     older texts are on the disks either way.",
)
.short('A');
/// `-f`
pub(super) const FORCE: Flag = Flag::switch(
    "force",
    "Do it without some of the questions; given twice, also what would destroy something.",
)
.short('f');
/// `--fs`
pub(super) const FS: Flag = Flag::value(
    "fs",
    "checksize|ignore",
    "What happens where a volume becomes smaller than the file system in it: checksize, as without \
     this option, refuses that; ignore cuts the file system, whose data is lost then.",
);
/// `--fs` of the commands that resize volumes.
pub(super) const FS_RESIZE: Flag = Flag::value(
    "fs",
    "checksize|resize|resize_fsadm|ignore",
    "What happens to the file system in the volume. checksize, as without this option, refuses to \
     cut it; resize gives it the size of the volume, as --resizefs does, and resize_fsadm is the \
     same here; ignore cuts it, whose data is lost then. (The process that owns a group is told \
     resized: that was done, and nothing is to be cut.)",
);
/// `-r`
pub(super) const RESIZE_FS: Flag = Flag::switch(
    "resizefs",
    "Resize the file system as well: ext2, ext3, ext4, XFS (larger only), btrfs or swap, by its \
     own tools, in front of a smaller volume and behind a larger one. The same as --fs resize.",
)
.short('r');
/// `--fsmode`
pub(super) const FS_MODE: Flag = Flag::value(
    "fsmode",
    "manage|nochange|offline",
    "With --resizefs, what happens to mounts: manage unmounts and mounts again as the file system \
     needs it (without this option that is asked for), nochange refuses where it would have to, \
     offline unmounts and leaves it so.",
);
/// `-n`
pub(super) const NO_FSCK: Flag = Flag::switch(
    "nofsck",
    "With --resizefs, run no e2fsck first; resize2fs may refuse then.",
)
.short('n');
/// `-Z`
pub(super) const ZERO: Flag = Flag::value(
    "zero",
    "y|n",
    "Whether the first bytes of what is made are zeroed.",
)
.short('Z');
/// `--addtag`
pub(super) const ADD_TAG: Flag =
    Flag::value("addtag", "Tag", "A tag to be added. May be repeated.");
/// `--deltag`
pub(super) const DEL_TAG: Flag =
    Flag::value("deltag", "Tag", "A tag to be taken away. May be repeated.");
/// `--alloc`
pub(super) const ALLOC: Flag = Flag::value(
    "alloc",
    "contiguous|cling|cling_by_tags|normal|anywhere|inherit",
    "How strict the choice of extents is.",
);

/// `--uuid-seed`
pub(super) const UUID_SEED: Flag = Flag::value(
    "uuid-seed",
    "String",
    "Derive the UUIDs of what is made from this text and from what is on the disks, so that the \
     same commands give the same UUIDs. With SOURCE_DATE_EPOCH set, they give the same bytes. \
     Images that are used on one machine need different seeds.",
);

/// `--poolmetadataspare`
pub(super) const POOL_SPARE: Flag = Flag::value(
    "poolmetadataspare",
    "y|n",
    "Accepted for scripts; a spare for the metadata of pools goes where its group goes.",
);

/// The commands that resize file systems.
const RESIZERS: [&str; 3] = ["lvextend", "lvreduce", "lvresize"];

/// What `--fs` says of file systems that would be cut.
pub(super) fn file_systems(arguments: &Arguments) -> Result<FileSystems, Error> {
    let mut words = arguments.line().split(' ');
    let is_resizer = words.next().is_some_and(|word| RESIZERS.contains(&word));
    match arguments.value(&FS) {
        None if arguments.has(&RESIZE_FS) => Ok(FileSystems::Foreseen),
        None | Some("checksize") => Ok(FileSystems::Kept),
        Some("ignore") => Ok(FileSystems::Ignored),
        Some("resize" | "resize_fsadm") if is_resizer => Ok(FileSystems::Foreseen),
        Some("resized") if is_resizer => Ok(FileSystems::Resized),
        Some(other) => Err(Error::usage(format!("Unknown --fs value: {other}."))),
    }
}

/// What every command takes that changes metadata.
pub(super) const CHANGE: &[Flag] = &[AUTOBACKUP, UUID_SEED, flags::REPORT_FORMAT];

const METADATA_SIZE: Flag = Flag::value(
    "metadatasize",
    "Size",
    "The size of a metadata area; MiB where there is no unit.",
);
const METADATA_COPIES: Flag = Flag::value(
    "pvmetadatacopies",
    "0|1|2",
    "How many metadata areas a new physical volume gets: none, one at its start, one more at its \
     end.",
);
const METADATA_COPIES_OLD: Flag = Flag::value(
    "metadatacopies",
    "0|1|2",
    "The same as --pvmetadatacopies where physical volumes are made.",
);
/// `--metadataignore`
pub(super) const METADATA_IGNORE: Flag = Flag::value(
    "metadataignore",
    "y|n",
    "Whether the metadata areas are set aside, so that no metadata is written to them.",
);
const DATA_ALIGNMENT: Flag = Flag::value(
    "dataalignment",
    "Size",
    "Extents begin at a multiple of it; KiB where there is no unit.",
);
const DATA_ALIGNMENT_OFFSET: Flag = Flag::value(
    "dataalignmentoffset",
    "Size",
    "How far behind that extents begin; KiB where there is no unit.",
);
pub(super) const BOOTLOADER: Flag = Flag::value(
    "bootloaderareasize",
    "Size",
    "Room for a boot loader between metadata and extents; MiB where there is no unit.",
);
/// `-M`
pub(super) const METADATA_TYPE: Flag = Flag::value(
    "metadatatype",
    "2|lvm2",
    "The format of the metadata. There is one, lvm2.",
)
.short('M');

/// How new physical volumes are laid out.
pub(super) const NEW_PV: &[Flag] = &[
    METADATA_SIZE,
    METADATA_COPIES,
    METADATA_COPIES_OLD,
    METADATA_IGNORE,
    DATA_ALIGNMENT,
    DATA_ALIGNMENT_OFFSET,
    BOOTLOADER,
    METADATA_TYPE,
    flags::LABEL_SECTOR,
    ZERO,
    FORCE,
];

/// An answer on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// `y`
    Yes,
    /// `n`
    No,
}

/// What a flag with `y|n` says, if it was given.
pub(super) fn choice(arguments: &Arguments, flag: &Flag) -> Result<Option<Choice>, Error> {
    match arguments.value(flag) {
        None => Ok(None),
        Some("y") => Ok(Some(Choice::Yes)),
        Some("n") => Ok(Some(Choice::No)),
        Some(other) => Err(invalid(flag, other)),
    }
}

/// The size behind a flag, whose sign and digits were looked at where it stands; `unit` is that of
/// a number without one.
pub(super) fn size(
    arguments: &Arguments,
    flag: &Flag,
    unit: char,
) -> Result<Option<Sectors>, Error> {
    let parsed = arguments.value(flag).map(|text| {
        let bytes = parse_size(text.trim_start_matches('+'), unit);
        let bytes = bytes.map_err(|_| {
            let why = "Can't parse size argument.";
            Error::syntax(format!("{why}\n{}", invalid(flag, text)))
        })?;
        Ok(bytes.whole_sectors())
    });
    parsed.transpose()
}

/// The number behind a flag.
pub(super) fn number<N: std::str::FromStr>(
    arguments: &Arguments,
    flag: &Flag,
) -> Result<Option<N>, Error> {
    let parsed = arguments
        .value(flag)
        .map(|text| text.parse().map_err(|_| invalid(flag, text)));
    parsed.transpose()
}

/// Seconds between two lines about what is waited for, unless that is said; as stock's.
pub(super) const INTERVAL_DEFAULT: u64 = 15;

/// How often to say how far it is: `-i`.
pub(super) fn interval(arguments: &Arguments, flag: &Flag) -> Result<Duration, Error> {
    let seconds = match arguments.value(flag) {
        None => INTERVAL_DEFAULT,
        Some(text) => {
            let seconds = text.trim_start_matches('+').parse();
            seconds.map_err(|_| invalid(flag, text))?
        }
    };
    Ok(Duration::from_secs(seconds.max(1)))
}

/// The tags behind a flag that may be repeated.
pub(super) fn tags<'a>(arguments: &'a Arguments, flag: &Flag) -> Result<Vec<&'a str>, Error> {
    let checked = arguments.values(flag).map(|tag| {
        let tag = tag.strip_prefix('@').unwrap_or(tag);
        validate_tag(tag).map_err(|_| invalid(flag, tag))?;
        Ok(tag)
    });
    checked.collect()
}

/// A value that means nothing to its flag.
pub(super) fn invalid(flag: &Flag, text: &str) -> Error {
    Error::syntax(format!("Invalid argument for --{}: {text}", flag.long))
}

/// Refuses options of stock's that are not done here, by name.
pub(super) fn refuse(arguments: &Arguments, not_done: &[&[Flag]]) -> Result<(), Error> {
    let mut flags = not_done.iter().copied().flatten();
    match flags.find(|flag| arguments.has(flag)) {
        None => Ok(()),
        Some(flag) => Err(Error::failed(format!(
            "--{} is not supported: leave it out, or use LVM2 for this.",
            flag.long
        ))),
    }
}

/// `devices/pv_min_size`: nothing smaller becomes or stays a physical volume.
pub(super) fn pv_min_size(work: &Work<'_>) -> Sectors {
    let kib = work.host().config.integer("devices/pv_min_size");
    let kib = kib.and_then(|kib| u64::try_from(kib).ok());
    kib.map_or(SIZE_MIN_DEFAULT, |kib| Sectors(kib.saturating_mul(2)))
}

/// A label is looked for in so many sectors.
const LABEL_SECTORS: u64 = 4;

/// A size to which data is aligned, whose sectors stock counts in 32 bits.
fn alignment(arguments: &Arguments, flag: &Flag, what: &str) -> Result<Option<Sectors>, Error> {
    let size = size(arguments, flag, 'k')?;
    match size.filter(|size| size.0 > u64::from(u32::MAX)) {
        None => Ok(size),
        Some(_) => Err(Error::usage(format!(
            "Physical volume data {what} is too big."
        ))),
    }
}

/// A new physical volume as the arguments want it. Its identity is given later.
pub(super) fn new_pv(arguments: &Arguments, work: &Work<'_>) -> Result<NewPv, Error> {
    let mut new = NewPv::new(Uuid::from_random(&[0; UUID_LEN]));
    match arguments.value(&METADATA_TYPE) {
        None | Some("2" | "lvm2") => {}
        Some(other) => return Err(invalid(&METADATA_TYPE, other)),
    }
    let config = &work.host().config;
    let setting = |path| {
        config
            .integer(path)
            .and_then(|value| u64::try_from(value).ok())
    };
    let copies = match number::<u64>(arguments, &METADATA_COPIES)? {
        Some(copies) => Some(copies),
        None => number(arguments, &METADATA_COPIES_OLD)?,
    };
    new.areas = match copies.or_else(|| setting("metadata/pvmetadatacopies")) {
        Some(0) => AreaCount::None,
        None | Some(1) => AreaCount::One,
        Some(2) => AreaCount::Two,
        Some(other) => return Err(invalid(&METADATA_COPIES, &other.to_string())),
    };
    new.area_size = match size(arguments, &METADATA_SIZE, 'm')? {
        Some(size) if size > Sectors::ZERO => Some(size),
        _ => setting("metadata/pvmetadatasize")
            .filter(|size| *size > 0)
            .map(Sectors),
    };
    if choice(arguments, &METADATA_IGNORE)? == Some(Choice::Yes) {
        if new.areas == AreaCount::None {
            let what = "metadataignore only applies to metadatacopies > 0.";
            return Err(Error::usage(what));
        }
        new.area_use = AreaUse::Ignored;
    }
    new.alignment = alignment(arguments, &DATA_ALIGNMENT, "alignment")?;
    if new.alignment.is_none() {
        // Both settings are in KiB or MiB of their own.
        let kib = setting("devices/data_alignment").filter(|kib| *kib > 0);
        new.alignment = kib.map(|kib| Sectors(kib.saturating_mul(2)));
    }
    if let Some(mib) = setting("devices/default_data_alignment") {
        new.default_alignment = Sectors(mib.saturating_mul(2048));
    }
    let is_on = |path| work.host().config.flag(path, true);
    new.detection = Detection {
        md_stripes: is_on("devices/md_chunk_alignment"),
        io_sizes: is_on("devices/data_alignment_detection"),
        offset: is_on("devices/data_alignment_offset_detection"),
    };
    new.alignment_offset = alignment(arguments, &DATA_ALIGNMENT_OFFSET, "alignment offset")?;
    new.bootloader_size = size(arguments, &BOOTLOADER, 'm')?.unwrap_or_default();
    if let Some(sector) = number::<u64>(arguments, &flags::LABEL_SECTOR)? {
        if sector >= LABEL_SECTORS {
            let what = format!("labelsector must be less than {LABEL_SECTORS}.");
            return Err(Error::usage(what));
        }
        new.label_sector = sector;
    }
    new.size_min = pv_min_size(work);
    if choice(arguments, &ZERO)? == Some(Choice::No) {
        new.start = StartOfDevice::Kept;
    }
    Ok(new)
}
