//! What plans put on disks, against stock: labels byte for byte, and mirrors that stock takes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use lvm2::model::{self, VolumeGroup};
use lvm2::ondisk::Label;
use lvm2::plan::initialise::{AreaCount, Device, NewPv, Topology};
use lvm2::plan::logical::{
    Conversion, Initial, MirrorLog, MirrorOptions, MirrorState, NewKind, NewVolume, Stripes,
    convert_mirrors, create_volume,
};
use lvm2::plan::size::{SizeArgument, parse_size};
use lvm2::plan::{Author, Change};
use lvm2::text::{Style, parse};
use lvm2::{Bytes, Result, Sectors, Uuid};
use tests::{Access, LoopDevice, Scratch, Stock};

const SIZE: u64 = 256 << 20;

/// Options of pvcreate, as stock reads them.
const OPTIONS: [&str; 20] = [
    "",
    "--metadatacopies 0",
    "--metadatacopies 2",
    "--metadatasize 3m",
    "--metadatasize 100k",
    "--metadatasize 10k",
    "--metadatasize 300m",
    "--metadatasize 200m --metadatacopies 2",
    "--metadatasize 5m --metadatacopies 2 --dataalignment 3m",
    "--dataalignment 4m",
    "--dataalignment 3000k",
    "--dataalignment 64k",
    "--dataalignment 3s --metadatacopies 2",
    "--dataalignment 64k --metadatacopies 0",
    "--dataalignmentoffset 7s",
    "--dataalignmentoffset 7s --metadatacopies 2",
    "--bootloaderareasize 2m",
    "--bootloaderareasize 200k --dataalignment 256k --metadatacopies 2",
    "--labelsector 2 --metadatacopies 2",
    "--setphysicalvolumesize 100m --metadatacopies 2",
];

fn new_pv(uuid: Uuid, options: &str) -> NewPv {
    let mut new = NewPv::new(uuid);
    let words: Vec<&str> = options.split_whitespace().collect();
    for pair in words.chunks_exact(2) {
        let size = || parse_size(pair[1], 'm').expect("a size").whole_sectors();
        match pair[0] {
            "--metadatacopies" => {
                new.areas = match pair[1] {
                    "0" => AreaCount::None,
                    "1" => AreaCount::One,
                    _ => AreaCount::Two,
                }
            }
            "--metadatasize" => new.area_size = Some(size()),
            "--dataalignment" => new.alignment = Some(size()),
            "--dataalignmentoffset" => new.alignment_offset = Some(size()),
            "--bootloaderareasize" => new.bootloader_size = size(),
            "--labelsector" => new.label_sector = pair[1].parse().expect("a number"),
            "--setphysicalvolumesize" => new.size = Some(size()),
            other => panic!("{other} is no option of the table"),
        }
    }
    new
}

#[test]
fn labels_are_stocks() {
    // Proves: the same label, headers and areas as stock's pvcreate, byte for byte.
    let scratch = Scratch::new("labels");
    let image = scratch.sparse("disk", SIZE);
    let device = LoopDevice::attach(&image, Access::ReadWrite);
    let stock = Stock::on([&device]);
    let file = File::open(device.path()).expect("the device");
    let mut differences = Vec::new();
    for options in OPTIONS {
        let create = stock.without_driver("pvcreate").args(["-ff", "-y"]);
        let create = create.args(options.split_whitespace());
        create.arg(device.path()).succeed();
        let mut head = vec![0; 2048];
        file.read_exact_at(&mut head, 0).expect("the label");
        let theirs = Label::scan(&head).label.expect("a label");
        let machine = Device {
            size: Sectors(SIZE / 512),
            page_size: Bytes(4096),
            topology: Topology::default(),
        };
        let ours = new_pv(theirs.pv.uuid, options)
            .lay_out(&machine)
            .expect("it fits");
        if ours.label != theirs {
            differences.push(format!("{options:?}: {:?}, stock {theirs:?}", ours.label));
            continue;
        }
        for (at, bytes) in ours.writes().expect("it can be written") {
            let mut found = vec![0; bytes.len()];
            file.read_exact_at(&mut found, at.0)
                .expect("what stock wrote");
            if found != bytes {
                differences.push(format!("{options:?}: bytes at {} differ", at.0));
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

fn by_author<T>(number: &mut u64, act: impl FnOnce(&mut Author<'_>) -> T) -> T {
    let mut fresh = || {
        *number += 1;
        format!("{number:m>32}")
            .parse()
            .expect("letters and digits")
    };
    act(&mut Author {
        generator: "Ashlar".to_owned(),
        description: "a plan".to_owned(),
        host: "test".to_owned(),
        host_detail: None,
        time: 1_700_000_000,
        uuids: &mut fresh,
    })
}

fn done(change: Result<Change>) -> VolumeGroup {
    let change = change.expect("it is possible");
    change.vg().expect("it leaves a group").clone()
}

#[test]
fn stock_takes_planned_mirrors() {
    // Proves: stock restores a group with mirrors of every kind of log, finds nothing wrong with
    // it, and writes it again with the same segments.
    let scratch = Scratch::new("mirrors");
    let devices: Vec<LoopDevice> = (0..5)
        .map(|number| {
            let image = scratch.sparse(&format!("disk{number}"), SIZE);
            LoopDevice::attach(&image, Access::ReadWrite)
        })
        .collect();
    let stock = Stock::on(&devices);
    let paths = || devices.iter().map(LoopDevice::path);
    stock.without_driver("pvcreate").args(paths()).succeed();
    stock
        .without_driver("vgcreate")
        .arg("vg")
        .args(paths())
        .succeed();
    let file = scratch.join("vg.txt");
    let read = || {
        stock
            .without_driver("vgcfgbackup")
            .arg("-f")
            .arg(&file)
            .arg("vg")
            .succeed();
        let text = fs::read(&file).expect("the backup");
        model::from_text(&parse(&text).expect("it parses")).expect("it is a group")
    };
    let mut vg = read();
    let mut number = 0;
    for (name, log, initial, legs) in [
        ("core", MirrorLog::Core, Initial::Synchronise, 2),
        ("disk", MirrorLog::Disk, Initial::NoSync, 3),
        ("both", MirrorLog::Mirrored, Initial::Synchronise, 2),
    ] {
        let options = MirrorOptions {
            legs,
            log,
            region_size: None,
            initial,
        };
        let stripes = Stripes {
            count: 1,
            size: None,
        };
        let new = NewVolume {
            name: Some(name),
            kind: NewKind::Mirror(options, stripes),
            ..NewVolume::linear(SizeArgument::extents(7))
        };
        vg = done(by_author(&mut number, |author| {
            create_volume(&vg, &new, author)
        }));
    }
    let new = NewVolume {
        name: Some("plain"),
        ..NewVolume::linear(SizeArgument::extents(9))
    };
    vg = done(by_author(&mut number, |author| {
        create_volume(&vg, &new, author)
    }));
    let conversion = Conversion {
        volume: "plain",
        legs: 2,
        log: None,
        region_size: None,
        initial: Initial::Synchronise,
        places: None,
        policy: None,
        state: MirrorState::Unknown,
    };
    vg = done(by_author(&mut number, |author| {
        convert_mirrors(&vg, &conversion, author)
    }));
    fs::write(&file, model::to_text(&vg, Style::Backup)).expect("the plan's text");
    stock
        .without_driver("vgcfgrestore")
        .arg("-f")
        .arg(&file)
        .arg("vg")
        .succeed();
    stock.without_driver("vgck").arg("vg").succeed();
    let report =
        stock
            .without_driver("lvs")
            .args(["-a", "--noheadings", "-o", "name,segtype", "vg"]);
    let report = report.succeed().text();
    assert_eq!(report.matches("mirror").count(), 5, "{report}");
    let mut again = read();
    (again.seqno, vg.seqno) = (0, 0);
    (again.header, vg.header) = (model::Header::default(), model::Header::default());
    let text = |vg: &VolumeGroup| String::from_utf8(model::to_text(vg, Style::Raw));
    assert_eq!(text(&again), text(&vg));
}
