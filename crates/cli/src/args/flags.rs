//! Every flag there is, each once.
//!
//! Names, letters and value kinds are LVM2's; the sentences are ours. A command names the flags
//! and the groups of flags that it takes; the groups at the end are those that several share.

use super::table::Flag;

// What to look at, and what of it to show.

/// `-a`
pub(crate) const ALL: Flag = Flag::switch(
    "all",
    "Show volumes that exist only as parts of others, too: images, logs, pool data and metadata. \
     Their names stand in brackets. For physical volumes: every device, with or without a label.",
)
.short('a');
/// `-o`
pub(crate) const OPTIONS: Flag = Flag::value(
    "options",
    "[+|-|#]Field[,Field...]",
    "The columns to show, in this order. With a leading + they are added to the default ones, \
     with - taken away, with # left out where they are empty in every row. May be repeated and is \
     then applied from left to right. `-o help' lists all fields.",
)
.short('o');
/// `-O`
pub(crate) const SORT: Flag = Flag::value(
    "sort",
    "[+|-]Field[,...]",
    "The fields to sort by, the most important first; - in front of a field reverses it.",
)
.short('O');
/// `-S`
pub(crate) const SELECT: Flag = Flag::value(
    "select",
    "Criteria",
    "Show only rows that match, for instance 'lv_size>1g && segtype=~raid'. `-S help' lists fields \
     and operators.",
)
.short('S');
/// `--segments`
pub(crate) const SEGMENTS: Flag = Flag::switch(
    "segments",
    "One row for each segment, with columns that describe segments.",
);
/// `-H`
pub(crate) const HISTORY: Flag = Flag::switch(
    "history",
    "Show volumes that are only remembered: removed while recording of history was on.",
)
.short('H');
/// `--foreign`
pub(crate) const FOREIGN: Flag = Flag::switch(
    "foreign",
    "Show volume groups that another host's system ID owns, too.",
);
/// `--shared`
pub(crate) const SHARED: Flag = Flag::switch(
    "shared",
    "Show volume groups that a lock manager shares between hosts, too.",
);
/// `-P`
pub(crate) const PARTIAL: Flag = Flag::switch(
    "partial",
    "Go on with volumes some of whose disks are missing; what cannot be read stays unknown.",
)
.short('P');

// How a report looks.

/// `--aligned`
pub(crate) const ALIGNED: Flag = Flag::switch(
    "aligned",
    "Keep the columns aligned although --separator is given.",
);
/// `--binary`
pub(crate) const BINARY: Flag = Flag::switch(
    "binary",
    "Print 1 and 0 for columns that are either set or not, and -1 where that is unknown.",
);
/// `--headings`
pub(crate) const HEADINGS: Flag = Flag::value(
    "headings",
    "none|abbrev|full|0|1|2",
    "The first line: none, the short headings, or the full names of the fields.",
);
/// `--noheadings`
pub(crate) const NO_HEADINGS: Flag =
    Flag::switch("noheadings", "Leave the line of headings out; for scripts.");
/// `--nameprefixes`
pub(crate) const NAME_PREFIXES: Flag = Flag::switch(
    "nameprefixes",
    "Print FIELD='value' pairs, the field's name in capitals behind LVM2_; a shell can evaluate \
     them.",
);
/// `--unquoted`
pub(crate) const UNQUOTED: Flag = Flag::switch(
    "unquoted",
    "With --nameprefixes: leave the quotes around values out.",
);
/// `--rows`
pub(crate) const ROWS: Flag = Flag::switch("rows", "Turn the table: one line for each column.");
/// `--separator`
pub(crate) const SEPARATOR: Flag = Flag::value(
    "separator",
    "String",
    "What stands between two columns; the columns are then not padded.",
);
/// `--unbuffered`
pub(crate) const UNBUFFERED: Flag = Flag::switch(
    "unbuffered",
    "Print each row as soon as it is known, unsorted and only roughly aligned.",
);
/// `--units`
pub(crate) const UNITS: Flag = Flag::value(
    "units",
    "[Number]r|R|h|H|b|B|s|S|k|K|m|M|g|G|t|T|p|P|e|E",
    "The unit of all sizes: (h)uman-readable, (r) the same with < where a size was rounded up to \
     what is printed, (b)ytes, (s)ectors, (k)ilobytes and so on; capitals count in powers of 1000. \
     A number in front makes a unit of one's own, as in 3M.",
);
/// `--nosuffix`
pub(crate) const NO_SUFFIX: Flag =
    Flag::switch("nosuffix", "Leave the unit's letter behind sizes out.");
/// `--journal`
pub(crate) const JOURNAL: Flag = Flag::value(
    "journal",
    "String",
    "What goes to the journal, too: the line that was typed (command), the messages (output), or \
     each thing that is done (debug).",
);

/// `--reportformat`
pub(crate) const REPORT_FORMAT: Flag = Flag::value(
    "reportformat",
    "basic|json|json_std",
    "The form of the report: columns, LVM2's JSON (every value a string), or JSON with numbers as \
     numbers and lists as arrays.",
);
/// `--configreport`
pub(crate) const CONFIG_REPORT: Flag = Flag::value(
    "configreport",
    "log|vg|lv|pv|pvseg|seg",
    "The report that later -o, -O and -S belong to; a command with one report ignores the others.",
);
/// `--logonly`
pub(crate) const LOG_ONLY: Flag = Flag::switch(
    "logonly",
    "Instead of the report what would be said: of which objects, and what. Columns, order and \
     selection stand behind --configreport log.",
);

/// `--reportmissing...`: only parsed where stock does.
pub(crate) const IGNORE_SKIPPED: Flag = Flag::switch(
    "ignoreskippedcluster",
    "Accepted for scripts: skipped clustered groups do not make the command fail.",
);
/// `--readonly`
pub(crate) const READ_ONLY: Flag = Flag::switch(
    "readonly",
    "Take no locks and ask nobody whether a volume is in use; for disks that somebody else owns.",
);
/// `--ignorelockingfailure`
pub(crate) const IGNORE_LOCKING_FAILURE: Flag = Flag::switch(
    "ignorelockingfailure",
    "Go on reading where a lock cannot be taken.",
);

// The display commands.

/// `-c`
pub(crate) const COLON: Flag = Flag::switch(
    "colon",
    "One line for each object, its values separated by colons.",
)
.short('c');
/// `-C`
pub(crate) const COLUMNS: Flag = Flag::switch(
    "columns",
    "The table that the reporting command prints (pvs, vgs, lvs), with its options.",
)
.short('C');
/// `-m`
pub(crate) const MAPS: Flag =
    Flag::switch("maps", "Show which extents lie where, segment by segment.").short('m');
/// `-s`
pub(crate) const SHORT: Flag = Flag::switch(
    "short",
    "Only the essential: the size for disks, name and use for groups.",
)
.short('s');
/// `-A`, vgdisplay
pub(crate) const ACTIVE_VGS: Flag = Flag::switch(
    "activevolumegroups",
    "Only volume groups with volumes in use.",
)
.short('A');

// Scanning.

/// `-b`
pub(crate) const BLOCK_DEVICE: Flag = Flag::switch(
    "blockdevice",
    "Accepted for scripts; all volumes are scanned.",
)
.short('b');
/// `--mknodes`
pub(crate) const MKNODES: Flag = Flag::switch(
    "mknodes",
    "First make the names of active volumes anew, as vgmknodes does.",
);
/// `-a`, pvscan
pub(crate) const PVSCAN_ACTIVATE: Flag = Flag::value(
    "activate",
    "ay",
    "With --cache: activate the groups of which all physical volumes are there, as vgchange -aay \
     does; with devices, their groups.",
)
.short('a');
/// What udev's rules and services of LVM2 send to pvscan.
pub(crate) const PVSCAN_EVENTS: &[Flag] = &[
    Flag::value(
        "autoactivation",
        "String",
        "Accepted for scripts: what -a activates is activated in any case.",
    ),
    Flag::switch("background", "Accepted for scripts; nothing is left to do."),
    CHECK_COMPLETE,
    LIST_LVS,
    LIST_VG,
    UDEV_OUTPUT,
    Flag::switch("vgonline", "Accepted for scripts."),
    MAJOR_OF_PV,
    MINOR_OF_PV,
    NO_UDEV_SYNC,
    REPORT_FORMAT,
];
/// `--checkcomplete`
pub(crate) const CHECK_COMPLETE: Flag = Flag::switch("checkcomplete", "Accepted for scripts.");
/// `--udevoutput`
pub(crate) const UDEV_OUTPUT: Flag = Flag::switch(
    "udevoutput",
    "Accepted for scripts; udev is told only whether events activate groups.",
);
/// `--listlvs`
pub(crate) const LIST_LVS: Flag = Flag::switch(
    "listlvs",
    "The group that the physical volume is in, and its logical volumes.",
);
/// `--listvg`
pub(crate) const LIST_VG: Flag =
    Flag::switch("listvg", "The group that the physical volume is in.");
/// `-j`, pvscan
pub(crate) const MAJOR_OF_PV: Flag =
    Flag::value("major", "Number", "Accepted for scripts, with --cache.").short('j');
/// `--minor`, pvscan
pub(crate) const MINOR_OF_PV: Flag =
    Flag::value("minor", "Number", "Accepted for scripts, with --cache.");
/// `--noudevsync`
pub(crate) const NO_UDEV_SYNC: Flag =
    Flag::switch("noudevsync", "Accepted for scripts; there is no udev here.");
/// `--notifydbus`
pub(crate) const NOTIFY_DBUS: Flag =
    Flag::switch("notifydbus", "Accepted for scripts; nobody is notified.");
/// `--cache`
pub(crate) const CACHE: Flag = Flag::switch(
    "cache",
    "Accepted for scripts, where -a does not stand beside it: nothing is cached.",
);
/// `-s`, pvscan
pub(crate) const PVSCAN_SHORT: Flag =
    Flag::switch("short", "Only the names of devices.").short('s');
/// `-u`
pub(crate) const UUID: Flag =
    Flag::switch("uuid", "Show UUIDs beside the names of devices.").short('u');
/// `-n`
pub(crate) const NOVOLUMEGROUP: Flag = Flag::switch(
    "novolumegroup",
    "Only devices that belong to no volume group.",
)
.short('n');
/// `-e`
pub(crate) const EXPORTED: Flag =
    Flag::switch("exported", "Only devices of exported volume groups.").short('e');

// Checking, backing up.

/// `--dump`
pub(crate) const DUMP: Flag = Flag::value(
    "dump",
    "headers|metadata|metadata_all|metadata_search|metadata_area",
    "What to print: the headers with their values checked, the current metadata text, every text \
     that is still in the area, the same found by searching without the headers' help, or the \
     area's bytes.",
);
/// `--settings`
pub(crate) const SETTINGS: Flag = Flag::value(
    "settings",
    "Key=Value[ Key=Value...]",
    "Where to look instead of where the headers say: mda_num, mda_offset, mda_size, \
     metadata_offset, seqno; for repairs also mda2_offset, mda2_size, pv_uuid.",
);
/// `--pvmetadatacopies`
pub(crate) const PV_METADATA_COPIES: Flag = Flag::value(
    "pvmetadatacopies",
    "0|1|2",
    "How many metadata areas to look for on a device whose headers cannot be read.",
);
/// `--labelsector`
pub(crate) const LABEL_SECTOR: Flag = Flag::value(
    "labelsector",
    "Number",
    "The sector where the label is expected.",
);
/// `-f`, a file
pub(crate) const FILE: Flag = Flag::value(
    "file",
    "File",
    "The file to write, or for a repair to read; %s in it stands for the name of the volume \
     group, and - for standard output.",
)
.short('f');
/// `--updatemetadata`
pub(crate) const UPDATE_METADATA: Flag = Flag::switch(
    "updatemetadata",
    "Bring copies of the metadata that are old or damaged up to date.",
);

// Common to all.

/// `--devices`
pub(crate) const DEVICES: Flag = Flag::value(
    "devices",
    "Device",
    "Where the disks are: a block device, an image file, a directory of images, or an NBD server \
     (nbd://HOST[:PORT]/EXPORT, nbd+unix:///EXPORT?socket=PATH). May be repeated or be a list with \
     commas. Nothing else is then looked at. Without it ASHLAR_DEVICES counts (a list \
     with colons), else the machine's block devices.",
);
/// `--pv-timeout`
pub(crate) const PV_TIMEOUT: Flag = Flag::value(
    "pv-timeout",
    "Seconds",
    "How long a request waits for the NBD server of a disk to answer or to come back before it \
     fails; 60 if left out.",
);
/// `--assume-exclusive`
pub(crate) const ASSUME_EXCLUSIVE: Flag = Flag::switch(
    "assume-exclusive",
    "Write to disks that cannot be locked, behind NBD servers: nobody else writes to them, you \
     say.",
);
/// `--tls-certificates`
pub(crate) const TLS_CERTIFICATES: Flag = Flag::value(
    "tls-certificates",
    "Directory",
    "The certificates for TLS: ca-cert.pem, and client-cert.pem with client-key.pem for servers \
     that verify their clients, of disks behind nbds:// and nbds+unix:// (without it the system's \
     list of authorities counts); server-cert.pem and server-key.pem of what is served.",
);
/// `--devicesfile`
pub(crate) const DEVICES_FILE: Flag = Flag::value(
    "devicesfile",
    "File",
    "The devices file that lists the machine's disks; an empty name means none.",
);
/// `--config`
pub(crate) const CONFIG: Flag = Flag::value(
    "config",
    "Settings",
    "Settings that override lvm.conf for this command, in its syntax or as section/name=value.",
);
/// `--profile`
pub(crate) const PROFILE: Flag = Flag::value(
    "profile",
    "String",
    "As --metadataprofile where a command has that; otherwise as --commandprofile.",
);
/// `--metadataprofile`
pub(crate) const METADATA_PROFILE: Flag = Flag::value(
    "metadataprofile",
    "String",
    "The profile that the group or volume keeps: NAME.profile in the folder config/profile_dir; \
     so does --profile.",
);
/// `--commandprofile`
pub(crate) const COMMAND_PROFILE: Flag = Flag::value(
    "commandprofile",
    "String",
    "Settings for this command: those in NAME.profile in the folder config/profile_dir, which are \
     stronger than lvm.conf and weaker than --config.",
);
/// `--consistency`
pub(crate) const CONSISTENCY: Flag = Flag::value(
    "consistency",
    "auto|journal|none",
    "How raid4, raid5 and raid6 outlive a loss of power together with a disk (the write hole): \
     with a journal always, only while an image is away (auto), or not at all. Overrides \
     ashlar/raid_consistency of lvm.conf. Counts for arrays that this process opens.",
);
/// `-v`
pub(crate) const VERBOSE: Flag = Flag::switch(
    "verbose",
    "Say on standard error what is decided: devices that are left out and why, the metadata that \
     is used, locks, what is committed; -vv is -d. Reports get more columns, as in LVM2.",
)
.short('v');
/// `-q`
pub(crate) const QUIET: Flag = Flag::switch(
    "quiet",
    "Given twice, say only what is wrong, and answer questions with no without asking.",
)
.short('q');
/// `-d`
pub(crate) const DEBUG: Flag = Flag::switch(
    "debug",
    "Say it in detail: each device, metadata area, write and flush.",
)
.short('d');
/// `-y`
pub(crate) const YES: Flag =
    Flag::switch("yes", "Answer every question with yes without asking.").short('y');
/// `-t`
pub(crate) const TEST: Flag = Flag::switch("test", "Do everything except writing.").short('t');
/// `-h`
pub(crate) const HELP: Flag = Flag::switch("help", "Show this help.").short('h');
/// `--longhelp`
pub(crate) const LONG_HELP: Flag = Flag::switch("longhelp", "The same as --help.");
/// `--version`
pub(crate) const VERSION: Flag = Flag::switch("version", "Show the version.");

/// `--driverloaded`
pub(crate) const DRIVER_LOADED: Flag = Flag::value(
    "driverloaded",
    "y|n",
    "With n, no volume becomes active or inactive, as in LVM2 without its kernel driver.",
);

/// What says where disks are and how they are used, for another process; beside `--devices`.
pub(crate) const OF_DISKS: &[&Flag] = &[
    &DEVICES_FILE,
    &CONFIG,
    &PV_TIMEOUT,
    &TLS_CERTIFICATES,
    &ASSUME_EXCLUSIVE,
    &DRIVER_LOADED,
];

/// What every command takes.
pub(crate) const COMMON: &[Flag] = &[
    DEVICES,
    PV_TIMEOUT,
    ASSUME_EXCLUSIVE,
    TLS_CERTIFICATES,
    DEVICES_FILE,
    CONFIG,
    PROFILE,
    COMMAND_PROFILE,
    DRIVER_LOADED,
    JOURNAL,
    Flag::value(
        "lockopt",
        "String",
        "Accepted for scripts; there is no lock manager here.",
    ),
    Flag::switch(
        "nohints",
        "Accepted for scripts; there is no file of hints.",
    ),
    Flag::switch(
        "nolocking",
        "Take no locks. Another command may change what this one reads.",
    ),
    DEBUG,
    QUIET,
    VERBOSE,
    TEST,
    YES,
    HELP,
    LONG_HELP,
    VERSION,
];

/// What every report takes.
pub(crate) const REPORT: &[Flag] = &[
    OPTIONS,
    SORT,
    SELECT,
    UNITS,
    NO_SUFFIX,
    REPORT_FORMAT,
    HEADINGS,
    NO_HEADINGS,
    SEPARATOR,
    ALIGNED,
    NAME_PREFIXES,
    UNQUOTED,
    ROWS,
    BINARY,
    UNBUFFERED,
    CONFIG_REPORT,
    LOG_ONLY,
    FOREIGN,
    SHARED,
    PARTIAL,
    READ_ONLY,
    IGNORE_LOCKING_FAILURE,
    IGNORE_SKIPPED,
];
