//! Groups of the golden disks, taken, written and given back.

use block::{BlockingDevice, Range};
use lvm2::plan::logical::{Resize, resize_volume};
use lvm2::plan::size::{ResizeTo, SizeArgument};

use super::{LiveGroup, MirrorStatus};
use crate::Kind;
use crate::activate::MissingPolicy;
use crate::apply::{Agreement, Environment, HostDisks, LOOKS, Quiet, Request, Session};
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::scan;
use crate::tests::fixture::Folder;

fn disks(folder: &Folder) -> HostDisks {
    let path = folder.path("");
    HostDisks {
        source: DeviceSource::Listed(vec![DeviceSpec { path }]),
        options: scan::Options::default(),
    }
}

/// One process owns a group at a time, and what it writes is there for the next.
#[test]
fn a_group_has_one_owner() {
    let (folder, host) = (Folder::golden_whole(), Host::without_config());
    let disks = disks(&folder);
    let group = LiveGroup::take(&host, &disks, "vg0").expect("is free");
    let error = LiveGroup::take(&host, &disks, "vg0").expect_err("is taken");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    let missing = MissingPolicy::default();
    for name in ["linear1", "mirror2"] {
        let used = group.open(name, missing).expect("is served");
        let again = group.open(name, missing).expect("is shared");
        let mut io = BlockingDevice::open(&again.volume).expect("opens");
        io.write_at(&[7; 4096], 8192).expect("takes writes");
        drop(io);
        let [said] = &group.status()[..] else {
            panic!("one is in use")
        };
        assert_eq!((&*said.name, said.users), (&*format!("vg0/{name}"), 2));
        let mirrors = said.mirrors.iter().map(MirrorStatus::is_in_sync);
        let wanted: &[bool] = if name == "mirror2" { &[true] } else { &[] };
        assert_eq!(mirrors.collect::<Vec<_>>(), wanted);
        again.close().expect("is used no more");
        used.close().expect("flushes");
        assert!(group.status().is_empty());
    }
    let error = group.open("nothing", missing).expect_err("is not there");
    assert_eq!(error.kind(), Kind::NotFound, "{error}");
    drop(group);
    let group = LiveGroup::take(&host, &disks, "vg0").expect("is free again");
    for name in ["linear1", "mirror2"] {
        let used = group.open(name, missing).expect("is served");
        let mut io = BlockingDevice::open(&used.volume).expect("opens");
        let read = io.read(Range::new(8192, 4096)).expect("reads");
        assert_eq!(read, [7; 4096]);
    }
}

/// Whoever keeps a volume alone keeps others out, and only as long as that lasts; who finds others
/// there, or nobody, is refused.
#[test]
fn a_volume_is_kept_alone() {
    let (folder, host) = (Folder::golden_whole(), Host::without_config());
    let group = LiveGroup::take(&host, &disks(&folder), "vg0").expect("is free");
    let missing = MissingPolicy::default();
    let kind = |error: crate::Error| error.kind();
    assert_eq!(
        kind(group.keep_alone("linear1").expect_err("nobody")),
        Kind::NotFound
    );
    let used = group.open("linear1", missing).expect("is served");
    let second = group.open("linear1", missing).expect("is shared");
    assert_eq!(
        kind(group.keep_alone("linear1").expect_err("two")),
        Kind::Locked
    );
    second.close().expect("is used no more");
    let alone = group.keep_alone("linear1").expect("one uses it");
    assert_eq!(
        kind(group.open("linear1", missing).expect_err("another")),
        Kind::Locked
    );
    assert_eq!(
        kind(group.keep_alone("linear1").expect_err("twice")),
        Kind::Locked
    );
    group
        .open("linear2", missing)
        .expect("that is another volume");
    drop(alone);
    group.open("linear1", missing).expect("is shared again");
    let alone = group.keep_alone("linear1").expect("the other one left");
    used.close().expect("flushes");
    group
        .open("linear1", missing)
        .expect("whom it was kept for is gone");
    drop(alone);
}

/// A change of a group in use looks at its disks once, whatever becomes of the tables; one that
/// finds them elsewhere than where they are held does not count as a look.
#[test]
fn a_change_looks_once() {
    let folder = Folder::golden_whole();
    let host = Host::without_config();
    let all = disks(&folder);
    let group = LiveGroup::take(&host, &all, "vg0").expect("is free");
    let missing = MissingPolicy::default();
    let used = group.open("linear1", missing).expect("is served");
    let looks = |disks: &HostDisks, extents, direction| {
        let request = Request {
            groups: vec!["vg0".to_owned()],
            ownership: group.ownership(),
            agreement: Agreement::Given,
            command: "a test".to_owned(),
            ..Request::default()
        };
        let resize = Resize {
            volume: "linear1",
            size: SizeArgument::extents(extents),
            direction,
            kind: None,
            stripes: None,
            stripe_size: None,
            places: None,
            policy: None,
            cling_tags: &[],
        };
        let (mut prompt, mut hooks) = (Quiet::yes(), group.hooks().expect("its turn"));
        let mut session = Session::new(&host, disks, &mut prompt);
        session.environment = Environment::Nothing;
        session.hooks = Some(&mut hooks);
        let before = LOOKS.get();
        let made = session.change(&request, &mut |scan, author| {
            let vg = &scan.find_group("vg0")?.model;
            Ok(resize_volume(vg, &resize, author)?.into())
        });
        made.expect("is resized");
        hooks.finish().expect("all is held");
        let size = block::Device::info(&used.volume).size;
        assert_eq!(size, extents << 20);
        LOOKS.get() - before
    };
    assert_eq!(looks(&all, 9, ResizeTo::Larger), 1, "it only grows");
    assert_eq!(looks(&all, 5, ResizeTo::Smaller), 1, "requests are held");
    let elsewhere = Folder::new();
    let path = elsewhere.path("link");
    std::os::unix::fs::symlink(folder.path(""), &path).expect("a link");
    let source = DeviceSource::Listed(vec![DeviceSpec { path }]);
    let linked = HostDisks { source, ..all };
    assert_eq!(looks(&linked, 6, ResizeTo::Larger), 2, "it is not believed");
    used.close().expect("flushes");
}
