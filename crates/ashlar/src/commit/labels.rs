//! Labels: of new physical volumes, of those that change, of those that end.

use block::Range;
use lvm2::ondisk::{AreaHeader, AreaUse, LABEL_SCAN_SIZE};
use lvm2::plan::HeaderEdit;
use lvm2::{Bytes, Uuid};

use super::areas::{flush_all, write_header};
use super::disk::Disk;
use super::flush_policy::{FlushPoint, FlushPolicy};
use super::open_pv::OpenPv;
use crate::{Error, Kind, Result};

/// Rewrites labels: each of `edits` names a physical volume and what changes. Those that say so
/// already are not written.
pub fn edit_labels(
    pvs: &mut [OpenPv],
    edits: &[(Uuid, HeaderEdit)],
    flush_policy: FlushPolicy,
    point: FlushPoint,
) -> Result<()> {
    let mut touched = Vec::new();
    for (uuid, edit) in edits {
        let Some(number) = pvs.iter().position(|pv| pv.uuid() == *uuid) else {
            continue;
        };
        let pv = &mut pvs[number];
        if let HeaderEdit::Areas(usage) = edit {
            set_usage(pv, *usage)?;
            touched.push(number);
            continue;
        }
        let old = pv.label.clone();
        let header = &mut pv.label.pv;
        match edit {
            HeaderEdit::Usage(usage) => header.set_usage(*usage),
            HeaderEdit::DeviceSize(size) => header.device_size = *size,
            HeaderEdit::Uuid(uuid) => header.uuid = *uuid,
            HeaderEdit::Areas(_) => unreachable!("they are done above"),
        }
        assert_eq!(pv.label.sector, old.sector, "a label stays in its place");
        if pv.label != old {
            if let Err(error) = pv.write_label() {
                pv.label = old;
                return Err(error);
            }
            touched.push(number);
        }
    }
    match flush_all(pvs, touched, flush_policy, point).pop() {
        Some(failure) => Err(unflushed(pvs[failure.pv].name(), failure.error)),
        None => Ok(()),
    }
}

/// Lets the areas of a physical volume be used, or not.
fn set_usage(pv: &mut OpenPv, usage: AreaUse) -> Result<()> {
    for index in 0..pv.areas.len() {
        let (header, held) = (pv.areas[index].header, pv.areas[index].held);
        if let Some(header) = header {
            write_header(pv, index, AreaHeader { usage, ..header }, held).map_err(|error| {
                let what = format!("cannot write a metadata area of {}", pv.name());
                Error::new(Kind::Incomplete, what).because(error)
            })?;
        }
    }
    Ok(())
}

/// Makes a physical volume of `disk`. `writes` are its areas and, as the last one, its label,
/// which is written once they are durable: a label never points to areas that are not there.
pub fn initialise(
    disk: &mut Disk,
    writes: &[(Bytes, Vec<u8>)],
    flush_policy: FlushPolicy,
) -> Result<()> {
    let name = disk.name().to_owned();
    let failed = |error: block::Error| {
        let what = format!("cannot make a physical volume of {name}; check the device");
        Error::new(Kind::Device, what).because(error)
    };
    let (label, areas) = writes.split_last().expect("there is a label");
    let head = LABEL_SCAN_SIZE as u64;
    assert!(
        label.0.0 + label.1.len() as u64 <= head,
        "a label lies in the first sectors"
    );
    assert!(
        areas.iter().all(|(start, _)| start.0 >= head),
        "areas lie behind the label"
    );
    let head = (LABEL_SCAN_SIZE as u64).min(disk.info().size);
    let head = disk.read(Range::new(0, head)).map_err(failed)?;
    // An older label must not meet the new areas, nor what a power cut leaves of them.
    let is_wiped = wipe_labels(disk, &head).map_err(failed)?;
    if is_wiped && flush_policy.keeps(FlushPoint::OlderLabel) {
        disk.flush().map_err(failed)?;
    }
    for (start, bytes) in areas {
        disk.write(*start, bytes).map_err(failed)?;
    }
    if flush_policy.keeps(FlushPoint::NewAreas) {
        disk.flush().map_err(failed)?;
    }
    disk.write(label.0, &label.1).map_err(failed)?;
    if flush_policy.keeps(FlushPoint::NewLabel) {
        disk.flush().map_err(failed)?;
    }
    Ok(())
}

/// Takes the label away: the device is no physical volume any more. Its areas stay, unreachable.
pub fn remove_label(disk: &mut Disk, flush_policy: FlushPolicy) -> Result<()> {
    let name = disk.name().to_owned();
    let failed = |error: block::Error| {
        let what = format!("cannot remove the label of {name}; check the device");
        Error::new(Kind::Device, what).because(error)
    };
    let head = (LABEL_SCAN_SIZE as u64).min(disk.info().size);
    let head = disk.read(Range::new(0, head)).map_err(failed)?;
    wipe_labels(disk, &head).map_err(failed)?;
    if flush_policy.keeps(FlushPoint::LabelRemoved) {
        disk.flush().map_err(failed)?;
    }
    Ok(())
}

/// Zeroes every sector of `head` that looks like a label; whether there was one.
fn wipe_labels(disk: &mut Disk, head: &[u8]) -> block::Result<bool> {
    let mut is_wiped = false;
    for start in label_sectors(head) {
        disk.write(start, &vec![0; lvm2::SECTOR_SIZE as usize])?;
        is_wiped = true;
    }
    Ok(is_wiped)
}

/// Where the sectors of a device's `head` begin that look like labels.
pub(crate) fn label_sectors(head: &[u8]) -> impl Iterator<Item = Bytes> {
    let sectors = head.chunks_exact(lvm2::SECTOR_SIZE as usize).zip(0..);
    let labels = sectors.filter(|(bytes, _)| bytes.starts_with(b"LABELONE"));
    labels.map(|(_, number): (_, u64)| Bytes(number * lvm2::SECTOR_SIZE))
}

fn unflushed(name: &str, error: block::Error) -> Error {
    let what =
        format!("cannot flush the label of {name}; check the device, then run the command again");
    Error::new(Kind::Device, what).because(error)
}
