//! Some disks are looked at again, and all of them are beside it.

use std::fs::{File, read, rename};

use super::{READ_AGAIN, scan_again};
use crate::host::{Host, Place};
use crate::scan::{Options, Scan, scan};
use crate::tests::fixture::Folder;

/// All that people see of a scan.
fn seen(scan: &Scan) -> String {
    let (devices, pvs) = (&scan.devices, &scan.physical_volumes);
    format!("{devices:#?}{pvs:#?}{:#?}{:#?}", scan.groups, scan.findings)
}

/// What is found when these disks of `folder` are looked at again, and which ones were read.
fn again(folder: &Folder, before: &Scan, changed: &[&str]) -> (Option<Scan>, Vec<String>) {
    let places = changed.iter().map(|name| Place::File(folder.path(name)));
    let places: Vec<Place> = places.collect();
    let places: Vec<&Place> = places.iter().collect();
    READ_AGAIN.take();
    let (host, options) = (Host::without_config(), Options::default());
    let found = scan_again(&host, &folder.source(), &options, before, &places);
    let all = folder.path("").to_string_lossy().into_owned();
    let read = READ_AGAIN.take().into_iter();
    let read = read.map(|name| name.trim_start_matches(&all).to_owned());
    (found.expect("is read"), read.collect())
}

fn later(text: &str) -> String {
    let (line, rest) = text.split_once("seqno = ").expect("has a version");
    let (seqno, rest) = rest.split_once('\n').expect("is a line");
    let seqno: u32 = seqno.parse().expect("is a number");
    format!("{line}seqno = {}\n{rest}", seqno + 1)
}

const ALL: [&str; 5] = ["a0.img", "a1.img", "a2.img", "a3.img", "a4.img"];

type Change = fn(&Folder);

/// Whatever became of some disks: to look again at these finds what a look at all disks does, and
/// reads none of the others.
#[test]
fn it_finds_what_a_look_at_all_disks_finds() {
    let cases: [(&str, &[&str], &[&str], Change); 9] = [
        ("nothing was changed", &[], &[], |_| {}),
        (
            "the same text is read again",
            &["a1.img"],
            &["a1.img"],
            |_| {},
        ),
        ("a commit", &ALL, &ALL, |folder| {
            for name in ALL {
                folder.rewrite(name, |text| later(&text));
            }
        }),
        ("a label goes", &["a3.img"], &["a3.img"], |folder| {
            folder.write("a3.img", 512, &[0; 512]);
        }),
        ("a disk is gone", &[], &[], |folder| folder.remove("a2.img")),
        ("a disk comes", &[], &["b.img"], |folder| {
            folder.disk("b.img", &[]);
        }),
        ("another name", &[], &["z.img"], |folder| {
            rename(folder.path("a0.img"), folder.path("z.img")).expect("is moved");
        }),
        ("a copy comes", &[], &["b.img"], |folder| {
            let head = read(folder.path("a4.img")).expect("is read");
            folder.disk("b.img", &head[..1 << 20]);
        }),
        (
            "a disk becomes smaller",
            &["a4.img"],
            &["a4.img"],
            |folder| {
                let file = File::options().write(true).open(folder.path("a4.img"));
                file.expect("opens").set_len(40 << 20).expect("is cut off");
            },
        ),
    ];
    for (what, changed, expected, change) in cases {
        let folder = Folder::golden();
        folder.disk("other.img", &[]);
        let before = folder.scan();
        change(&folder);
        let (found, read) = again(&folder, &before, changed);
        let found = found.unwrap_or_else(|| panic!("{what}: fits"));
        found.check();
        assert_eq!(seen(&found), seen(&folder.scan()), "{what}");
        assert_eq!(read, expected, "{what}");
        // And again, from what was kept and what was read.
        let (found, read) = again(&folder, &found, &[]);
        assert_eq!(seen(&found.expect("fits")), seen(&folder.scan()), "{what}");
        assert_eq!(read, [""; 0], "{what}");
    }
}

/// What does not fit is no result: some disks have a version that those that were not looked at
/// have not, as while somebody commits. What did not fit before either is no news.
#[test]
fn what_may_be_a_commit_is_no_result() {
    let folder = Folder::golden();
    let before = folder.scan();
    folder.rewrite("a1.img", |text| later(&text));
    assert!(again(&folder, &before, &["a1.img"]).0.is_none());
    let before = folder.scan();
    let (found, _) = again(&folder, &before, &["a2.img"]);
    assert_eq!(seen(&found.expect("is no news")), seen(&before));
}

/// Of a scan whose looks were forgotten nothing is believed, and neither is what another process
/// calls otherwise.
#[test]
fn what_is_not_known_is_read() {
    let folder = Folder::golden();
    let mut forgotten = folder.scan();
    forgotten.forget_looks();
    assert_eq!(again(&folder, &forgotten, &[]).1, ALL);
    let link = Folder::new();
    let path = link.path("link");
    std::os::unix::fs::symlink(folder.path(""), &path).expect("a link");
    let source = crate::host::DeviceSource::Listed(vec![crate::host::DeviceSpec { path }]);
    let (host, options) = (Host::without_config(), Options::default());
    let linked = scan(&host, &source, &options).expect("is read");
    assert_eq!(linked.groups.len(), folder.scan().groups.len());
    assert_eq!(again(&folder, &linked, &[]).1, ALL);
}
