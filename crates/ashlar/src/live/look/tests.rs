//! Groups of the golden disks, changed while they are served: how often the disks are looked at,
//! and which of them.

use std::time::Duration;

use block::Device;
use block::file::LockMode;
use lvm2::model::VolumeGroup;
use lvm2::plan::group::{
    GroupAttribute, PartialVolumes, SplitInto, SplitOff, change_group, extend_group, merge_groups,
    reduce_group, remove_missing, restore_missing, split_group,
};
use lvm2::plan::initialise::NewPv;
use lvm2::plan::logical::{ImageStates, Resize, resize_volume};
use lvm2::plan::physical::{PvSize, resize_pv};
use lvm2::plan::size::{ResizeTo, SizeArgument};
use lvm2::plan::{Author, Change};
use lvm2::{Sectors, Uuid};

use crate::activate::MissingPolicy;
use crate::apply::{
    Agreement, Disks, Environment, HostDisks, LOOKS, NewLabel, Planned, Quiet, Request, Session,
    Signatures, Tolerated, area_states, find_device, find_pv, free_member, new_member, plan_device,
};
use crate::commit::{Hooks, Reach};
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::live::LiveGroup;
use crate::lock::{LockByte, lock_pvs};
use crate::scan::{READ_AGAIN, Scan};
use crate::tests::fixture::Folder;
use crate::{Kind, Result, scan};

fn disks(paths: &[std::path::PathBuf]) -> HostDisks {
    let specs = paths.iter().map(|path| DeviceSpec { path: path.clone() });
    HostDisks {
        source: DeviceSource::Listed(specs.collect()),
        options: scan::Options::default(),
    }
}

/// Changes volumes of the group as a command does that was given these disks; how often it looked
/// at all of them, and what came of it.
fn change(
    group: &LiveGroup,
    disks: &HostDisks,
    mut plan: impl FnMut(&VolumeGroup, &mut Author<'_>) -> lvm2::Result<Change>,
) -> (usize, Result<()>) {
    let plan = |scan: &Scan, author: &mut Author<'_>| {
        Ok(plan(&scan.find_group("vg0")?.model, author)?.into())
    };
    change_as(group, disks, &request(group), plan)
}

/// The same for any change that is asked for like this.
fn change_as(
    group: &LiveGroup,
    disks: &HostDisks,
    request: &Request,
    mut plan: impl FnMut(&Scan, &mut Author<'_>) -> Result<Planned>,
) -> (usize, Result<()>) {
    let (mut host, locks) = (Host::without_config(), Folder::new());
    let text = format!("global/locking_dir=\"{}\"", locks.path("locks").display());
    host.config.add_text(&text).expect("is good");
    let (mut prompt, mut hooks) = (Quiet::yes(), group.hooks().expect("its turn"));
    let mut session = Session::new(&host, disks, &mut prompt);
    session.environment = Environment::Locks;
    session.hooks = Some(&mut hooks);
    let before = LOOKS.get();
    let made = session.change(request, &mut plan);
    let finished = hooks.finish();
    (LOOKS.get() - before, made.map(drop).and(finished))
}

fn request(group: &LiveGroup) -> Request {
    Request {
        groups: vec!["vg0".to_owned()],
        ownership: group.ownership(),
        agreement: Agreement::Given,
        tolerated: vec![Tolerated::Missing, Tolerated::Absent],
        command: "a test".to_owned(),
        ..Request::default()
    }
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

/// A group that is committed twice in one change is looked at for the second time where the first
/// commit is not found, and so is one of which nobody knows how far its commit came; of another one
/// what was committed is believed.
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

/// Where looking again at what a change has written does not find what it committed, all disks are
/// looked at.
#[test]
fn a_commit_that_is_not_found_is_looked_for() {
    let folder = Folder::golden_whole();
    let (all, host) = (disks(&[folder.path("")]), Host::without_config());
    let group = LiveGroup::take(&host, &all, "vg0").expect("is free");
    let found = all.scan(&host).expect("is read");
    let before = found.find_group("vg0").expect("is there");
    let mut vg = (*before.model).clone();
    vg.seqno += 1;
    vg.lock_type = Some("none".to_owned());
    let mut hooks = group.hooks().expect("its turn");
    hooks.permit(&found, &Change::default()).expect("may be");
    let looked = LOOKS.get();
    hooks.suspend(&vg).expect("nobody uses it");
    hooks.publish(Reach::All);
    hooks.finish().expect("all is held");
    assert_eq!(LOOKS.get() - looked, 1);
    let facts = group.owner().facts.clone();
    assert_eq!(facts.group().expect("is there").seqno, before.seqno);
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
    assert_eq!(given.0, 1, "what is written says it");
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

/// What is looked at again: `b.img` before tables are made, and the members afterwards; all
/// members; and those without `b.img`.
const WITH_NEW: &str = "b a0 a1 a2 a3 a4 b";
const ALL: &str = "a0 a1 a2 a3 a4 b";
const WITHOUT: &str = "a0 a1 a2 a3 a4";

/// A disk that comes into the group and leaves it, `b.img`, beside one with which nothing happens.
struct Members {
    folder: Folder,
    disks: HostDisks,
    group: LiveGroup,
}

impl Members {
    fn new() -> Self {
        let folder = Folder::golden_whole();
        folder.disk("b.img", &[]);
        folder.disk("other.img", &[]);
        let disks = disks(&[folder.path("")]);
        let group = LiveGroup::take(&Host::without_config(), &disks, "vg0").expect("is free");
        Self {
            folder,
            disks,
            group,
        }
    }

    fn name(&self) -> String {
        self.folder.path("b.img").to_string_lossy().into_owned()
    }

    /// What is found on the disks.
    fn scan(&self) -> Scan {
        let mut scan = self.disks.scan(&Host::without_config()).expect("is read");
        scan.forget_looks();
        scan
    }

    fn holds(&self) -> bool {
        let scan = self.scan();
        let pv = find_pv(&scan, &self.name()).expect("is one");
        self.group.owned().holds_pv(scan.pv(pv).uuid)
    }

    /// Changes disks of the group: how often all were looked at, and which were looked at again, by
    /// the ends of their names. What is known then is what is on the disks.
    fn change(
        &self,
        plan: impl FnMut(&Scan, &mut Author<'_>) -> Result<Planned>,
    ) -> (usize, String) {
        self.change_as(&request(&self.group), plan)
    }

    fn change_as(
        &self,
        request: &Request,
        plan: impl FnMut(&Scan, &mut Author<'_>) -> Result<Planned>,
    ) -> (usize, String) {
        READ_AGAIN.take();
        let (looks, made) = change_as(&self.group, &self.disks, request, plan);
        made.expect("is changed");
        let known = self.group.owner().facts.scan.clone();
        assert_eq!(format!("{known:#?}"), format!("{:#?}", self.scan()));
        let read = READ_AGAIN.take().into_iter();
        let short = read.map(|name| {
            let name = name.rsplit('/').next().unwrap_or_default();
            name.trim_end_matches(".img").to_owned()
        });
        (looks, short.collect::<Vec<_>>().join(" "))
    }

    /// A disk that becomes a physical volume comes in.
    fn extend_by_new(&self, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        let device = find_device(scan, &self.name())?;
        let layout = NewPv::new(author.uuid()).lay_out(&plan_device(scan, device))?;
        let members = [new_member(scan, device, &layout)];
        let (group, new) = (
            scan.find_group("vg0")?,
            NewLabel {
                device,
                layout,
                others: Signatures::Wiped,
            },
        );
        let areas = area_states(scan, group);
        Ok(Planned {
            new: vec![new],
            ..extend_group(&group.model, &members, &areas, author)?.into()
        })
    }

    /// A physical volume comes in.
    fn extend(&self, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        let members = [free_member(scan, find_pv(scan, &self.name())?)?];
        let group = scan.find_group("vg0")?;
        let areas = area_states(scan, group);
        Ok(extend_group(&group.model, &members, &areas, author)?.into())
    }

    fn reduce(&self, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        let uuid = scan.pv(find_pv(scan, &self.name())?).uuid;
        let group = scan.find_group("vg0")?;
        let pvs = [group.model.pv_by_uuid(&uuid).expect("is a member")];
        let areas = area_states(scan, group);
        Ok(reduce_group(&group.model, &pvs, &areas, author)?.into())
    }

    /// The physical volume follows its disk.
    fn resize(&self, scan: &Scan, author: &mut Author<'_>) -> Result<Planned> {
        let found = scan.pv(find_pv(scan, &self.name())?);
        let size = PvSize {
            device: scan.device(found.device).size.whole_sectors(),
            asked: None,
            least: Sectors::ZERO,
        };
        let model = &scan.find_group("vg0")?.model;
        let pv = model.pv_by_uuid(&found.uuid).expect("is a member");
        Ok(resize_pv(model, pv, &found.header, size, author)?.into())
    }

    fn grow(&self, size: u64) {
        let file = std::fs::File::options().write(true).open(self.name());
        file.expect("opens").set_len(size).expect("grows");
    }

    /// Writes the header of another physical volume to the disk.
    fn overwrite(&self, uuid: Uuid) {
        let scan = self.folder.scan();
        let device = find_device(&scan, &self.name()).expect("is there");
        let layout = NewPv::new(uuid).lay_out(&plan_device(&scan, device));
        for (at, bytes) in layout.and_then(|layout| layout.writes()).expect("fits") {
            self.folder.write("b.img", at.0, &bytes);
        }
    }
}

/// A change of the disks of a group in use looks at all disks once. Before tables are made the disk
/// is looked at again that comes in, afterwards all that were written, and no other one.
#[test]
fn a_change_of_members_looks_once() {
    let members = Members::new();
    let looked = members.change(|scan, author| members.extend_by_new(scan, author));
    assert_eq!(looked, (1, WITH_NEW.to_owned()), "vgextend");
    assert!(members.holds());
    members.grow(128 << 20);
    let looked = members.change(|scan, author| members.resize(scan, author));
    assert_eq!(looked, (1, ALL.to_owned()), "pvresize");
    let looked = members.change(|scan, author| members.reduce(scan, author));
    assert_eq!(looked, (1, ALL.to_owned()), "vgreduce");
    assert!(!members.holds());
    let looked = members.change(|scan, author| members.extend(scan, author));
    assert_eq!(looked, (1, WITH_NEW.to_owned()), "vgextend");
    assert!(members.holds());
}

/// A group that is merged into the one in use is known from the same look. Whether the name of one
/// that is split off is free is seen by that look, too, if stock's lock of it was had before; else
/// it is looked for once more, under the locks of the disks.
#[test]
fn a_split_and_a_merge_look_once() {
    let members = Members::new();
    members.change(|scan, author| members.extend_by_new(scan, author));
    let split = Request {
        new_group: Some("vg1".to_owned()),
        ..request(&members.group)
    };
    let looked = members.change_as(&split, |scan, author| {
        let uuid = scan.pv(find_pv(scan, &members.name())?).uuid;
        let group = scan.find_group("vg0")?;
        let (model, areas) = (&group.model, area_states(scan, group));
        let pvs = [model.pv_by_uuid(&uuid).expect("is a member")].into();
        let (into, off) = (SplitInto::named("vg1"), SplitOff::Pvs(&pvs));
        Ok(split_group(model, into, off, &areas, author)?.into())
    });
    assert_eq!(looked, (1, ALL.to_owned()), "vgsplit");
    assert!(!members.holds());
    let merge = Request {
        groups: vec!["vg0".to_owned(), "vg1".to_owned()],
        ..request(&members.group)
    };
    let looked = members.change_as(&merge, |scan, author| {
        let (to, from) = (scan.find_group("vg0")?, scan.find_group("vg1")?);
        Ok(merge_groups(&to.model, &from.model, author)?.into())
    });
    let between = format!("b {ALL} {ALL}");
    assert_eq!(looked, (1, between), "vgmerge, which commits twice");
    assert!(members.holds());
}

/// The same for disks that are known to be missing: they are called so, come back, and are taken
/// out. That one is missing is noticed by looking at all disks, before and afterwards.
#[test]
fn a_change_of_missing_members_looks_once() {
    let members = Members::new();
    members.change(|scan, author| members.extend_by_new(scan, author));
    let elsewhere = Folder::new();
    let (there, away) = (members.name(), elsewhere.path("b.img"));
    std::fs::rename(&there, &away).expect("is taken away");
    let resize = |extents| {
        let mut plan = resized(extents, ResizeTo::Larger);
        members.change(move |scan, author| Ok(plan(&scan.find_group("vg0")?.model, author)?.into()))
    };
    assert_eq!(resize(9), (3, String::new()), "nobody knew");
    let looked = resize(10);
    assert_eq!(looked, (1, WITHOUT.to_owned()), "it is known");
    std::fs::rename(&away, &there).expect("is back");
    let looked = members.change(|scan, author| {
        let uuid = scan.pv(find_pv(scan, &members.name())?).uuid;
        let model = &scan.find_group("vg0")?.model;
        let pv = model.pv_by_uuid(&uuid).expect("is a member");
        Ok(restore_missing(model, &[pv].into(), author)?.into())
    });
    assert_eq!(looked, (1, ALL.to_owned()), "vgextend --restoremissing");
    assert!(members.holds());
    std::fs::rename(&there, &away).expect("is taken away");
    members.group.job().refresh().expect("is partial");
    let looked = members.change(|scan, author| {
        let group = scan.find_group("vg0")?;
        let gone = group
            .members
            .iter()
            .filter(|member| member.presence.usable().is_none());
        let gone = gone.map(|member| member.id).collect();
        let (states, areas) = (ImageStates::default(), area_states(scan, group));
        let keep = PartialVolumes::Keep;
        Ok(remove_missing(&group.model, &gone, keep, &states, &areas, author)?.into())
    });
    assert_eq!(looked, (1, WITHOUT.to_owned()), "vgreduce --removemissing");
}

/// A disk that becomes another physical volume behind our back is noticed: before a change by its
/// look, between that and the locks by what is read under them, and as a member, too.
#[test]
fn what_changes_behind_our_back_is_noticed() {
    let members = Members::new();
    members.change(|scan, author| members.extend_by_new(scan, author));
    members.change(|scan, author| members.reduce(scan, author));
    let [first, second, third] = [1, 2, 3].map(|byte| Uuid::from_random(&[byte; 32]));
    members.overwrite(first);
    let mut plans = Vec::new();
    let (looks, _) = members.change(|scan, author| {
        plans.push(scan.pv(find_pv(scan, &members.name())?).uuid);
        let planned = members.extend(scan, author);
        if plans.len() == 1 {
            members.overwrite(second);
        }
        planned
    });
    assert_eq!((looks, &plans[..]), (2, &[first, second][..]));
    assert!(members.group.owned().holds_pv(second));
    members.overwrite(third);
    let mut plan = resized(9, ResizeTo::Larger);
    let (looks, _) =
        members.change(|scan, author| Ok(plan(&scan.find_group("vg0")?.model, author)?.into()));
    assert_eq!(looks, 3);
    assert!(!members.group.owned().holds_pv(second), "it is missing");
}
