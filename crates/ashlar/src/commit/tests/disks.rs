//! Simulated disks with labels and areas, and a group on them.

use std::sync::Arc;

use block::sim::{Image, SimDevice};
use block::{BlockingDevice, Device};
use lvm2::model::{PhysicalVolume, VolumeGroup};
use lvm2::ondisk::{AreaHeader, AreaUse, Extension, Label, PvHeader, PvUse, Span};
use lvm2::{Bytes, Extents, Sectors, Uuid};

use super::super::{
    Disk, Expected, FlushPolicy, Held, NoHooks, OpenPv, Server, Wanted, claim, write_group,
};
use crate::Result;
use crate::lock::ImageUse;

/// Bytes of a disk.
pub(super) const SIZE: u64 = 4 << 20;

/// Which areas a disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Areas {
    One,
    Two,
    SecondIgnored,
    Small,
}

pub(super) fn uuid(seed: u8) -> Uuid {
    Uuid::from_random(&[seed; 32])
}

fn label(seed: u8, areas: Areas) -> Label {
    let span = |offset, size| Span {
        offset: Bytes(offset),
        size: Bytes(size),
    };
    let first = span(
        4096,
        if areas == Areas::Small {
            32 << 10
        } else {
            0xff000
        },
    );
    let second = span(3 << 20, 1 << 20);
    let metadata_areas = match areas {
        Areas::One | Areas::Small => vec![first],
        Areas::Two | Areas::SecondIgnored => vec![first, second],
    };
    let mut pv = PvHeader {
        uuid: uuid(seed),
        device_size: Bytes(SIZE),
        data_areas: vec![span(1 << 20, 0)],
        metadata_areas,
        extension: Some(Extension {
            version: 2,
            flags: 0,
            bootloader_areas: Vec::new(),
        }),
    };
    pv.set_usage(PvUse::Used);
    Label { sector: 1, pv }
}

/// What makes a physical volume of a disk: areas, then the label.
pub(super) fn writes(seed: u8, areas: Areas) -> Vec<(Bytes, Vec<u8>)> {
    let label = label(seed, areas);
    let mut writes = Vec::new();
    for (number, span) in label.metadata_areas().iter().enumerate() {
        let mut header = AreaHeader::new(*span);
        if number == 1 && areas == Areas::SecondIgnored {
            header.usage = AreaUse::Ignored;
        }
        writes.push((span.offset, header.encode().to_vec()));
    }
    writes.push((Bytes(512), label.encode().expect("fits").to_vec()));
    writes
}

/// A physical volume without texts.
pub(super) fn blank(seed: u8, areas: Areas) -> Image {
    let mut image = Image::new(SIZE);
    for (start, bytes) in writes(seed, areas) {
        image.write(start.0, &bytes);
    }
    image
}

/// A group that was not written yet.
pub(super) fn group(pvs: &[u8]) -> VolumeGroup {
    let mut vg = VolumeGroup::new("vg0", uuid(99), Sectors(128));
    for seed in pvs {
        vg.add_pv(PhysicalVolume::new(uuid(*seed), Sectors(2048), Extents(16)));
    }
    vg
}

/// The group's next version.
pub(super) fn next(vg: &VolumeGroup) -> VolumeGroup {
    let mut vg = vg.clone();
    vg.seqno += 1;
    vg.tags.push(format!("version{}", vg.seqno));
    vg
}

/// Disks after `seqno` commits.
pub(super) fn committed(disks: &[(u8, Areas)], seqno: u32) -> Vec<Image> {
    let images: Vec<Image> = disks
        .iter()
        .map(|(seed, areas)| blank(*seed, *areas))
        .collect();
    let sims = sims(&images);
    let seeds: Vec<u8> = disks.iter().map(|(seed, _)| *seed).collect();
    let mut vg = group(&seeds);
    for _ in 0..seqno {
        let devices: Vec<Arc<dyn Device>> =
            sims.iter().map(|sim| Arc::new(sim.clone()) as _).collect();
        vg = next(&vg);
        let mut pvs = open_devices(&devices);
        write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks).expect("commits");
    }
    content(&sims)
}

pub(super) fn sims(images: &[Image]) -> Vec<SimDevice> {
    let named = images.iter().enumerate();
    named
        .map(|(number, image)| SimDevice::of_image(format!("disk{number}"), image.clone()))
        .collect()
}

/// What the disks hold, caches included.
pub(super) fn content(sims: &[SimDevice]) -> Vec<Image> {
    sims.iter()
        .map(|sim| {
            sim.disk().faults_mut().failing.clear();
            Image::of_device(sim).expect("is read")
        })
        .collect()
}

pub(super) fn devices(images: &[Image]) -> Vec<Arc<dyn Device>> {
    let sims = sims(images).into_iter();
    sims.map(|sim| Arc::new(sim) as Arc<dyn Device>).collect()
}

/// A device that may be written, as it is now.
pub(super) fn taken(name: &str, device: &Arc<dyn Device>) -> Disk {
    take(name, device).expect("nobody else is there")
}

pub(super) fn take(name: &str, device: &Arc<dyn Device>) -> Result<Disk> {
    let mut io = BlockingDevice::open(&**device).expect("opens");
    let wanted = Wanted {
        name: name.to_owned(),
        device: Arc::clone(device),
        files: Vec::new(),
        uuid: uuid(0),
        expected: Expected::look(name, &mut io)?,
        server: Server::Nobody,
    };
    let mut disks =
        claim(vec![wanted], ImageUse::Writing, FlushPolicy::Strict)?.expect("nobody else is there");
    Ok(disks.remove(0))
}

pub(super) fn open_devices(devices: &[Arc<dyn Device>]) -> Vec<OpenPv> {
    let open = |device| OpenPv::open(taken("disk", device)).expect("is a physical volume");
    devices.iter().map(open).collect()
}

/// Those of the disks that are physical volumes.
pub(super) fn open(images: &[Image]) -> Vec<OpenPv> {
    let devices = devices(images);
    let open = |device| OpenPv::open(taken("disk", device)).ok();
    devices.iter().filter_map(open).collect()
}

/// The version that counts, if there is one.
pub(super) fn newest(images: &[Image]) -> Option<u32> {
    let pvs = open(images);
    let areas = pvs.iter().flat_map(OpenPv::areas);
    let used = areas.filter(|area| area.usage() == AreaUse::Used);
    used.filter_map(|area| match area.held {
        Held::Version { seqno, .. } => Some(seqno),
        _ => None,
    })
    .max()
}
