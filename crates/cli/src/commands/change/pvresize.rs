//! `pvresize`: physical volumes follow their devices.

use ashlar::apply::{Planned, Question, Request};
use ashlar::scan::{FoundPv, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::plan::physical::{PvSize, resize_pv};
use lvm2::plan::{Change, HeaderChange, HeaderEdit, Message, When, display_size};
use lvm2::{Sectors, Uuid};

use super::arguments::{CHANGE, pv_min_size, size};
use super::pvcreate::require_allowed;
use super::run::run;
use super::work::{Work, planned};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};

const SIZE: Flag = Flag::value(
    "setphysicalvolumesize",
    "Size",
    "The size to use, smaller than the device's; MiB where there is no unit.",
);

/// `pvresize`
pub(super) const COMMAND: Command = Command {
    name: "pvresize",
    summary: "Resize physical volumes",
    operands: "PV ...",
    description: "Gives physical volumes the sizes of their devices, after those have grown or \
        before they shrink. Extents in use are never cut off.",
    flags: &[&[SIZE], CHANGE, flags::COMMON],
    examples: &[Example {
        line: "pvresize /dev/sdd",
        does: "uses the space that a disk has gained",
    }],
    run,
};

/// Resizes each, and says how many.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::usage("Please supply physical volume(s)"));
    }
    let asked = size(arguments, &SIZE, 'm')?.filter(|size| *size > Sectors::ZERO);
    let least = pv_min_size(work);
    let finder = work.finder();
    let (mut done, mut left) = (0, 0);
    for name in &finder.distinct(&work.scan()?, arguments.operands()) {
        let scan = work.scan()?;
        let Ok(index) = finder.pv(&scan, name) else {
            let allowed = finder
                .device(&scan, name)
                .map(|at| require_allowed(&scan, at));
            let why = match allowed {
                Ok(Err(error)) => error.to_string(),
                _ => format!("Cannot use {name}: device not found"),
            };
            work.fail_later(&why);
            continue;
        };
        let request = request(work, &scan, scan.pv(index));
        let resized = work.change(&request, |scan, author| {
            let pv = scan.pv(finder.pv(scan, name)?);
            let device = scan.device(pv.device);
            let size = PvSize {
                device: device.size.whole_sectors(),
                asked,
                least,
            };
            let change = match scan.group_of(pv) {
                Some(group) => {
                    let id = group.model.pv_by_uuid(&pv.uuid).ok_or_else(|| gone(name))?;
                    planned(resize_pv(&group.model, id, &pv.header, size, author))?
                }
                None => orphan(pv, &device.name, size)?,
            };
            Ok(Planned {
                questions: question(&device.name, size).into_iter().collect(),
                ..change
            })
        });
        match resized {
            Ok(_) => done += 1,
            Err(error) => {
                left += 1;
                work.fail_later(&error.to_string());
            }
        }
    }
    work.note(&format!(
        "{done} physical volume(s) resized or updated / {left} physical volume(s) not resized"
    ));
    Ok(())
}

/// A request that changes the group of a physical volume, or the volume if it has none.
pub(super) fn request(work: &Work<'_>, scan: &Scan, pv: &FoundPv) -> Request {
    match scan.group_of(pv) {
        Some(group) => work.request_of(&[&group.name]),
        None => Request {
            changes_pvs: true,
            ..work.request()
        },
    }
}

/// What is asked where less than the device has is used.
fn question(name: &str, size: PvSize) -> Option<Question> {
    let asked = size.asked.filter(|asked| *asked < size.device)?;
    Some(Question {
        text: format!(
            "{name}: Requested size {} is less than real size {}. Proceed?  [y/n]: ",
            display_size(asked),
            display_size(size.device)
        ),
        refusal: format!("Physical Volume {name} not resized."),
    })
}

/// A physical volume without a group: only its header says how large it is.
fn orphan(pv: &FoundPv, name: &str, size: PvSize) -> ashlar::Result<Planned> {
    let new = size.asked.unwrap_or(size.device);
    let areas = pv.header.data_areas.first();
    let pe_start = areas.map_or(Sectors::ZERO, |data| data.offset.whole_sectors());
    size.require_start(pe_start, name)?;
    let bytes = new.to_bytes().filter(|_| new <= size.device);
    let bytes = bytes.ok_or_else(|| {
        let what = format!("{name}: the size asked for is larger than the device");
        Failure::new(Kind::Refused, what)
    })?;
    Ok(Planned::from(Change {
        headers: vec![header(pv.uuid, HeaderEdit::DeviceSize(bytes))],
        messages: vec![Message::note(format!("Physical volume \"{name}\" changed"))],
        ..Change::default()
    }))
}

/// The header of a physical volume without a group is rewritten.
pub(super) fn header(pv: Uuid, edit: HeaderEdit) -> HeaderChange {
    HeaderChange {
        pv,
        when: When::AfterCommit,
        edit,
    }
}

pub(super) fn gone(name: &str) -> Failure {
    let what = format!("Failed to find physical volume \"{name}\".");
    Failure::new(Kind::NotFound, what)
}
