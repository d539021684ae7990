//! Lines as libFuzzer prints them.

use super::Progress;

fn after(lines: &[&str]) -> Progress {
    let mut progress = Progress::default();
    for line in lines {
        progress.read(line);
    }
    progress
}

#[test]
fn numbers_are_read() {
    let progress = after(&[
        "#4\tINITED cov: 164 ft: 291 corp: 3/379b exec/s: 0 rss: 27Mb",
        "#65536\tpulse  cov: 420 ft: 1800 corp: 312/41Kb lim: 652 exec/s: 32768 rss: 30Mb",
        "stat::number_of_executed_units: 70000",
    ]);
    assert_eq!((progress.executions, progress.coverage), (70000, 420));
    assert_eq!(progress.corpus_bytes, 41 << 10);
    assert_eq!(progress.growth_mib(), Some(3));
    assert_eq!(progress.artifact, None);
}

#[test]
fn growth_leaves_the_corpus_out() {
    let progress = after(&[
        "#4 INITED cov: 1 corp: 3/379b rss: 27Mb",
        "#9 NEW cov: 2 corp: 4/10Mb rss: 60Mb",
        "stat::peak_rss_mb: 120",
    ]);
    assert_eq!(progress.growth_mib(), Some(83));
    assert_eq!(after(&["stat::peak_rss_mb: 120"]).growth_mib(), None);
}

#[test]
fn a_finding_names_its_input() {
    let progress = after(&["artifact_prefix='a/'; Test unit written to a/crash-01"]);
    assert_eq!(progress.artifact.as_deref(), Some("a/crash-01"));
}
