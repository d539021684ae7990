//! `vgcreate`: physical volumes become a group.

use ashlar::apply::{
    NewLabel, Planned, Question, Request, free_member, new_member, require_equal_blocks,
};
use ashlar::host::clean_system_id;
use ashlar::scan::{DeviceIndex, Duplicate, FoundVg, PvIndex, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::model::AllocationPolicy;
use lvm2::ondisk::PvUse;
use lvm2::plan::Author;
use lvm2::plan::group::{Member, MetadataCopies, NewGroup, create_group};
use lvm2::plan::initialise::NewPv;
use lvm2::plan::logical::Autoactivation;
use lvm2::{Sectors, Uuid};
use std::rc::Rc;

use super::arguments::{
    ADD_TAG, ALLOC, CHANGE, Choice, FORCE, NEW_PV, choice, invalid, new_pv, number, size, tags,
};
use super::finder::{Finder, NOT_LISTED};
use super::groups::{plain, require_free_path, require_new_name};
use super::profiles::{METADATA_PROFILE, profile};
use super::pvcreate::{label, permit, tells_group};
use super::run::run;
use super::work::{Lists, Work, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

/// `-s`
pub(super) const EXTENT_SIZE: Flag = Flag::value(
    "physicalextentsize",
    "Size",
    "The size of an extent, the smallest piece of space; MiB where there is no unit.",
)
.short('s');
/// `-l`
pub(super) const MAX_LV: Flag = Flag::value(
    "maxlogicalvolumes",
    "Number",
    "How many logical volumes there may be; 0 for no limit.",
)
.short('l');
/// `-p`
pub(super) const MAX_PV: Flag = Flag::value(
    "maxphysicalvolumes",
    "Number",
    "How many physical volumes there may be; 0 for no limit.",
)
.short('p');
/// `--vgmetadatacopies`
pub(super) const COPIES: Flag = Flag::value(
    "vgmetadatacopies",
    "all|unmanaged|Number",
    "How many metadata areas are used.",
);
/// `--systemid`
pub(super) const SYSTEM_ID: Flag =
    Flag::value("systemid", "String", "The host that the group belongs to.");
/// `--setautoactivation`
pub(super) const AUTOACTIVATION: Flag = Flag::value(
    "setautoactivation",
    "y|n",
    "Whether volumes are activated when the machine starts.",
);
/// `-c`
const CLUSTERED: Flag = Flag::value(
    "clustered",
    "y|n",
    "Not supported: there is no cluster here.",
)
.short('c');
/// `--locktype`
pub(super) const LOCK_TYPE: Flag = Flag::value(
    "locktype",
    "sanlock|dlm|idm|none",
    "Not supported: there is no lock manager here.",
);
const SHARED: Flag = Flag::switch("shared", "Not supported: there is no lock manager here.");

/// `vgcreate`
pub(super) const COMMAND: Command = Command {
    name: "vgcreate",
    summary: "Create a volume group",
    operands: "VG PV ...",
    description: "Makes a group of physical volumes. Devices that are none become some first, as \
        pvcreate would make them.",
    flags: &[
        &[
            EXTENT_SIZE,
            MAX_LV,
            MAX_PV,
            ADD_TAG,
            ALLOC,
            COPIES,
            SYSTEM_ID,
            AUTOACTIVATION,
            CLUSTERED,
            METADATA_PROFILE,
            SHARED,
            LOCK_TYPE,
        ],
        NEW_PV,
        CHANGE,
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgcreate --devices disks vg0 disks/a0.img disks/a1.img",
        does: "makes a group of two images",
    }],
    run,
};

/// Makes the group.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [name, devices @ ..] = arguments.operands() else {
        let what = "Please enter a new volume group name.";
        return Err(Error::lacking(arguments.command(), what));
    };
    if devices.is_empty() {
        let what = "Please enter at least one physical volume.";
        return Err(Error::lacking(arguments.command(), what));
    }
    let new_pv = new_pv(arguments, work)?;
    let name = plain(name);
    let tags = tags(arguments, &ADD_TAG)?;
    let tags: Vec<String> = tags.into_iter().map(str::to_owned).collect();
    let extent_size = size(arguments, &EXTENT_SIZE, 'm')?;
    let allocation = allocation(arguments)?;
    let asked = (copies(arguments)?, choice(arguments, &AUTOACTIVATION)?);
    let (copies, autoactivation) = asked;
    let (max_lv, max_pv) = (number(arguments, &MAX_LV)?, number(arguments, &MAX_PV)?);
    let profile = profile(arguments);
    if arguments.has(&CLUSTERED) {
        let what = "The clustered option is deprecated, see --shared.";
        return Err(Error::usage(what));
    }
    let system_id = new_system_id(arguments, work)?;
    refuse_shared(arguments)?;
    require_fitting(name, arguments, work)?;
    require_extent_size(extent_size)?;
    let template = NewGroup {
        extent_size: extent_size.unwrap_or_else(|| extent_size_default(work)),
        max_lv: max_lv.unwrap_or(0),
        max_pv: max_pv.unwrap_or(0),
        allocation: allocation.unwrap_or(AllocationPolicy::Normal),
        tags: &tags,
        copies: copies.unwrap_or(MetadataCopies::Unmanaged),
        system_id: system_id.as_deref().filter(|id| !id.is_empty()),
        autoactivation: match autoactivation {
            Some(Choice::No) => Autoactivation::No,
            _ => Autoactivation::Yes,
        },
        profile,
        ..NewGroup::new(name, &[])
    };
    let request = Request {
        new_group: Some(name.to_owned()),
        changes_pvs: true,
        ..work.request()
    };
    work.keep_devices_file(Lists::First)?;
    let finder = work.finder();
    let force = arguments.count(&FORCE);
    let mixes_blocks = mixes_blocks(work);
    let made = work.change(&request, |scan, author| {
        let joining = joining(scan, &finder, devices, (&new_pv, force), author)?;
        if !mixes_blocks {
            joining.require_equal_blocks(scan, None)?;
        }
        let new = NewGroup {
            members: &joining.members,
            ..template.clone()
        };
        Ok(Planned {
            questions: joining.questions,
            new: joining.new,
            listed: joining.listed,
            ..planned(create_group(&new, author))?
        })
    });
    made.map(drop).map_err(|error| refusal(error, name, work))
}

/// Fails where no new group has this name, or would inherit what groups do not.
fn require_fitting(name: &str, arguments: &Arguments, work: &Work<'_>) -> Result<(), Error> {
    require_new_name(name).map_err(Error::usage)?;
    require_free_path(name, work).map_err(Error::usage)?;
    if arguments.value(&ALLOC) == Some("inherit") {
        let what = "Volume Group allocation policy cannot inherit from anything";
        return Err(Error::usage(what));
    }
    Ok(())
}

/// Where there is a group of the name, stock has not looked at the devices.
fn refusal(error: Error, name: &str, work: &mut Work<'_>) -> Error {
    let is_taken = |scan: Rc<Scan>| scan.groups_named(name).next().is_some();
    if work.scan().is_ok_and(is_taken) {
        work.error(&error.to_string());
        return Error::unbegun();
    }
    error
}

fn require_extent_size(size: Option<Sectors>) -> Result<(), Error> {
    match size {
        Some(Sectors::ZERO) => Err(Error::usage("Physical extent size may not be zero")),
        Some(size) if size.0 > u64::from(u32::MAX) => {
            let what = "Physical extent size must be smaller than <2.00 TiB.";
            Err(Error::usage(what))
        }
        _ => Ok(()),
    }
}

/// The system ID that the group gets: what is said, or this machine's. Empty: it is said that it
/// gets none.
fn new_system_id(arguments: &Arguments, work: &mut Work<'_>) -> Result<Option<String>, Error> {
    let Some(text) = arguments.value(&SYSTEM_ID) else {
        return Ok(work.host().config.system_id());
    };
    let id = system_id(text).map_err(Error::usage)?;
    if id.is_empty() {
        work.warn(EMPTY_SYSTEM_ID);
        work.warn("A VG without a system ID allows unsafe access from other hosts.");
    }
    Ok(Some(id))
}

/// Refuses groups of a lock manager, in stock's words.
fn refuse_shared(arguments: &Arguments) -> Result<(), Error> {
    let is_shared = arguments.has(&SHARED);
    let why = match arguments.value(&LOCK_TYPE) {
        Some("none") if is_shared => "The --shared option requires lock type sanlock, dlm or idm.",
        None | Some("none") if !is_shared => return Ok(()),
        None => "Using a shared lock type requires lvmlockd (lvm.conf use_lvmlockd.)",
        Some(_) => "Using a shared lock type requires lvmlockd.",
    };
    Err(Error::usage(why))
}

/// What joins a group.
pub(super) struct Joining {
    /// All of it.
    pub(super) members: Vec<Member>,
    /// Devices that become physical volumes for that.
    pub(super) new: Vec<NewLabel>,
    /// The devices, with what they are.
    pub(super) listed: Vec<(DeviceIndex, Uuid)>,
    /// What is asked first.
    pub(super) questions: Vec<Question>,
}

/// Whether disks with logical blocks of several sizes go into one group.
pub(super) fn mixes_blocks(work: &Work<'_>) -> bool {
    let config = &work.host().config;
    config.flag("devices/allow_mixed_block_sizes", false)
}

impl Joining {
    /// Refuses what has other logical blocks than the rest, or than the group.
    pub(super) fn require_equal_blocks(
        &self,
        scan: &Scan,
        group: Option<&FoundVg>,
    ) -> ashlar::Result<()> {
        let devices = self.listed.iter().map(|(device, _)| *device);
        require_equal_blocks(scan, group, devices)
    }
}

/// The devices that are to join a group; those that are no physical volumes become some.
pub(super) fn joining(
    scan: &Scan,
    finder: &Finder,
    names: &[String],
    (new_pv, force): (&NewPv, usize),
    author: &mut Author<'_>,
) -> ashlar::Result<Joining> {
    let mut joining = Joining {
        members: Vec::new(),
        new: Vec::new(),
        listed: Vec::new(),
        questions: Vec::new(),
    };
    require_joinable(scan, finder, names, (new_pv, force))?;
    let mut others = Vec::new();
    // As in stock, what is a physical volume joins before what becomes one.
    for name in names {
        let device = finder.device(scan, name)?;
        let pv = finder.pv(scan, name).ok();
        let Some(pv) = pv.filter(|pv| !is_used(scan, *pv)) else {
            others.push(device);
            continue;
        };
        let member = free_member(scan, pv)?;
        let is_named_twice = |other: &Member| other.header.uuid == member.header.uuid;
        if !joining.members.iter().any(is_named_twice) {
            joining.listed.push((device, member.header.uuid));
            joining.members.push(member);
        }
    }
    for device in others {
        if joining.new.iter().any(|new| new.device == device) {
            continue;
        }
        joining.questions.extend(permit(scan, device, force)?);
        let new = NewPv {
            uuid: author.uuid(),
            ..*new_pv
        };
        let label = label(scan, device, &new)?;
        joining.listed.push((device, new.uuid));
        joining
            .members
            .push(new_member(scan, device, &label.layout));
        joining.new.push(label);
    }
    Ok(joining)
}

/// Fails where a device is not there or belongs to a group; each of them is said, as by stock.
pub(super) fn require_joinable(
    scan: &Scan,
    finder: &Finder,
    names: &[String],
    (new_pv, force): (&NewPv, usize),
) -> ashlar::Result<()> {
    let missing = names
        .iter()
        .filter_map(|name| finder.device(scan, name).err());
    let mut lines: Vec<String> = missing.map(|error| error.to_string()).collect();
    if !lines.is_empty() {
        let is_unlisted = |line: &String| line.ends_with(NOT_LISTED);
        if lines.len() < names.len() || lines.iter().any(is_unlisted) {
            lines.push("Command requires all devices to be found.".to_owned());
        }
        return Err(Failure::new(Kind::NotFound, lines.join("\n")));
    }
    let pvs = names
        .iter()
        .filter_map(|name| Some((name, finder.pv(scan, name).ok()?)));
    let (doubled, unique): (Vec<_>, Vec<_>) =
        pvs.partition(|(_, pv)| scan.pv(*pv).duplicate != Duplicate::Unique);
    let mut refusals = Vec::new();
    // Of what is on several devices alone it is said.
    for (name, pv) in if doubled.is_empty() { unique } else { doubled } {
        let found = scan.pv(pv);
        let is_taken = found.duplicate == Duplicate::Unique && tells_group(found) && force != 2;
        match free_member(scan, pv) {
            Err(error) if is_taken => refusals.push(taken(scan, pv, name, &error)),
            _ => refusals.extend(permit(scan, found.device, force).err()),
        }
    }
    let Some(first) = refusals.first() else {
        return require_layouts(scan, finder, names, new_pv);
    };
    let all: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    Err(Failure::new(first.kind(), all.join("\n")))
}

/// Fails where a device cannot become a physical volume that is like this.
fn require_layouts(
    scan: &Scan,
    finder: &Finder,
    names: &[String],
    new_pv: &NewPv,
) -> ashlar::Result<()> {
    for name in names {
        let pv = finder.pv(scan, name);
        if pv.is_ok_and(|pv| !is_used(scan, pv)) {
            continue;
        }
        label(scan, finder.device(scan, name)?, new_pv)?;
    }
    Ok(())
}

/// Whether a physical volume is marked as one of a group, whatever is left of that.
fn is_used(scan: &Scan, pv: PvIndex) -> bool {
    let pv = scan.pv(pv);
    scan.group_behind(pv).is_some() || pv.header.usage() == PvUse::Used
}

/// Why a physical volume cannot join, in stock's three sentences.
fn taken(scan: &Scan, pv: PvIndex, name: &str, error: &Failure) -> Failure {
    let group = scan.group_behind(scan.pv(pv));
    let group = group.map_or("", |group| group.name.as_str());
    let what = format!(
        "{error}\nUnable to add physical volume '{name}' to volume group '{group}'\n{name}: \
         physical volume not initialized."
    );
    Failure::new(error.kind(), what)
}

/// `allocation/physical_extent_size`, in KiB.
fn extent_size_default(work: &Work<'_>) -> Sectors {
    let default = NewGroup::new("", &[]).extent_size;
    let setting = work
        .host()
        .config
        .integer("allocation/physical_extent_size");
    let kib = setting.and_then(|kib| u64::try_from(kib).ok());
    kib.map_or(default, |kib| Sectors(kib.saturating_mul(2)))
}

/// What `--alloc` says; nothing for `inherit`.
pub(super) fn allocation(arguments: &Arguments) -> Result<Option<AllocationPolicy>, Error> {
    let Some(text) = arguments.value(&ALLOC).filter(|text| *text != "inherit") else {
        return Ok(None);
    };
    let wrong = || {
        let why = format!("Unrecognised allocation policy {text}");
        Error::syntax(format!("{why}\n{}", invalid(&ALLOC, text)))
    };
    AllocationPolicy::from_name(text)
        .map(Some)
        .ok_or_else(wrong)
}

/// No system ID of a host that has a name of its own begins with it.
const NO_NAME: &str = "localhost";

/// What stock says of an empty system ID.
pub(super) const EMPTY_SYSTEM_ID: &str = "Empty system ID supplied.";

/// What `--systemid` says, without the letters that no system ID has.
pub(super) fn system_id(text: &str) -> Result<String, String> {
    let id = clean_system_id(text);
    if id.is_empty() && !text.is_empty() {
        return Err(format!("WARNING: Invalid system ID format: {text}"));
    }
    if id.starts_with(NO_NAME) {
        return Err(format!(
            "WARNING: system ID may not begin with the string \"{NO_NAME}\"."
        ));
    }
    Ok(id)
}

/// What `--vgmetadatacopies` says.
pub(super) fn copies(arguments: &Arguments) -> Result<Option<MetadataCopies>, Error> {
    let parsed = arguments.value(&COPIES).map(|text| match text {
        "all" => Ok(MetadataCopies::All),
        "unmanaged" | "0" => Ok(MetadataCopies::Unmanaged),
        number => number
            .parse()
            .map(MetadataCopies::Exactly)
            .map_err(|_| invalid(&COPIES, number)),
    });
    parsed.transpose()
}
