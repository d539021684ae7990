//! What an interrupted command left half done, and who ends it.

use lvm2::plan::group::{SplitInto, SplitOff, split_group};

use super::bench::{Bench, in_group};
use crate::apply::{Quiet, Request, TestMode, area_states};
use crate::scan::Presence;
use crate::{Kind, Result};

/// `vg0` on three disks, of which the last one was to become `vg1` when the power was cut, and
/// another group on a fourth disk.
fn half_split(other: &str) -> Bench {
    let bench = Bench::new();
    let disks = ["a", "b", "c", "d"].map(|letter| format!("disks/{letter}.img"));
    let disks = disks.each_ref().map(String::as_str);
    for disk in &disks[2..] {
        bench.folder.disk(disk, &[]);
    }
    let mut prompt = Quiet::yes();
    bench.create_pvs_of(&disks, &mut prompt).expect("are made");
    bench.create_group_of("vg0", &disks[..3]);
    bench.create_group_of("vg2", &disks[3..]);
    let split = bench.change(&in_group("vgsplit"), &mut prompt, |scan, author| {
        let group = scan.find_group("vg0")?;
        let (vg, areas) = (&group.model, area_states(scan, group));
        let last = vg.pvs().map(|(id, _)| id).skip(2).collect();
        let mut change = split_group(
            vg,
            SplitInto::named("vg1"),
            SplitOff::Pvs(&last),
            &areas,
            author,
        )?;
        change.groups.truncate(1);
        Ok(change.into())
    });
    split.expect("is begun");
    bench
        .folder
        .rewrite(disks[3], |text| text.replacen("vg2", other, 1));
    bench
}

fn create_volume(bench: &Bench, request: &Request) -> Result<()> {
    let done = bench.create_volume(request, &mut Quiet::yes());
    done.map(drop)
}

/// The next command on the group ends what was begun, under its own name and with both groups'
/// archives, whatever other groups are called; then it does what it was asked for.
#[test]
fn the_next_command_ends_a_split() {
    for other in ["vg2", "vg1"] {
        let bench = half_split(other);
        let archive = bench.folder.path("lvm/archive");
        std::fs::remove_dir_all(&archive).expect("is there");
        create_volume(&bench, &in_group("lvcreate")).expect("is ended and made");
        let scan = bench.scan();
        assert!(scan.find_volume("vg0/data").is_ok());
        let members = |group: &crate::scan::FoundVg| {
            let found = group.members.iter();
            assert!(
                found
                    .clone()
                    .all(|member| member.presence != Presence::Missing)
            );
            assert!(group.model.tags.is_empty(), "{:?}", group.model.tags);
            found.count()
        };
        let mut counts: Vec<_> = scan.groups.iter().map(members).collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 1, 2]);
        let ended = scan
            .groups
            .iter()
            .find(|group| group.seqno > 1 && group.name == "vg1");
        let said = ended.expect("is there").model.header.description.clone();
        let sentence = "Created *after* executing 'lvcreate'";
        assert_eq!(said.as_deref(), Some(sentence));
        let entries = std::fs::read_dir(&archive).expect("is there").flatten();
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("is text");
        let mut names: Vec<_> = entries.map(name).map(|name| name[..3].to_owned()).collect();
        names.sort();
        assert_eq!(names, ["vg0", "vg0", "vg1"]);
    }
}

/// In test mode nothing is ended, and neither where a disk is away that would have to be written.
#[test]
fn a_split_is_not_ended_without_its_disks() {
    let bench = half_split("vg2");
    let before = bench.scan().find_group("vg0").expect("is there").seqno;
    let tried = Request {
        test: TestMode::On,
        ..in_group("lvcreate -t")
    };
    let error = create_volume(&bench, &tried).expect_err("is left half done");
    assert_eq!(error.kind(), Kind::Refused, "{error}");
    assert!(error.to_string().contains("without -t"), "{error}");
    let away = bench.scan().physical_volumes[1].uuid;
    bench.folder.remove("disks/b.img");
    let error = create_volume(&bench, &in_group("lvcreate")).expect_err("is away");
    assert_eq!(error.kind(), Kind::Missing, "{error}");
    let part = format!("and PV {away} of VG vg0 is missing");
    assert!(error.to_string().contains(&part), "{error}");
    let group = bench.scan();
    assert_eq!(group.find_group("vg0").expect("is there").seqno, before);
}
