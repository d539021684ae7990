//! Lines for pools, caches and VDO that stock would not make either.

use super::{group, require_chunks, require_options, require_pool, require_pool_options};
use crate::args::{Arguments, Error};
use crate::commands::arguments_of;

fn line(words: &str) -> Arguments {
    let words: Vec<&str> = words.split(' ').collect();
    arguments_of("lvcreate", &words)
}

fn said<T>(check: fn(&Arguments) -> Result<T, Error>, words: &str) -> Option<String> {
    check(&line(words)).err().map(|error| error.to_string())
}

#[test]
fn options_are_refused_by_the_type_that_lacks_them() {
    // Proves: the type comes from --type, or from the option that stands for one.
    let refused = |words: &str, what: &str| {
        let expected = format!("Option --{what}.");
        assert_eq!(said(require_options, words), Some(expected), "{words}");
    };
    refused(
        "--type thin-pool --nosync -L1 vg",
        "nosync is unsupported with thin pools",
    );
    refused(
        "--type cache-pool --zero y -L1 vg",
        "zero is unsupported with cache pools",
    );
    refused("--vdo --nosync -L8g vg", "nosync is unsupported with VDOs");
    refused(
        "--cachepool p --nosync -L8m vg",
        "nosync is unsupported with cache",
    );
    refused(
        "--thinpool p -V1g --nosync vg",
        "nosync is unsupported with thins",
    );
    let of_mirrors = Some("--nosync is supported only with mirrors or raids.".to_owned());
    let without_pool = "--type cache --cachevol c --nosync -L8m vg";
    assert_eq!(said(require_options, without_pool), of_mirrors);
    assert_eq!(said(require_options, "--type thin-pool -L1 vg"), None);
    assert_eq!(said(require_options, "--type raid1 --nosync -L1 vg"), None);
}

#[test]
fn chunks_fit_into_their_pool() {
    // Proves: all that is wrong with a chunk is said, and one that fits is taken.
    let thin = |chunk: &str| said(require_chunks, &format!("--thinpool p -L1g -c{chunk} vg"));
    assert_eq!(thin("64k"), None);
    assert_eq!(thin("1g"), None);
    let both = thin("65k").expect("no multiple");
    assert_eq!(
        both,
        "Thin pool chunk size 65.00 KiB must be a multiple of 64.00 KiB."
    );
    let small = thin("16k").expect("too small");
    assert_eq!(small.lines().count(), 2, "{small}");
    let large = thin("2g").expect("too large");
    assert!(
        large.contains("is not in the range 64.00 KiB to 1.00 GiB."),
        "{large}"
    );
    let cache = "--type cache-pool -L1g -c32k vg";
    assert_eq!(said(require_chunks, cache), None);
    // A cache without a pool has no chunks of one.
    assert_eq!(
        said(require_chunks, "--type cache --cachevol c -c1k -L1g vg"),
        None
    );
    let what = "--chunksize is supported only with pools and snapshots.";
    let volume = said(
        require_pool_options,
        "--type cache --cachevol c -c1k -L1g vg",
    );
    assert_eq!(volume.as_deref(), Some(what));
}

#[test]
fn the_group_is_one_and_the_pool_has_a_name() {
    // Proves: names in options and operands agree on the group, and a pool is named once.
    let found = |words: &str| group(&line(words)).ok().flatten();
    assert_eq!(found("--thinpool vg/p -V1g"), Some("vg".to_owned()));
    assert_eq!(found("--thinpool p -V1g vg"), Some("vg".to_owned()));
    assert_eq!(found("-n vg/t --thinpool p -V1g"), Some("vg".to_owned()));
    let wrong = |words: &str, start: &str| {
        let text = said(group, words).expect("is refused");
        assert!(text.starts_with(start), "{words}: {text}");
    };
    wrong(
        "--thinpool vg/p -V1g two",
        "Inconsistent volume group names given",
    );
    wrong(
        "-n two/t --thinpool vg/p -V1g",
        "Please use a single volume group name",
    );
    wrong(
        "--thinpool p -L1g vg/q",
        "Ambiguous thin-pool name specified, q and p.",
    );
    let unnamed = said(require_pool, "--type thin -V1g vg");
    assert_eq!(
        unnamed.as_deref(),
        Some("Please specify name of existing pool.")
    );
    assert_eq!(said(require_pool, "--thinpool p -V1g vg"), None);
}
