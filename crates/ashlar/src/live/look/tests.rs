//! Groups of the golden disks, changed while they are served: how often the disks are looked at.

use std::time::Duration;

use block::Device;
use block::file::LockMode;
use lvm2::model::VolumeGroup;
use lvm2::plan::group::{GroupAttribute, change_group};
use lvm2::plan::logical::{Resize, resize_volume};
use lvm2::plan::size::{ResizeTo, SizeArgument};
use lvm2::plan::{Author, Change};

use crate::activate::MissingPolicy;
use crate::apply::{
    Agreement, Disks, Environment, HostDisks, LOOKS, Quiet, Request, Session, Tolerated,
};
use crate::commit::{Hooks, Reach};
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::live::LiveGroup;
use crate::lock::{LockByte, lock_pvs};
use crate::tests::fixture::Folder;
use crate::{Kind, Result, scan};

fn disks(paths: &[std::path::PathBuf]) -> HostDisks {
    let specs = paths.iter().map(|path| DeviceSpec { path: path.clone() });
    HostDisks {
        source: DeviceSource::Listed(specs.collect()),
        options: scan::Options::default(),
    }
}

/// Changes the group as a command does that was given these disks; how often it looked at them, and
/// what came of it.
fn change(
    group: &LiveGroup,
    disks: &HostDisks,
    mut plan: impl FnMut(&VolumeGroup, &mut Author<'_>) -> lvm2::Result<Change>,
) -> (usize, Result<()>) {
    let host = Host::without_config();
    let request = Request {
        groups: vec!["vg0".to_owned()],
        ownership: group.ownership(),
        agreement: Agreement::Given,
        tolerated: vec![Tolerated::Missing],
        command: "a test".to_owned(),
        ..Request::default()
    };
    let (mut prompt, mut hooks) = (Quiet::yes(), group.hooks().expect("its turn"));
    let mut session = Session::new(&host, disks, &mut prompt);
    session.environment = Environment::Nothing;
    session.hooks = Some(&mut hooks);
    let before = LOOKS.get();
    let made = session.change(&request, &mut |scan, author| {
        Ok(plan(&scan.find_group("vg0")?.model, author)?.into())
    });
    let finished = hooks.finish();
    (LOOKS.get() - before, made.map(drop).and(finished))
}

fn resized(
    extents: u64,
    direction: ResizeTo,
) -> impl FnMut(&VolumeGroup, &mut Author<'_>) -> lvm2::Result<Change> {
    move |vg, author| {
        let resize = Resize::to("linear1", SizeArgument::extents(extents), direction);
        resize_volume(vg, &resize, author)
    }
}

/// A change of a group in use looks at its disks once, whether tables only grow or requests are
/// held. Whoever was given fewer disks, or finds them by other paths, is not believed, and nothing
/// that is held is let go.
#[test]
fn a_change_looks_once() {
    let folder = Folder::golden_whole();
    let (all, host) = (disks(&[folder.path("")]), Host::without_config());
    let group = LiveGroup::take(&host, &all, "vg0").expect("is free");
    let used = group.open("linear1", MissingPolicy::default());
    let used = used.expect("is served");
    let last = all.scan(&host).expect("is read");
    let last = last.find_group("vg0").expect("is there");
    let last = last.members.last().expect("it has some").uuid;
    let looks = |disks: &HostDisks, extents, direction| {
        let (looks, made) = change(&group, disks, resized(extents, direction));
        made.expect("is resized");
        assert_eq!(used.volume.info().size, extents << 20);
        assert!(group.owned().holds_pv(last));
        looks
    };
    assert_eq!(looks(&all, 9, ResizeTo::Larger), 1, "it only grows");
    assert_eq!(looks(&all, 5, ResizeTo::Smaller), 1, "requests are held");
    let elsewhere = Folder::new();
    let path = elsewhere.path("link");
    std::os::unix::fs::symlink(folder.path(""), &path).expect("a link");
    let linked = looks(&disks(&[path]), 6, ResizeTo::Larger);
    assert_eq!(linked, 3, "it is not believed");
    let fewer = ["a0.img", "a1.img", "a2.img", "a3.img"].map(|name| folder.path(name));
    let fewer = looks(&disks(&fewer), 7, ResizeTo::Larger);
    assert_eq!(fewer, 3, "it is not believed");
    assert_eq!(looks(&all, 8, ResizeTo::Larger), 1, "all is as before");
    used.close().expect("flushes");
}

/// A group that is committed twice in one change is looked at for the second time, and so is one of
/// which nobody knows how far its commit came; of another one what was committed is believed.
#[test]
fn a_look_serves_one_whole_commit() {
    let folder = Folder::golden_whole();
    let (all, host) = (disks(&[folder.path("")]), Host::without_config());
    let group = LiveGroup::take(&host, &all, "vg0").expect("is free");
    let found = all.scan(&host).expect("is read");
    let before = found.find_group("vg0").expect("is there");
    let version = |later| {
        let mut vg = (*before.model).clone();
        vg.seqno += later;
        vg
    };
    // Nothing is on the disks: whoever looks finds what was there before.
    for (reaches, looks, seqno) in [
        (&[Reach::Some][..], 1, before.seqno),
        (&[Reach::All, Reach::All], 2, before.seqno),
        (&[Reach::All], 0, before.seqno + 1),
    ] {
        let mut hooks = group.hooks().expect("its turn");
        hooks.permit(&found, &Change::default()).expect("may be");
        let looked = LOOKS.get();
        for (number, reach) in (1..).zip(reaches) {
            hooks.suspend(&version(number)).expect("nobody uses it");
            hooks.publish(*reach);
        }
        hooks.finish().expect("all is held");
        assert_eq!(LOOKS.get() - looked, looks, "{reaches:?}");
        let facts = group.owner().facts.clone();
        assert_eq!(facts.group().expect("is there").seqno, seqno);
    }
}

/// Who may use a group is judged anew after a change of that: a group that was given to another
/// host is opened no more.
#[test]
fn who_may_use_a_group_is_judged_anew() {
    let folder = Folder::golden_whole();
    let (all, host) = (disks(&[folder.path("")]), Host::without_config());
    let group = LiveGroup::take(&host, &all, "vg0").expect("is free");
    let missing = MissingPolicy::default();
    let used = group.open("linear2", missing).expect("is served");
    used.close().expect("flushes");
    let given = change(&group, &all, |vg, author| {
        change_group(
            vg,
            &[GroupAttribute::SystemId(Some("another"))],
            &[],
            author,
        )
    });
    given.1.expect("is given away");
    let error = group.open("linear2", missing).expect_err("is another's");
    assert_eq!(error.kind(), Kind::Refused, "{error}");
}

/// A disk that came back and could not be held is tried again after the next change, whatever that
/// is about, and until then it is not taken for held.
#[test]
fn what_could_not_be_held_is_tried_again() {
    let folder = Folder::golden_whole();
    let (all, host) = (disks(&[folder.path("")]), Host::without_config());
    let found = all.scan(&host).expect("is read");
    let place = |pv: &&scan::FoundPv| found.device(pv.device).name.ends_with("a4.img");
    let pv = found.physical_volumes.iter().find(place).expect("is there");
    let away = Folder::new();
    std::fs::rename(folder.path("a4.img"), away.path("a4.img")).expect("is taken away");
    let group = LiveGroup::take(&host, &all, "vg0").expect("is free");
    std::fs::rename(away.path("a4.img"), folder.path("a4.img")).expect("is back");
    let file = std::fs::File::options().read(true).write(true).clone();
    let file = file.open(folder.path("a4.img")).expect("opens");
    let limit = Duration::from_secs(1);
    let lock = lock_pvs(&[("a4", file)], LockByte::Owner, LockMode::Exclusive, limit);
    let lock = lock.expect("is free");
    let error = group.job().refresh().expect_err("somebody has it");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    assert!(!group.owned().holds_pv(pv.uuid));
    drop(lock);
    let (looks, made) = change(&group, &all, resized(9, ResizeTo::Larger));
    made.expect("is resized");
    assert_eq!(looks, 2);
    assert!(group.owned().holds_pv(pv.uuid), "it is tried again");
    let (looks, made) = change(&group, &all, resized(10, ResizeTo::Larger));
    made.expect("is resized");
    assert_eq!(looks, 1);
}
