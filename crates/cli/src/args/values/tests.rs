//! Tests of values: what is said of them is what stock says.

use super::check;
use crate::args::table::Flag;

fn said(command: &str, (long, kind): (&'static str, &'static str), value: &str) -> Option<String> {
    let flag = Flag::value(long, kind, "");
    let error = check(command, &flag, value).err()?;
    Some(error.to_string())
}

/// Sizes have a number, a unit that there is, and a sign that their command takes.
#[test]
fn sizes_are_refused_in_stocks_words() {
    let size = |command: &str, value: &str| said(command, ("size", "Size"), value);
    for value in ["1", "+4m", "0.5g", "4.", ".5", "1E", "512b", "100s"] {
        assert_eq!(size("lvcreate", value), None, "{value}");
    }
    for (value, why) in [
        ("", "Size requires number argument."),
        ("m", "Size requires number argument."),
        (".", "Can't parse size argument at '.'."),
        ("4x", "Can't parse size argument."),
        ("1..5", "Can't parse size argument."),
        (
            "513b",
            "Size is not a multiple of 512. Try using 512 or 1024.",
        ),
        ("99999999999999999p", "Size is too big (>=16EiB)."),
        ("-1", "Size may not be negative."),
    ] {
        let text = format!("{why}\nInvalid argument for --size: {value}");
        assert_eq!(size("lvcreate", value), Some(text));
    }
    assert_eq!(size("lvreduce", "-1"), None);
    assert!(size("lvreduce", "+1").is_some());
    assert_eq!(size("lvresize", "-1"), None);
}

/// Extents are a number, perhaps with a share of something.
#[test]
fn extents_are_refused_in_stocks_words() {
    let extents = |value: &str| said("lvcreate", ("extents", "Number"), value);
    for value in ["1", "+1", "50%FREE", "10%vg", "5%o"] {
        assert_eq!(extents(value), None, "{value}");
    }
    for value in ["", "x", "1k", "%FREE", "1.5"] {
        let text = format!("Invalid argument for --extents: {value}");
        assert_eq!(extents(value), Some(text));
    }
    assert!(extents("5%foo").is_some_and(|text| text.starts_with("Specified %foo is unknown.")));
    assert!(extents("-1").is_some_and(|text| text.starts_with("Extents may not be negative.")));
}

/// A limit of a group has 32 bits.
#[test]
fn limits_that_are_too_large_are_refused() {
    let limit = |value: &str| said("vgchange", ("maxphysicalvolumes", "Number"), value);
    assert_eq!(limit("4294967295"), None);
    let text = "Invalid argument for --maxphysicalvolumes: 4294967296";
    assert_eq!(limit("4294967296").as_deref(), Some(text));
}

/// Regions, types and policies are checked where they stand.
#[test]
fn other_values_are_refused_in_stocks_words() {
    let region = |value: &str| said("lvcreate", ("regionsize", "Size"), value);
    assert_eq!(region("4m"), None);
    assert!(region("-1").is_some_and(|text| text.starts_with("Region size may not be negative.")));
    assert!(region("0").is_some_and(|text| text.starts_with("Region size may not be zero.")));
    assert!(region("1.5").is_some_and(|text| text.contains("must be a power of 2.")));
    let kind = |value: &str| said("lvcreate", ("type", "Type"), value);
    assert_eq!(kind("raid5_ls"), None);
    assert!(kind("raid").is_some_and(|text| text.contains("Unrecognised segment type raid\n")));
    let mirrors = |kind: &'static str, value: &str| said("lvconvert", ("mirrors", kind), value);
    assert_eq!(mirrors("[+|-]Number", "-1"), None);
    assert!(mirrors("[+|-]Number", "1x").is_some());
    assert!(mirrors("Number", "-1").is_some_and(|text| text.contains("may not be negative")));
}
