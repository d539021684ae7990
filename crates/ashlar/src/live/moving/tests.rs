//! A group of the golden disks in which a volume is being moved.

use lvm2::Extents;
use lvm2::plan::physical::{MoveMode, MoveRequest, begin_move};
use lvm2::plan::places::Places;

use crate::activate::MissingPolicy;
use crate::apply::{
    Disks, Environment, HostDisks, Ownership, Quiet, Request, Session, read_volume,
};
use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::live::LiveGroup;
use crate::scan;
use crate::tests::fixture::Folder;

/// Whoever owns a group looks into a volume of it that is on a move, as commands do that would cut
/// a file system; nobody else does, since the owner may change where it is.
#[test]
fn the_owner_looks_into_what_moves() {
    let (folder, host) = (Folder::golden_whole(), Host::without_config());
    let path = folder.path("");
    let disks = HostDisks {
        source: DeviceSource::Listed(vec![DeviceSpec { path }]),
        options: scan::Options::default(),
    };
    let request = Request {
        groups: vec!["vg0".to_owned()],
        command: "pvmove".to_owned(),
        ..Request::default()
    };
    let mut prompt = Quiet::yes();
    let mut session = Session::new(&host, &disks, &mut prompt);
    session.environment = Environment::Nothing;
    let begun = session.change(&request, &mut |scan, author| {
        let vg = &scan.find_group("vg0")?.model;
        let lv = vg.lv_by_name("linear1").expect("it is there");
        let [lvm2::model::Area::Pv { pv, .. }] = vg.lv(lv).segments[0].areas()[..] else {
            panic!("it is linear");
        };
        let source = Places::parse(vg, &["source"], |_| Some(pv)).expect("is there");
        let asked = MoveRequest {
            source: &source,
            volume: Some("linear1"),
            targets: None,
            policy: None,
            mode: MoveMode::Pieces,
            piece_max: Extents(1),
            region_size: None,
        };
        Ok(begin_move(vg, &asked, author)?.0.into())
    });
    begun.expect("is begun");
    let group = LiveGroup::take(&host, &disks, "vg0").expect("is free");
    let used = group.open("linear1", MissingPolicy::default());
    let used = used.expect("is served");
    let found = disks.scan(&host).expect("is read");
    let vg0 = found.find_group("vg0").expect("is there");
    let lv = vg0.model.lv_by_name("linear1").expect("is there");
    let look = |ownership: &Ownership| read_volume(&found, &host, ownership, (vg0, lv));
    look(&group.ownership()).expect("is ours");
    look(&Ownership::Nobody).expect_err("somebody moves it");
    used.close().expect("flushes");
}
