//! Changes by the process that serves the group, and disks that cannot be opened.

use std::time::Duration;

use block::file::{Claim, LockMode};
use lvm2::Uuid;
use lvm2::plan::group::{GroupAttribute, change_group};
use nbd::client::Address;

use super::bench::{Bench, in_group};
use crate::apply::{Disks, Ownership, Quiet, Request};
use crate::host::{Place, Remote, Sharing};
use crate::lock::{FileId, LockByte, OwnedGroup, lock_pvs};
use crate::{Kind, Result};

fn change(bench: &Bench, ownership: Ownership) -> Result<()> {
    let request = Request {
        ownership,
        ..in_group("vgchange")
    };
    let done = bench.change(&request, &mut Quiet::yes(), |scan, author| {
        let vg = &scan.find_group("vg0")?.model;
        let limit = [GroupAttribute::MaxLv(vg.seqno)];
        Ok(change_group(vg, &limit, &[], author)?.into())
    });
    done.map(drop)
}

/// The process that serves a group changes it through the files that it holds; a file that was put
/// in the place of one of them is not written.
#[test]
fn who_serves_a_group_changes_what_it_holds() {
    let bench = Bench::new();
    bench.create_group();
    let scan = bench.scan();
    let open = |disk| {
        let options = std::fs::File::options().read(true).write(true).clone();
        options.open(bench.folder.path(disk)).expect("opens")
    };
    let files = ["disks/a.img", "disks/b.img"].map(|disk| ("disk", open(disk)));
    let limit = Duration::from_secs(1);
    let held = lock_pvs(&files, LockByte::Owner, LockMode::Exclusive, limit).expect("is free");
    let error = change(&bench, Ownership::Nobody).expect_err("is served");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    let owned = OwnedGroup::new(scan.find_group("vg0").expect("is there").uuid);
    for (pv, (_, file)) in scan.physical_volumes.iter().zip(&files) {
        owned.hold(pv.uuid, FileId::of(file).expect("is there"));
    }
    change(&bench, Ownership::Ours(owned.clone())).expect("is ours");
    let (b, copy) = (bench.folder.path("disks/b.img"), bench.folder.path("b.img"));
    std::fs::copy(&b, &copy).expect("is copied");
    std::fs::rename(&copy, &b).expect("is replaced");
    let error = change(&bench, Ownership::Ours(owned)).expect_err("is another file");
    assert_eq!(error.kind(), Kind::Refused);
    let part = format!("{} is not the file that process", bench.name("disks/b.img"));
    assert!(error.to_string().starts_with(&part), "{error}");
    drop(held);
    let seqno = bench.scan().find_group("vg0").expect("is there").seqno;
    assert_eq!(seqno, 2, "one change was made");
}

/// A plan is made while nobody can begin to serve the group: what it reads on the disks besides
/// metadata stays so until the change is made. Where somebody serves it there is no plan.
#[test]
fn plans_are_made_while_nobody_serves() {
    let bench = Bench::new();
    bench.create_group();
    let path = bench.folder.path("disks/a.img");
    let file = std::fs::File::options().read(true).write(true).open(path);
    let file = [("disk", file.expect("opens"))];
    let lock = || lock_pvs(&file, LockByte::Owner, LockMode::Exclusive, Duration::ZERO);
    let mut plans = 0;
    let mut change = || {
        bench.change(&in_group("vgchange"), &mut Quiet::yes(), |scan, author| {
            plans += 1;
            assert_eq!(lock().expect_err("is kept").kind(), Kind::Locked);
            let vg = &scan.find_group("vg0")?.model;
            let limit = [GroupAttribute::MaxLv(vg.seqno)];
            Ok(change_group(vg, &limit, &[], author)?.into())
        })
    };
    change().expect("nobody serves it");
    let held = lock().expect("is free again");
    assert_eq!(change().expect_err("is served").kind(), Kind::Locked);
    drop(held);
    assert_eq!(plans, 1, "no plan was made of what others use");
}

/// Of two groups with one VGID none is changed while one is served, since the volumes are known by
/// it; what is served besides does not matter.
#[test]
fn clones_are_not_changed_while_one_is_served() {
    let bench = Bench::new();
    let disks = bench.create_three_pvs();
    bench.create_group_of("vg0", &disks[..2]);
    bench.create_group_of("vg1", &disks[2..]);
    let scan = bench.scan();
    let uuid = |name| scan.find_group(name).expect("is there").uuid;
    let (uuid, other) = (uuid("vg0"), uuid("vg1"));
    bench.folder.rewrite(disks[2], |text| {
        text.replace(&other.to_string(), &uuid.to_string())
    });
    let error = change(&bench, Ownership::Ours(OwnedGroup::new(uuid))).expect_err("is served");
    assert_eq!(error.kind(), Kind::Refused);
    let part = "vg0 is not changed: another group has the same VGID";
    assert!(error.to_string().contains(part), "{error}");
    let another = OwnedGroup::new(Uuid::from_random(&[7; 32]));
    for ownership in [Ownership::Ours(another), Ownership::Nobody] {
        change(&bench, ownership).expect("neither is served");
    }
}

/// A disk that cannot be opened is named, with what keeps people from it most often where it is
/// wanted alone; what is behind a server is never mounted.
#[test]
fn disks_that_cannot_be_opened_are_named() {
    let bench = Bench::new();
    let mut found = bench.scan().devices.swap_remove(0);
    bench.folder.remove("disks/a.img");
    let name = bench.name("disks/a.img");
    let plain = format!("cannot open {name} for writing");
    let alone = format!("Can't open {name} exclusively.  Mounted filesystem? Nothing was changed");
    let mut says = |place, claim, expected: &str| {
        found.location.place = place;
        let error = bench.disks().open(&found, claim).expect_err("is gone");
        assert_eq!(error.kind(), Kind::Device);
        let text = error.to_string();
        assert!(text.starts_with(&format!("{expected}: ")), "{text}");
    };
    let file = || Place::File(bench.folder.path("disks/a.img"));
    let server = || {
        Place::Nbd(Remote {
            address: Address::unix(bench.folder.path("socket"), ""),
            timeout: Duration::from_millis(1),
            sharing: Sharing::Unknown,
        })
    };
    says(file(), Claim::Shared, &plain);
    says(file(), Claim::Exclusive, &alone);
    says(server(), Claim::Shared, &plain);
    says(server(), Claim::Exclusive, &plain);
}
