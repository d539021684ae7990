//! Groups of the golden disks, taken, written and given back.

use std::time::Duration;

use block::{BlockingDevice, Range};
use lvm2::model::Relations;

use super::{LiveGroup, LiveHooks, MirrorStatus};
use crate::Kind;
use crate::activate::MissingPolicy;
use crate::apply::HostDisks;
use crate::commit::{Hooks, Reach};
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
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(alone);
    });
    let alone = group.keep_alone("linear1").expect("it was about to leave");
    leaving.join().expect("it left");
    used.close().expect("flushes");
    group
        .open("linear1", missing)
        .expect("whom it was kept for is gone");
    drop(alone);
}

/// Who opens or closes a volume while tables are exchanged waits for the end of that, however it
/// ends, and holds nobody up; what was opened since a change was permitted stops it.
#[test]
fn exchanges_are_waited_for() {
    let (folder, host) = (Folder::golden_whole(), Host::without_config());
    let group = LiveGroup::take(&host, &disks(&folder), "vg0").expect("is free");
    let missing = MissingPolicy::default();
    let used = group.open("origin", missing).expect("is served");
    let before = (*group.owner().facts.group().expect("it is there").model).clone();
    let without = |name: &str| {
        let mut vg = before.clone();
        let lv = vg.lv_by_name(name).expect("it is there");
        let holder = Relations::of(&vg).parent(lv);
        vg.remove_lv(lv);
        holder.map(|holder| vg.remove_lv(holder));
        vg
    };
    let mut hooks = group.hooks().expect("its turn");
    let error = hooks.suspend(&without("origin")).expect_err("it is in use");
    assert_eq!(error.kind(), Kind::Refused, "{error}");
    drop(hooks);
    let ends: [fn(LiveHooks<'_>); 3] = [
        |mut hooks| hooks.resume(),
        |hooks| drop(hooks),
        |mut hooks| hooks.publish(Reach::All),
    ];
    for end in ends {
        let mut hooks = group.hooks().expect("its turn");
        hooks.suspend(&without("snap2")).expect("nobody uses it");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let other = group.open("snap1", missing).expect("is served");
                other.close().expect("ends");
            });
            std::thread::sleep(Duration::from_millis(50));
            assert!(!other.is_finished(), "it waits");
            end(hooks);
            other.join().expect("it goes on");
        });
    }
    used.close().expect("ends");
}

/// Whatever a job waits for, who asks, and who comes to what is in use already or leaves others
/// there, does not wait for it; who needs one does, and the last user's bytes are durable before.
#[test]
fn a_job_holds_nobody_up() {
    let (folder, host) = (Folder::golden_whole(), Host::without_config());
    let group = LiveGroup::take(&host, &disks(&folder), "vg0").expect("is free");
    let missing = MissingPolicy::default();
    let used = group.open("linear1", missing).expect("is served");
    let job = group.job();
    std::thread::scope(|scope| {
        let (said, heard) = std::sync::mpsc::channel();
        let group = group.clone();
        scope.spawn(move || {
            let other = group.open("linear1", missing).expect("is shared");
            assert_eq!(group.status()[0].users, 2);
            other.close().expect("somebody else is there");
            assert_eq!(group.name(), "vg0");
            let hooks = group.hooks().expect("its turn");
            assert_eq!(hooks.in_use().len(), 1);
            assert_eq!(hooks.store_used(group.uuid()), None);
            drop(hooks);
            said.send("asked").expect("is heard");
            group.open("linear2", missing).expect("is served");
            said.send("opened").expect("is heard");
            used.close().expect("flushes");
            assert!(group.status().is_empty());
            said.send("closed").expect("is heard");
        });
        let limit = Duration::from_secs(5);
        assert_eq!(heard.recv_timeout(limit), Ok("asked"));
        heard
            .recv_timeout(Duration::from_millis(100))
            .expect_err("it has to wait");
        drop(job);
        assert_eq!(heard.recv_timeout(limit), Ok("opened"));
        assert_eq!(heard.recv_timeout(limit), Ok("closed"));
    });
}
