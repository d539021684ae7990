//! How lists of devices are cut and what they may hold.

use super::{DeviceSource, DeviceSpec, split};
use crate::Kind;

fn listed(paths: &[&str]) -> DeviceSource {
    DeviceSource::Listed(
        paths
            .iter()
            .map(|path| DeviceSpec { path: path.into() })
            .collect(),
    )
}

#[test]
fn options_are_stronger_than_the_variable() {
    let choose = |options: &[&str], variable| DeviceSource::choose(options, variable).expect("ok");
    assert_eq!(choose(&[], None), DeviceSource::Host(Vec::new()));
    assert_eq!(choose(&[], Some("")), DeviceSource::Host(Vec::new()));
    assert_eq!(choose(&[], Some("a:b")), listed(&["a", "b"]));
    assert_eq!(choose(&["x,y", "z"], Some("a")), listed(&["x", "y", "z"]));
    // Who names nothing means no device, and not all of them.
    assert_eq!(choose(&[""], Some("a")), listed(&[]));
}

#[test]
fn marks_can_be_part_of_a_path() {
    assert_eq!(split(r"a\:b:c", ':'), ["a:b", "c"]);
    assert_eq!(split(r"a\\:c", ':'), [r"a\", "c"]);
    assert_eq!(split(r"a\b", ':'), [r"a\b"]);
    assert_eq!(split("::a::", ':'), ["a"]);
    let dir = std::env::temp_dir().join(format!("ashlar,spec-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("makes a folder");
    let path = dir.to_str().expect("is UTF-8");
    let source = DeviceSource::choose(&[path], None).expect("ok");
    assert_eq!(
        source,
        listed(&[path]),
        "an existing path with a comma is one device"
    );
    std::fs::remove_dir(&dir).expect("removes");
}

#[test]
fn addresses_keep_their_colons() {
    let variable = r"a:nbd://host:10809/x:nbd://[::1]/y:b\:c:nbd://h:nbd+unix:///z?socket=/s:d";
    let source = DeviceSource::choose(&[""; 0], Some(variable)).expect("ok");
    let expected = [
        "a",
        "nbd://host:10809/x",
        "nbd://[::1]/y",
        "b:c",
        "nbd://h",
        "nbd+unix:///z?socket=/s",
        "d",
    ];
    assert_eq!(source, listed(&expected));
    let DeviceSource::Listed(specs) = source else {
        unreachable!("it was just compared")
    };
    assert_eq!(specs.iter().filter_map(DeviceSpec::address).count(), 4);
    let error = DeviceSpec::parse("nbd://host:port/x").expect_err("no port");
    assert_eq!(error.kind(), Kind::Request);
    assert_eq!(
        split("nbd://h:1/ä:nbd://h:2", ':'),
        ["nbd://h:1/ä", "nbd://h:2"]
    );
}

#[test]
fn other_addresses_are_refused_with_a_way_out() {
    let error = DeviceSpec::parse("rbd:pool/x").expect_err("not served");
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("nbdcopy"), "{error}");
}
