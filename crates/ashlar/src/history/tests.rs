//! The golden disks remember how they were made.

use lvm2::ondisk::Standing;

use super::history;
use crate::tests::fixture::Folder;

/// Versions come newest first, each once, with where they are.
#[test]
fn the_golden_disks_remember_their_past() {
    let folder = Folder::golden();
    let scan = folder.scan();
    let group = &scan.groups[0];
    let history = history(&scan, group);
    assert_eq!(history.findings, []);
    let newest = &history.versions[0];
    assert_eq!(newest.seqno, u64::from(group.seqno));
    assert_eq!(newest.standing, Standing::Committed);
    assert_eq!(newest.places.len(), 5, "it is on every disk");
    assert_eq!(newest.text, group.text);
    let seqnos: Vec<_> = history
        .versions
        .iter()
        .map(|version| version.seqno)
        .collect();
    assert!(seqnos.is_sorted_by(|a, b| a > b), "{seqnos:?}");
    assert!(seqnos.len() > 30, "{seqnos:?}");
    let oldest = history.versions.last().expect("there is one");
    assert_eq!(oldest.standing, Standing::Old);
    assert!(
        oldest
            .description
            .as_ref()
            .expect("has one")
            .contains("vgcreate")
    );
    assert!(history.versions.iter().all(|version| version.group.is_ok()));
    assert!(
        history
            .versions
            .windows(2)
            .all(|pair| pair[0].time >= pair[1].time)
    );
}

/// A damaged version is listed and says that it is.
#[test]
fn a_damaged_version_is_marked() {
    let folder = Folder::golden();
    let (_, header) = folder.text("a0.img");
    let at = header.start.0 + header.committed.expect("has a text").offset.0 + 200;
    folder.write("a0.img", at, b"}}}");
    let scan = folder.scan();
    let history = history(&scan, &scan.groups[0]);
    let newest: Vec<_> = history
        .versions
        .iter()
        .filter(|v| v.seqno == history.versions[0].seqno)
        .collect();
    assert_eq!(newest.len(), 2, "the good one and the damaged one");
    assert_eq!(newest[0].standing, Standing::Committed);
    assert_eq!(newest[0].places.len(), 4);
    assert!(newest[1].group.is_err());
}
