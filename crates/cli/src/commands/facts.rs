//! What scripts ask before they begin: which formats, types and tags there are, and who this host
//! is. No disk is looked at.
//!
//! `segtypes` names what can be made here, which is less than what LVM2 makes with a kernel; what
//! can only be read (thin pools, caches) is not among it. No log of commands is kept, so that
//! `lastlog` always answers as stock does where none was.

use lvm2::model::RaidLevel;

use super::Session;
use crate::args::{Arguments, Command, Error, Example, flags};

/// `formats`
pub(super) const FORMATS: Command = Command {
    name: "formats",
    summary: "List the formats of metadata",
    operands: "",
    description: "Names the formats of metadata that are read and written, one on a line.",
    flags: &[&[], flags::COMMON],
    examples: &[],
    run: |_, session| lines(["lvm2"], session),
};

/// `segtypes`
pub(super) const SEGTYPES: Command = Command {
    name: "segtypes",
    summary: "List the types of volumes that can be made",
    operands: "",
    description: "Names the types that lvcreate --type and lvconvert --type take, one on a line.",
    flags: &[&[], flags::COMMON],
    examples: &[Example {
        line: "ashlar lvm segtypes | grep -x raid6",
        does: "asks whether a type can be made",
    }],
    run: segtypes,
};

/// `systemid`
pub(super) const SYSTEMID: Command = Command {
    name: "systemid",
    summary: "Show the system ID of this host",
    operands: "",
    description: "The ID by which volume groups belong to this host, from where \
        global/system_id_source says; nothing behind the colon where it has none.",
    flags: &[&[], flags::COMMON],
    examples: &[Example {
        line: "ashlar lvm systemid --config global/system_id_source=uname",
        does: "shows which ID the name of the machine would give",
    }],
    run: systemid,
};

/// `tags`
pub(super) const TAGS: Command = Command {
    name: "tags",
    summary: "List the tags of this host",
    operands: "",
    description: "The tags that the section tags of lvm.conf, lvmlocal.conf and lvm_TAG.conf gives \
        to this host, one on a line. For each of them lvm_TAG.conf is read.",
    flags: &[&[], flags::COMMON],
    examples: &[],
    run: tags,
};

/// `lastlog`
pub(super) const LASTLOG: Command = Command {
    name: "lastlog",
    summary: "Show the log of the last command, of which none is kept",
    operands: "",
    description: "Fails as LVM2 does where no log was reported. -v shows what a command decides, \
        while it runs.",
    flags: &[&[flags::SELECT, flags::REPORT_FORMAT], flags::COMMON],
    examples: &[],
    run: lastlog,
};

fn segtypes(_: &Arguments, session: &mut Session) -> Result<(), Error> {
    let plain = ["linear", "striped", "zero", "error", "snapshot", "mirror"];
    let mut levels: Vec<&str> = RaidLevel::ALL.iter().map(|level| level.name()).collect();
    let place = |name: &&str| RAID_IN_ORDER.iter().position(|other| other == name);
    levels.sort_by_key(place);
    lines(plain.into_iter().chain(levels), session)
}

/// Stock's order.
const RAID_IN_ORDER: [&str; 21] = [
    "raid0",
    "raid0_meta",
    "raid1",
    "raid10",
    "raid10_near",
    "raid4",
    "raid5",
    "raid5_n",
    "raid5_la",
    "raid5_ls",
    "raid5_ra",
    "raid5_rs",
    "raid6",
    "raid6_n_6",
    "raid6_nc",
    "raid6_nr",
    "raid6_zr",
    "raid6_ls_6",
    "raid6_rs_6",
    "raid6_la_6",
    "raid6_ra_6",
];

fn systemid(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let id = session.config(arguments)?.system_id().unwrap_or_default();
    lines([format!("system ID: {id}")], session)
}

fn tags(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let config = session.config(arguments)?;
    lines(config.host_tags(), session)
}

fn lastlog(_: &Arguments, _: &mut Session) -> Result<(), Error> {
    Err(Error::failed("No log report stored."))
}

fn lines(
    all: impl IntoIterator<Item = impl AsRef<str>>,
    session: &mut Session,
) -> Result<(), Error> {
    for line in all {
        session.line(line.as_ref())?;
    }
    Ok(())
}
