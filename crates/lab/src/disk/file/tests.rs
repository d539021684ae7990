//! Profiles there and back, and texts that are refused.

use super::{read, write};
use crate::disk::catalog;
use crate::disk::profile::{ExtraDisconnect, Profile};
use crate::disk::seek::SeekCurve;

fn there_and_back(profile: &Profile) {
    let text = write(profile);
    let again = read("profile.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&again, profile);
    assert_eq!(write(&again), text);
}

#[test]
fn every_drive_of_the_catalog_comes_back() {
    for profile in catalog::all() {
        there_and_back(&profile);
    }
}

#[test]
fn what_no_drive_of_the_catalog_has_comes_back_too() {
    let mut profile = catalog::find("wd800bd-like").unwrap();
    profile.name = "a \"quoted\" \\ name\n\u{7f}".into();
    profile.overheads.extra_disconnect = Some(ExtraDisconnect {
        command_ns: 1,
        least_blocks: 3,
        ..ExtraDisconnect::default()
    });
    profile.queue.age_limit_ns = Some(100_000_000);
    profile.mechanics.write_settle_ns = -5;
    profile.mechanics.write_switch_ns = -3;
    profile.mechanics.seek = SeekCurve::Listed {
        first_ns: vec![900_000, 950_000],
        beyond: Box::new(SeekCurve::Table(vec![(3, 1_000_000), (50_000, 9_000_000)])),
    };
    there_and_back(&profile);
}

/// What is wrong is named with its line and its field.
#[test]
fn what_is_wrong_is_named() {
    let sound = write(&catalog::find("wd800bd-like").unwrap());
    let refused = |from: &str, to: &str, wanted: &str| {
        assert!(sound.contains(from), "{from} is in\n{sound}");
        let error = read("p.toml", &sound.replacen(from, to, 1)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(wanted), "{error} names {wanted}");
    };
    refused(
        "rpm = 7200",
        "rpm = 7200\nrmp = 3",
        "mechanics.rmp: there is no such field",
    );
    refused("rpm = 7200", "rpm = -1", "mechanics.rpm: a whole number");
    refused(
        "rpm = 7200",
        "rpm = 5000000000",
        "mechanics.rpm: 5000000000 is too large",
    );
    refused("rpm = 7200", "rpm = 0", "p.toml: ");
    refused(
        "kind = \"",
        "kind = \"x",
        "mechanics.seek.kind: one of constant, eq7",
    );
    refused("heads = ", "heads = 0 # ", "p.toml: ");
    let error = read("p.toml", "name = \"empty\"").unwrap_err();
    assert!(error.to_string().starts_with("p.toml: "), "{error}");
}
