//! What a program sees that links this, on the golden disks.

use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use block::{BlockingDevice, Device};
use lvm2::plan::logical::{NewVolume, create_volume};
use lvm2::plan::size::SizeArgument;
use lvm2::plan::{Change, GroupChange};
use nbd::client::NbdDevice;
use nbd::server::Listener;

use super::open;
use crate::Kind;
use crate::tests::fixture::Folder;

fn at(folder: &Folder) -> [String; 1] {
    [folder.path("").display().to_string()]
}

/// Groups and volumes are listed as people see them, read as files, and nothing is locked by it.
#[test]
fn volumes_are_read_as_files() {
    let folder = Folder::golden_whole();
    let storage = open(at(&folder)).expect("opens");
    let groups = storage.groups();
    let names: Vec<&str> = groups.iter().map(super::Group::name).collect();
    assert!(names.contains(&"vg0"), "{names:?}");
    let group = storage.group("vg0").expect("is there");
    let volumes = group.volumes();
    assert!(volumes.contains(&"linear1".to_owned()), "{volumes:?}");
    assert!(!volumes.iter().any(|name| name.contains("mimage")));

    let mut volume = group.volume("linear1").expect("opens");
    let mut other = group.volume("linear1").expect("is shared");
    let mut whole = Vec::new();
    volume.read_to_end(&mut whole).expect("reads");
    assert_eq!(whole.len() as u64, volume.size());
    let mut piece = [0; 1000];
    other.read_at(&mut piece, 12_345).expect("reads");
    assert_eq!(piece[..], whole[12_345..13_345]);
    other.seek(SeekFrom::End(-7)).expect("is in it");
    let mut end = Vec::new();
    other.read_to_end(&mut end).expect("reads");
    assert_eq!(end, whole[whole.len() - 7..]);
    other.seek(SeekFrom::End(10)).expect("may be behind it");
    assert_eq!(other.read(&mut piece).expect("nothing is there"), 0);
    let error = other
        .seek(SeekFrom::Current(-i64::MAX))
        .expect_err("before it");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let error = other
        .read_at(&mut piece, volume.size() - 1)
        .expect_err("past it");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(other.write_at(&[1], 0).is_err(), "was opened for reading");
}

/// Who writes has the group alone, and what was written is there for the next.
#[test]
fn volumes_are_written() {
    let folder = Folder::golden_whole();
    let group = open(at(&folder))
        .expect("opens")
        .group("vg0")
        .expect("is there");
    let owned = group.writable().expect("is free");
    let error = group.writable().expect_err("is taken");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    let mut volume = owned.volume("linear1").expect("opens");
    volume.seek(SeekFrom::Start(5000)).expect("is in it");
    volume.write_all(b"written").expect("takes it");
    volume.flush().expect("is durable");
    let at_end = volume.seek(SeekFrom::End(0)).expect("is there");
    assert_eq!(at_end, volume.size());
    assert_eq!(volume.write(b"no more").expect("nothing fits"), 0);
    volume.close().expect("ends well");
    drop(owned);

    let mut volume = group.volume("linear1").expect("opens");
    let mut read = [0; 7];
    volume.read_at(&mut read, 5000).expect("reads");
    assert_eq!(&read, b"written");
}

/// A volume that is served is what it is without: clients read it, write it where it was opened so,
/// and what they wrote is there for the next.
#[test]
fn volumes_are_served() {
    let folder = Folder::golden_whole();
    let group = open(at(&folder))
        .expect("opens")
        .group("vg0")
        .expect("is there");
    let socket = folder.path("socket");
    let serve = |volume: super::Volume| {
        let listener = Listener::unix(&socket).expect("listens");
        let serving = volume.serve(listener).expect("serves");
        let client = NbdDevice::open(serving.uri()).expect("connects");
        (serving, client)
    };
    let limit = Duration::from_mins(1);

    let mut whole = Vec::new();
    let mut volume = group.volume("linear1").expect("opens");
    volume.read_to_end(&mut whole).expect("reads");
    let (serving, client) = serve(volume);
    assert_eq!(client.info().size, whole.len() as u64);
    assert!(client.info().read_only, "it was opened for reading");
    let mut read = vec![0; whole.len()];
    let mut blocking = BlockingDevice::open(&client).expect("opens");
    blocking.read_at(&mut read, 0).expect("reads");
    assert!(read == whole, "clients read the volume");
    assert_eq!(serving.client_count(), 1);
    drop((blocking, client));
    serving.stop(limit).expect("ends well");

    let owned = group.writable().expect("is free");
    let (serving, client) = serve(owned.volume("linear1").expect("opens"));
    let mut blocking = BlockingDevice::open(&client).expect("opens");
    blocking.write_at(b"from a client", 8192).expect("writes");
    drop((blocking, client));
    serving.stop(limit).expect("ends well, and flushes");
    drop(owned);
    let mut volume = group.volume("linear1").expect("opens");
    let mut read = [0; 13];
    volume.read_at(&mut read, 8192).expect("reads");
    assert_eq!(&read, b"from a client");
}

/// A change is committed, and what is opened afterwards knows it; one that makes no sense, and one
/// of a group that is served, change nothing.
#[test]
fn groups_are_changed() {
    let folder = Folder::golden_whole();
    let mut storage = open(at(&folder)).expect("opens");
    let new = |name: &'static str, size| NewVolume {
        name: Some(name),
        ..NewVolume::linear(SizeArgument::extents(size))
    };
    storage
        .change("a test", "vg0", |vg, who| {
            create_volume(vg, &new("made", 2), who)
        })
        .expect("there is room");
    let group = storage.group("vg0").expect("is there");
    let volume = group.volume("made").expect("was made");
    let extent = group.model().extent_size.to_bytes().expect("fits");
    assert_eq!(volume.size(), 2 * extent.0);
    let said = group.model().header.description.as_deref();
    assert_eq!(said, Some("Created *after* executing 'a test'"));

    let error = storage
        .change("a test", "vg0", |vg, who| {
            create_volume(vg, &new("made", 1), who)
        })
        .expect_err("it exists");
    assert_eq!(error.kind(), Kind::Refused, "{error}");
    let error = storage
        .change("a test", "vg0", |vg, _| {
            Ok(Change {
                groups: vec![GroupChange::Erase(vg.clone())],
                ..Change::default()
            })
        })
        .expect_err("the group is not changed here");
    assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    let _owned = group.writable().expect("is free");
    let error = storage
        .change("a test", "vg0", |vg, who| {
            create_volume(vg, &new("more", 1), who)
        })
        .expect_err("is served");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
}

/// What is not there is named.
#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::golden_whole();
    let error = open(["/nonexistent/a.img"]).expect_err("no such disk");
    assert!(error.to_string().contains("/nonexistent/a.img"), "{error}");
    let storage = open(at(&folder)).expect("opens");
    let error = storage.group("vg7").expect_err("no such group");
    assert_eq!(error.kind(), Kind::NotFound);
    let group = storage.group("vg0").expect("is there");
    let error = group.volume("nothing").expect_err("no such volume");
    assert_eq!(error.kind(), Kind::NotFound);
}
