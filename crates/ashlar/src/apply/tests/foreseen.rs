//! What a plan foresees: its questions and its flushes, without a byte written.

use block::file::Claim;
use block::sim::Recorder;
use lvm2::ondisk::AreaUse;
use lvm2::plan::Author;
use lvm2::plan::group::{VolumesOf, reduce_group, remove_group};
use lvm2::plan::initialise::NewPv;
use lvm2::plan::logical::{NewVolume, create_volume};
use lvm2::plan::physical::{PvAttribute, change_pv};
use lvm2::plan::size::SizeArgument;

use super::bench::{Bench, in_group};
use crate::Result;
use crate::apply::{
    Disks, HostDisks, NewLabel, Opened, Planned, Question, Quiet, Request, Session, Signatures,
    area_states, find_device, plan_device, require_no_member,
};
use crate::host::Host;
use crate::scan::{FoundDevice, Scan};

/// The disks of a bench, with a record of what they are asked for.
struct Watched {
    disks: HostDisks,
    recorder: Recorder,
}

impl Disks for Watched {
    fn scan(&self, host: &Host) -> Result<Scan> {
        self.disks.scan(host)
    }

    fn open(&self, found: &FoundDevice, claim: Claim) -> Result<Opened> {
        let opened = self.disks.open(found, claim)?;
        let device = self.recorder.record(opened.device).expect("is read");
        Ok(Opened { device, ..opened })
    }
}

type Planner = fn(&Bench, &Scan, &mut Author<'_>) -> Result<Planned>;

fn new_pvs(bench: &Bench, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
    let mut planned = Planned::default();
    for disk in ["disks/a.img", "disks/b.img"] {
        let device = find_device(scan, &bench.name(disk))?;
        require_no_member(scan, device)?;
        let layout = NewPv::new(author.uuid()).lay_out(&plan_device(scan, device))?;
        planned.new.push(NewLabel {
            device,
            layout,
            others: Signatures::Wiped,
        });
    }
    planned.questions.push(Question {
        text: "Really? [y/n]: ".to_owned(),
        refusal: "no".to_owned(),
    });
    Ok(planned)
}

/// A volume of `EXTENTS`: up to 23 of them are on the first disk.
fn volume<const EXTENTS: u64>(_: &Bench, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
    let new = NewVolume {
        name: Some("data"),
        ..NewVolume::linear(SizeArgument::extents(EXTENTS))
    };
    Ok(create_volume(&scan.find_group("vg0")?.model, &new, author)?.into())
}

fn one_area_less(_: &Bench, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
    let group = scan.find_group("vg0")?;
    let (first, _) = group.model.pvs().next().expect("it has two");
    let (areas, ignored) = (
        area_states(scan, group),
        [PvAttribute::Areas(AreaUse::Ignored)],
    );
    Ok(change_pv(&group.model, first, &ignored, &areas, author)?.into())
}

fn one_disk_less(_: &Bench, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
    let group = scan.find_group("vg0")?;
    let (first, _) = group.model.pvs().next().expect("it has two");
    let areas = area_states(scan, group);
    Ok(reduce_group(&group.model, &[first], &areas, author)?.into())
}

fn no_pv(bench: &Bench, scan: &Scan, _: &mut Author<'_>) -> Result<Planned> {
    Ok(Planned {
        removed: vec![find_device(scan, &bench.name("disks/a.img"))?],
        ..Planned::default()
    })
}

fn removed(_: &Bench, scan: &Scan, _: &mut Author<'_>) -> Result<Planned> {
    Ok(remove_group(&scan.find_group("vg0")?.model, VolumesOf::Keep)?.into())
}

/// A plan knows every question, also those about what is on the disks, and how many flushes there
/// will be; and writes nothing.
#[test]
fn plans_foresee_questions_and_flushes() {
    const EXT: (&str, u64, &[u8]) = ("disks/a.img", 0x438, &[0x53, 0xef]);
    const XFS: (&str, u64, &[u8]) = ("disks/a.img", 1 << 20, b"XFSB");
    // 8 KiB before the end of a volume of 25 extents, two of which are on this disk.
    const END: (u64, &[u8]) = ((9 << 20) - 0x2000, &[0xfc, 0x4e, 0x2b, 0xa9]);
    const RAID: (&str, u64, &[u8]) = ("disks/b.img", END.0, END.1);
    let ext = "ext4 signature detected on A at offset 1080";
    let xfs = "xfs signature detected on /dev/vg0/data at offset 0";
    let raid = "linux_raid_member signature detected on /dev/vg0/data at offset 104849408";
    let small: Planner = volume::<2>;
    let (nothing, pvs, group) = (0, 1, 2);
    let cases = [
        // Its areas and then its label, for each.
        (nothing, None, new_pvs as Planner, None, 4),
        (nothing, Some(EXT), new_pvs, Some(ext), 4),
        // The old labels go first.
        (pvs, None, new_pvs, None, 6),
        // Both disks, the beginning of the volume, both texts and both headers.
        (group, None, small, None, 7),
        (group, None, one_disk_less, None, 6),
        (pvs, None, no_pv, None, 1),
        (group, Some(XFS), small, Some(xfs), 7),
        (group, Some(RAID), volume::<25>, Some(raid), 8),
        (group, None, one_area_less, None, 5),
        (group, None, removed, None, 6),
    ];
    for (number, (made, signature, plan, question, flushes)) in cases.into_iter().enumerate() {
        let bench = Bench::new();
        if made == pvs {
            bench.create_pvs(&mut Quiet::yes()).expect("are made");
        } else if made == group {
            bench.create_group();
        }
        if let Some((disk, at, bytes)) = signature {
            bench.folder.write(disk, at, bytes);
        }
        let request = match made {
            2 => in_group("change"),
            _ => Request::default(),
        };
        let disks = Watched {
            disks: bench.disks(),
            recorder: Recorder::default(),
        };
        let mut prompt = Quiet::yes();
        let mut session = Session::new(&bench.host, &disks, &mut prompt);
        let plan = &mut |scan: &Scan, author: &mut Author<'_>| plan(&bench, scan, author);
        let preview = session.preview(&request, plan).expect("is possible");
        let log = disks.recorder.log();
        assert_eq!((log.write_count(), log.flushes()), (0, 0), "{number}");
        let text =
            question.map(|text| text.replace(" A ", &format!(" {} ", bench.name("disks/a.img"))));
        let text = text.map(|text| format!("WARNING: {text}. Wipe it? [y/n]: "));
        let planned = preview
            .planned
            .questions
            .iter()
            .map(|question| question.text.clone());
        let expected: Vec<_> = planned.chain(text).collect();
        assert_eq!(preview.questions, expected, "{number}");
        session.change(&request, plan).expect("is made");
        let seen = disks.recorder.log().flushes();
        assert_eq!((preview.flushes, seen), (flushes, flushes), "{number}");
    }
}
