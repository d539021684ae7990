//! Which disks a change opens, and which groups and texts it is about.

use std::collections::BTreeSet;

use lvm2::model::PvFlag;
use lvm2::ondisk::PvUse;
use lvm2::plan::Author;
use lvm2::plan::group::{
    GroupAttribute, PartialVolumes, VolumesOf, change_group, extend_group, merge_groups,
    remove_group, remove_missing,
};
use lvm2::plan::initialise::NewPv;
use lvm2::plan::logical::ImageStates;

use super::bench::{Bench, Served, in_group};
use crate::apply::{
    NewLabel, Planned, Quiet, Request, Signatures, Tolerated, area_states, find_device, find_pv,
    free_member, plan_device, require_no_member, update_metadata,
};
use crate::scan::{FoundVg, Presence, Scan};
use crate::{Kind, Result};

/// `vg0` on `a` and `b`, `vg1` on `c`, a free physical volume `d` with a copy `f`, `e` that `vg0`
/// has gone on without, and an empty disk `g`.
fn two_groups() -> Bench {
    let bench = Bench::new();
    let disk = |letter: char| format!("disks/{letter}.img");
    let all: Vec<String> = "abcde".chars().map(disk).collect();
    for letter in "cdeg".chars() {
        bench.folder.disk(&disk(letter), &[]);
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    bench
        .create_pvs_of(&all, &mut Quiet::yes())
        .expect("are made");
    bench.create_group_of("vg0", &[all[0], all[1], all[4]]);
    bench.create_group_of("vg1", &[all[2]]);
    let away = bench.folder.path("e.img");
    std::fs::rename(bench.folder.path(all[4]), &away).expect("is moved");
    let request = Request {
        tolerated: vec![Tolerated::Missing],
        ..in_group("vgreduce --removemissing")
    };
    let removed = bench.change(&request, &mut Quiet::yes(), |scan, author| {
        let group = scan.find_group("vg0")?;
        let members = group.members.iter();
        let missing = members.filter(|member| member.presence == Presence::Missing);
        let missing: BTreeSet<_> = missing.map(|member| member.id).collect();
        let states = ImageStates::default();
        let (keep, areas) = (PartialVolumes::Keep, area_states(scan, group));
        Ok(remove_missing(&group.model, &missing, keep, &states, &areas, author)?.into())
    });
    removed.expect("is removed");
    std::fs::rename(&away, bench.folder.path(all[4])).expect("is moved");
    let (original, copy) = (bench.folder.path(all[3]), bench.folder.path("disks/f.img"));
    std::fs::copy(original, copy).expect("is copied");
    bench
}

fn tagged(group: &FoundVg, author: &mut Author<'_>) -> lvm2::Result<Planned> {
    let tags = [GroupAttribute::AddTag("t")];
    Ok(change_group(&group.model, &tags, &[], author)?.into())
}

type Planner = fn(&Bench, &Scan, &mut Author<'_>) -> Result<Planned>;

/// A change opens the members of its groups and what comes in, becomes a physical volume or stops
/// being one, each once; free physical volumes only if any come or go; and none that is a copy, or
/// that its group went on without, unless it is cleared. Each group's text is archived once.
#[test]
fn a_change_opens_what_it_is_about() {
    let tag: Planner = |_, scan, author| Ok(tagged(scan.find_group("vg0")?, author)?);
    let clear: Planner = |_, scan, author| {
        let group = scan.find_group("vg0")?;
        update_metadata(scan, group, None, author)
    };
    let extend: Planner = |bench, scan, author| {
        let group = scan.find_group("vg0")?;
        let free = free_member(scan, find_pv(scan, &bench.name("disks/d.img"))?)?;
        let areas = area_states(scan, group);
        Ok(extend_group(&group.model, &[free], &areas, author)?.into())
    };
    let merge: Planner = |_, scan, author| {
        let (to, from) = (scan.find_group("vg0")?, scan.find_group("vg1")?);
        Ok(merge_groups(&to.model, &from.model, author)?.into())
    };
    let create: Planner = |bench, scan, author| {
        let device = find_device(scan, &bench.name("disks/g.img"))?;
        let layout = NewPv::new(author.uuid()).lay_out(&plan_device(scan, device))?;
        Ok(Planned {
            new: vec![NewLabel {
                device,
                layout,
                others: Signatures::Wiped,
            }],
            ..Planned::default()
        })
    };
    let remove: Planner = |bench, scan, _| {
        let device = find_device(scan, &bench.name("disks/d.img"))?;
        require_no_member(scan, device)?;
        Ok(Planned {
            removed: vec![device],
            ..Planned::default()
        })
    };
    let cases = [
        (&["vg0"][..], false, tag, "ab", "0"),
        (&["vg0", "vg0"], false, tag, "ab", "0"),
        (&["vg0"], true, tag, "abd", "0"),
        (&["vg0"], false, clear, "abe", "0"),
        (&["vg0"], false, extend, "abd", "0"),
        (&["vg0", "vg1"], false, merge, "abc", "01"),
        (&[], true, create, "dg", ""),
        (&[], true, remove, "d", ""),
    ];
    for (number, (groups, changes_pvs, plan, disks, archived)) in cases.into_iter().enumerate() {
        let bench = two_groups();
        let archive = bench.folder.path("lvm/archive");
        std::fs::remove_dir_all(&archive).expect("is there");
        let request = Request {
            groups: groups.iter().map(|name| (*name).to_owned()).collect(),
            changes_pvs,
            ..Request::default()
        };
        let mut served = Served::default();
        let done = bench.with_session(&mut Quiet::yes(), Some(&mut served), |session| {
            session.change(&request, &mut |scan, author| plan(&bench, scan, author))
        });
        done.expect("is made");
        let opened = served.disks.iter().map(|name| &name[..1]);
        assert_eq!(opened.collect::<String>(), disks, "{number}");
        let entries = std::fs::read_dir(&archive).into_iter().flatten().flatten();
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("is text");
        let mut names: Vec<_> = entries.map(name).collect();
        names.sort();
        let kept = names.iter().map(|name| &name[2..3]);
        assert_eq!(kept.collect::<String>(), archived, "{number}");
    }
}

/// A disk that its group went on without is free after it was cleared, by a command that says so;
/// no other disk is.
#[test]
fn outdated_disks_become_free() {
    let bench = two_groups();
    let mut prompt = Quiet::yes();
    bench
        .change(&in_group("vgck"), &mut prompt, |scan, author| {
            update_metadata(scan, scan.find_group("vg0")?, None, author)
        })
        .expect("is cleared");
    let told = prompt.messages.iter().map(|message| message.text.as_str());
    let wiped = format!("wiping mda on outdated PV {}", bench.name("disks/e.img"));
    let written = "Metadata of volume group vg0 was written again.";
    assert_eq!(told.collect::<Vec<_>>(), [&wiped, written]);
    let scan = bench.scan();
    let facts = scan.physical_volumes.iter().map(|pv| {
        assert_eq!(pv.outdated, None);
        pv.group.is_some()
    });
    // a to f
    let grouped = [true, true, true, false, false, false];
    assert_eq!(facts.collect::<Vec<_>>(), grouped);
}

/// What the removal of a group clears is free afterwards, also where the plan does not say so.
#[test]
fn cleared_disks_become_free() {
    let bench = two_groups();
    let uses = || {
        let scan = bench.scan();
        let pvs = scan.physical_volumes.iter();
        pvs.map(|pv| pv.header.usage() == PvUse::Used)
            .collect::<Vec<_>>()
    };
    // a to f
    assert_eq!(uses(), [true, true, true, false, true, false]);
    bench
        .change(&in_group("vgremove"), &mut Quiet::yes(), |scan, _| {
            let mut change = remove_group(&scan.find_group("vg0")?.model, VolumesOf::Keep)?;
            let outdated = find_pv(scan, &bench.name("disks/e.img"))?;
            change.released.push(scan.pv(outdated).uuid);
            Ok(change.into())
        })
        .expect("is removed");
    assert_eq!(uses(), [false, false, true, false, false, false]);
}

/// Whoever serves volumes may refuse a change, or a disk of it; then nothing is written.
#[test]
fn servers_refuse_changes_and_disks() {
    for (is_firm, kept, opened) in [(true, None, 0), (false, Some("b.img"), 2)] {
        let bench = Bench::new();
        bench.create_group();
        let mut served = Served {
            is_firm,
            kept: kept.map(str::to_owned),
            ..Served::default()
        };
        let done = bench.with_session(&mut Quiet::yes(), Some(&mut served), |session| {
            session.change(&in_group("vgchange"), &mut |scan, author| {
                Ok(tagged(scan.find_group("vg0")?, author)?)
            })
        });
        assert_eq!(
            done.expect_err("is refused").to_string(),
            "is not permitted"
        );
        assert_eq!((served.disks.len(), served.groups.len()), (opened, 0));
        assert_eq!(bench.scan().find_group("vg0").expect("is there").seqno, 1);
    }
}

/// Where a change goes on without a disk, the text calls that one missing, and no other; of a
/// group that it does not go on without, it calls none so.
#[test]
fn absent_disks_are_called_missing() {
    for (tolerated, expected) in [
        (Tolerated::Absent, [false, true]),
        (Tolerated::Missing, [false, false]),
    ] {
        let bench = Bench::new();
        bench.create_group();
        bench.folder.remove("disks/b.img");
        let request = Request {
            tolerated: vec![tolerated],
            ..in_group("vgchange")
        };
        bench
            .change(&request, &mut Quiet::yes(), |scan, author| {
                Ok(tagged(scan.find_group("vg0")?, author)?)
            })
            .expect("is changed");
        let scan = bench.scan();
        let model = &scan.find_group("vg0").expect("is there").model;
        let missing = model.pvs().map(|(_, pv)| pv.flags.has(PvFlag::Missing));
        assert_eq!(missing.collect::<Vec<_>>(), expected, "{tolerated:?}");
    }
}

/// Only members are refused as new physical volumes, each by its own group.
#[test]
fn members_are_known_by_their_disks() {
    let bench = two_groups();
    let scan = bench.scan();
    for (disk, group) in [
        ("a", Some("vg0")),
        ("c", Some("vg1")),
        ("d", None),
        ("g", None),
    ] {
        let device = find_device(&scan, &bench.name(&format!("disks/{disk}.img")));
        let done = require_no_member(&scan, device.expect("is there"));
        assert_eq!(done.is_err(), group.is_some(), "{disk}");
        if let (Err(error), Some(group)) = (done, group) {
            let part = format!("of volume group \"{group}\" without -ff");
            assert!(error.to_string().contains(&part), "{error}");
        }
    }
    let states = area_states(&scan, scan.find_group("vg0").expect("is there"));
    let pvs = scan.physical_volumes.iter().take(2).map(|pv| (pv.uuid, 0));
    let found = states.iter().map(|state| (state.pv, state.area));
    assert!(found.eq(pvs), "{states:?}");
}

/// A partitioned disk is refused with the names of its partitions, and of no others.
#[test]
fn partitions_are_named_instead_of_their_disk() {
    let bench = Bench::new();
    for (disk, count) in [("disks/a.img", 2), ("disks/b.img", 1)] {
        for number in 0..count {
            let numbers = [2048 * (1 + number), 2048].map(u32::to_le_bytes).concat();
            let entry = [&[0, 0, 0, 0, 0x8e, 0, 0, 0][..], &numbers].concat();
            bench
                .folder
                .write(disk, u64::from(0x1be + 16 * number), &entry);
        }
        bench.folder.write(disk, 0x1fe, &[0x55, 0xaa]);
    }
    for (disk, numbers) in [("disks/a.img", &["1", "2"][..]), ("disks/b.img", &["1"])] {
        let made = bench.create_pvs_of(&[disk], &mut Quiet::yes());
        let error = made.expect_err("is partitioned");
        assert_eq!(error.kind(), Kind::Refused);
        let name = bench.name(disk);
        let names: Vec<_> = numbers.iter().map(|end| format!("{name}:{end}")).collect();
        let expected = format!(
            "Cannot use {name}: device is partitioned; name one of its partitions: {}",
            names.join(", ")
        );
        assert_eq!(error.to_string(), expected);
    }
}
