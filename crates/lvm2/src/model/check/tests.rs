//! Each invariant, broken once in a small text; sound groups without findings; hostile sizes.

use std::fmt::Write;

use super::{Finding, Severity, check, dependency_order};
use crate::model::samples::{self, hidden, hidden_linear, linear, lv};

fn findings(lvs: &[String]) -> Vec<Finding> {
    check(&samples::read(&samples::text(lvs)))
}

/// Asserts that there is a finding with these words, and an error only if it is one.
fn assert_found(lvs: &[String], severity: Severity, words: &str) {
    let found = findings(lvs);
    let is_found = found
        .iter()
        .any(|finding| finding.severity == severity && finding.to_string().contains(words));
    assert!(is_found, "{words:?} is not in {found:#?}");
}

fn assert_error(lvs: &[String], words: &str) {
    assert_found(lvs, Severity::Error, words);
}

fn raid1(fields: &str, images: u64) -> Vec<String> {
    let names: Vec<_> = (0..images)
        .map(|i| format!("\"r_rmeta_{i}\", \"r_rimage_{i}\""))
        .collect();
    let fields = format!(
        "device_count = {images} {fields} raids = [{}]",
        names.join(", ")
    );
    let mut lvs = vec![lv("r", 4, "raid1", &fields)];
    for i in 0..images {
        lvs.push(hidden_linear(&format!("r_rmeta_{i}"), 0, 50 + i, 1));
        lvs.push(hidden_linear(&format!("r_rimage_{i}"), 1, 4 * i, 4));
    }
    lvs
}

fn thin_pool(fields: &str) -> Vec<String> {
    let fields = format!("metadata = \"p_tmeta\" pool = \"p_tdata\" transaction_id = 1 {fields}");
    vec![
        lv("p", 10, "thin-pool", &fields),
        hidden_linear("p_tmeta", 0, 0, 2),
        hidden_linear("p_tdata", 1, 0, 10),
    ]
}

fn thin(name: &str, fields: &str) -> String {
    lv(
        name,
        20,
        "thin",
        &format!("thin_pool = \"p\" transaction_id = 0 {fields}"),
    )
}

fn snapshot(fields: &str) -> Vec<String> {
    vec![
        linear("o", 0, 0, 4),
        hidden_linear("s", 0, 10, 2),
        lv(
            "snapshot0",
            4,
            "snapshot",
            &format!("origin = \"o\" {fields}"),
        ),
    ]
}

fn with(mut lvs: Vec<String>, more: &[String]) -> Vec<String> {
    lvs.extend_from_slice(more);
    lvs
}

#[test]
fn sound_groups_have_no_findings() {
    // Proves: what stock writes is accepted, of every type.
    assert_eq!(check(&samples::golden()), []);
    let found = check(&samples::every_type());
    let expected = |finding: &Finding| {
        finding.severity == Severity::Warning
            && (finding.problem.contains("\"future\"") || finding.object.ends_with("vgx/wcc_cvol"))
    };
    assert!(found.iter().all(expected), "{found:#?}");
    for sound in [
        raid1("region_size = 4096", 2),
        thin_pool("chunk_size = 128"),
        snapshot("cow_store = \"s\" chunk_size = 8"),
    ] {
        assert_eq!(findings(&sound), []);
    }
}

#[test]
fn segments_and_extents() {
    // Proves: gaps, overlaps and areas that go beyond their volume are found.
    assert_error(
        &[linear("a", 0, 95, 6)],
        "its area on /dev/sd0 ends at extent 101, of 100",
    );
    assert_error(
        &[linear("a", 0, 0, 9), linear("b", 0, 8, 1)],
        "extents 8 to 8 on /dev/sd0 belong to a too",
    );
    assert_error(&[linear("a", 0, 0, 0)], "it has no extents");
    let gap = linear("a", 0, 0, 3).replace("start_extent = 0", "start_extent = 1");
    assert_error(&[gap], "it begins at extent 1, not at 0");
    let none = "a { id = \"0000000000000000000000000000000a\" status = [] segment_count = 0 }";
    assert_error(&[none.to_owned()], "it has no segments");
    let stripes = |length, size| {
        let areas = "stripes = [\"pv0\", 0, \"pv1\", 0]";
        lv(
            "a",
            length,
            "striped",
            &format!("stripe_count = 2 stripe_size = {size} {areas}"),
        )
    };
    assert_error(&[stripes(5, 8)], "do not divide by its 2 stripes");
    assert_error(&[stripes(4, 0)], "its stripe size is zero");
    assert_error(&[stripes(4, 8192)], "divide by the stripe size");
    assert_eq!(findings(&[stripes(4, 8)]), []);
}

#[test]
fn stacks_of_volumes() {
    // Proves: volumes on volumes are checked like volumes on disks, and loops are found.
    let on = |name, start, length, under: &str| {
        lv(
            name,
            length,
            "striped",
            &format!("stripe_count = 1 stripes = [\"{under}\", {start}]"),
        )
    };
    assert_error(
        &[linear("a", 0, 0, 4), on("b", 2, 3, "a")],
        "its area on a ends at extent 5, of 4",
    );
    assert_error(
        &[linear("a", 0, 0, 4), on("b", 0, 3, "a"), on("c", 2, 2, "a")],
        "extents 2 to 2 on a belong to b too",
    );
    assert_error(
        &[on("a", 0, 4, "b"), on("b", 0, 4, "a")],
        "it stands on itself",
    );
    assert_error(&[on("a", 0, 4, "a")], "it stands on itself");
    assert_eq!(
        findings(&[linear("a", 0, 0, 4), on("b", 0, 2, "a"), on("c", 2, 2, "a")]),
        []
    );
}

#[test]
fn raid() {
    // Proves: counts, sizes, regions and metadata of RAID are checked.
    assert_error(&raid1("", 2), "its region size is zero");
    assert_error(
        &raid1("region_size = 3000", 2),
        "region size 3000 sectors is no power of two",
    );
    assert_error(
        &raid1("region_size = 4096 stripe_size = 8", 2),
        "has a stripe size",
    );
    assert_error(
        &raid1("region_size = 4096", 11),
        "it has 11 images, and raid1 has 1 to 10",
    );
    let rates = "region_size = 4096 min_recovery_rate = 9 max_recovery_rate = 8";
    assert_error(&raid1(rates, 2), "recovers at 9");
    let mut seen = raid1("region_size = 4096", 2);
    seen.push(hidden_linear("log", 2, 50, 1));
    let fields = "mirror_count = 1 mirror_log = \"log\" region_size = 4096 \
                  mirrors = [\"pv2\", 60]";
    seen.push(lv("m", 4, "mirror", fields));
    assert_eq!(findings(&seen), []);
    let show = |lv: &String| lv.replace("\"WRITE\"]", "\"WRITE\", \"VISIBLE\"]");
    let seen: Vec<_> = seen.iter().map(show).collect();
    assert_found(
        &seen,
        Severity::Warning,
        "it is the log of another volume, and visible",
    );
    let image = seen
        .iter()
        .find(|lv| lv.starts_with("r_rimage_0"))
        .expect("an image");
    assert_error(&seen, "it is an image of a RAID, visible and writable");
    assert_error(&seen, "it is metadata of a RAID, and visible");
    let split = image.replace("\"WRITE\", ", "");
    let split = with(raid1("region_size = 4096", 2), &[split]);
    let split: Vec<_> = split
        .into_iter()
        .filter(|lv| lv != &hidden_linear("r_rimage_0", 1, 0, 4))
        .collect();
    assert_eq!(findings(&split), []);
    let mut short = raid1("region_size = 4096", 2);
    short[2] = hidden_linear("r_rimage_0", 2, 0, 3);
    assert_error(
        &short,
        "its image r_rimage_0 has 3 extents instead of 4 extents",
    );
    let bare = [
        lv(
            "r",
            4,
            "raid1",
            "device_count = 1 region_size = 4096 raids = [\"r_rimage_0\"]",
        ),
        hidden_linear("r_rimage_0", 1, 0, 4),
    ];
    assert_error(&bare, "its images have no metadata");
    let mut twice = raid1("region_size = 4096", 2);
    twice[0] = twice[0].replace("r_rimage_1", "r_rimage_0");
    assert_error(&twice, "it is the image of r and the image of r");
    assert_found(
        &twice,
        Severity::Warning,
        "it is hidden, and belongs to no other volume",
    );
    let tiny = raid1("region_size = 1", 2);
    let tiny: Vec<_> = tiny
        .iter()
        .map(|lv| lv.replace("extent_count = 4", "extent_count = 90000"))
        .collect();
    assert_found(&tiny, Severity::Warning, "does not fit r_rmeta_0");
}

#[test]
fn snapshots() {
    // Proves: origins and stores are checked.
    let bad_chunk = snapshot("cow_store = \"s\" chunk_size = 9");
    assert_error(&bad_chunk, "chunk size 9 sectors is no power of two");
    assert_error(
        &snapshot("cow_store = \"o\" chunk_size = 8"),
        "are the same volume o",
    );
    let visible = snapshot("cow_store = \"s\" chunk_size = 8");
    let visible: Vec<_> = visible
        .iter()
        .map(|lv| lv.replace("\"WRITE\"]", "\"WRITE\", \"VISIBLE\"]"))
        .collect();
    assert_found(
        &visible,
        Severity::Warning,
        "it is the store of another volume, and visible",
    );
    assert_found(
        &[linear("a_tmeta", 0, 0, 1)],
        Severity::Warning,
        "its name has \"_tmeta\"",
    );
    let two = with(
        snapshot("cow_store = \"s\" chunk_size = 8"),
        &[lv(
            "snapshot1",
            4,
            "snapshot",
            "chunk_size = 8 origin = \"o\" cow_store = \"s\"",
        )],
    );
    assert_error(
        &two,
        "it is the store of snapshot0 and the store of snapshot1",
    );
}

#[test]
fn thin_volumes() {
    // Proves: pools, device ids, origins and messages are checked.
    assert_error(
        &thin_pool("chunk_size = 100"),
        "chunk size 100 sectors is no multiple",
    );
    let pool = || thin_pool("chunk_size = 128");
    assert_eq!(findings(&with(pool(), &[thin("t", "device_id = 1")])), []);
    assert_error(
        &with(pool(), &[thin("t", "device_id = 16777216")]),
        "more than 24 bits",
    );
    let twins = [thin("t", "device_id = 7"), thin("u", "device_id = 7")];
    assert_error(
        &with(pool(), &twins),
        "its device id 7 in pool p is that of t too",
    );
    let foreign = [thin("t", "device_id = 1 origin = \"p_tdata\"")];
    assert_error(
        &with(pool(), &foreign),
        "its origin is not a thin volume of its pool",
    );
    let external = [
        linear("e", 2, 0, 4),
        thin("t", "device_id = 1 external_origin = \"e\""),
    ];
    assert_error(
        &with(pool(), &external),
        "its external origin e is writable",
    );
    assert_error(
        &with(
            thin_pool("chunk_size = 128 message1 { create = \"e\" }"),
            &[linear("e", 2, 0, 4)],
        ),
        "it is to create e, which is not its own",
    );
    let full = linear("a", 0, 50, 4).replace("flags = []", "flags = [\"ERROR_WHEN_FULL\"]");
    assert_error(&[full], "ERROR_WHEN_FULL");
}

#[test]
fn caches() {
    // Proves: a cache has a cache pool and sound settings.
    let cache = |pool: &str, settings: &str| {
        let settings = format!("data = \"cp_cdata\" metadata = \"cp_cmeta\" {settings}");
        vec![
            lv(
                "c",
                6,
                "cache",
                &format!("cache_pool = \"{pool}\" origin = \"c_corig\""),
            ),
            hidden_linear("c_corig", 0, 0, 6),
            hidden("cp", 4, "cache-pool", &settings),
            hidden_linear("cp_cdata", 1, 0, 4),
            hidden_linear("cp_cmeta", 1, 4, 2),
        ]
    };
    assert_eq!(
        findings(&cache("cp", "chunk_size = 128 cache_mode = \"writeback\"")),
        []
    );
    assert_error(
        &cache("cp", "chunk_size = 100"),
        "its chunk size 100 sectors is no multiple",
    );
    assert_error(
        &cache("cp", "cache_mode = \"sometimes\""),
        "its cache mode is not known",
    );
    assert_error(
        &cache("cp_cdata", ""),
        "its cache cp_cdata is no cache pool",
    );
}

#[test]
fn identities_and_flags() {
    // Proves: UUIDs are unique, unknown status flags are errors, other unknown flags are not.
    let same = linear("a", 1, 0, 1).replacen("a {", "b {", 1);
    assert_error(&[linear("a", 0, 0, 1), same], "is that of a too");
    let odd = linear("a", 0, 0, 1).replace("\"VISIBLE\"", "\"VISIBLE\", \"SHINY\"");
    assert_error(&[odd], "it has the unknown status flag \"SHINY\"");
    let odd = linear("a", 0, 0, 1).replace("flags = []", "flags = [\"SHINY\"]");
    assert_found(
        &[odd],
        Severity::Warning,
        "it has the unknown flag \"SHINY\"",
    );
    let unknown = lv("a", 3, "future+X", "");
    assert_found(
        &[unknown],
        Severity::Warning,
        "its type \"future+X\" is not known",
    );
}

#[test]
fn deep_stacks_end() {
    // Proves: a stack of many volumes neither overflows the stack nor takes long.
    const DEPTH: usize = 10_000;
    let mut lvs = vec![linear("lv0", 0, 0, 1)];
    for depth in 1..DEPTH {
        let fields = format!("stripe_count = 1 stripes = [\"lv{}\", 0]", depth - 1);
        lvs.push(lv(&format!("lv{depth}"), 1, "striped", &fields));
    }
    lvs.reverse();
    let vg = samples::read(&samples::text(&lvs));
    assert_eq!(check(&vg), []);
    let order = dependency_order(&vg).expect("no loop");
    assert_eq!(vg.lv(order[0]).name(), "lv0");
    assert_eq!(order.len(), DEPTH);
}

#[test]
fn many_snapshots_end() {
    // Proves: one origin with very many snapshots takes no time in their square.
    let mut lvs = vec![linear("o", 0, 0, 4)];
    for index in 0..5_000 {
        lvs.push(hidden(&format!("s{index}"), 1, "zero", ""));
        let fields = format!("chunk_size = 8 origin = \"o\" cow_store = \"s{index}\"");
        lvs.push(lv(&format!("snapshot{index}"), 4, "snapshot", &fields));
    }
    assert_eq!(findings(&lvs), []);
}

#[test]
fn findings_are_bounded() {
    // Proves: a text that is damaged all over gives a list that somebody can read.
    let mut segments = String::new();
    for index in 0..5_000 {
        writeln!(
            segments,
            "segment{} {{ start_extent = 7 extent_count = 0 type = \"striped\" stripe_count = 1 \
             stripes = [\"pv0\", 4000000000] }}",
            index + 1
        )
        .expect("a string takes everything");
    }
    let damaged = format!(
        "a {{ id = \"0000000000000000000000000000000a\" status = []\n\
         segment_count = 5000 {segments} }}"
    );
    assert_eq!(findings(&[damaged]).len(), super::FINDINGS_MAX);
}

#[test]
fn a_move_is_sound_as_stock_leaves_it() {
    // Proves: pieces of a move may be shorter than a region, and the move must not be; what stock
    // leaves between its two last commits can be changed, and anything else without pieces not.
    let pieces = |region: u64| {
        let piece = |number: u64| {
            format!(
                "segment{} {{ start_extent = {number} extent_count = 1 type = \"mirror\" \
                 mirror_count = 2 extents_moved = 0 region_size = {region} mirrors = [\"pv0\", \
                 {number}, \"pv1\", {number}] }}",
                number + 1
            )
        };
        let (locked, id) = (
            "\"READ\", \"WRITE\", \"PVMOVE\", \"LOCKED\"",
            "0".repeat(32),
        );
        let segments = format!("segment_count = 2 {} {}", piece(0), piece(1));
        format!("pvmove0 {{ id = \"{id}\" status = [{locked}] flags = [] {segments} }}")
    };
    let on_it = lv(
        "a",
        2,
        "striped",
        "stripe_count = 1 stripes = [\"pvmove0\", 0]",
    );
    let locked = on_it.replace("\"VISIBLE\"", "\"VISIBLE\", \"LOCKED\"");
    assert_eq!(findings(&[locked.clone(), pieces(4096)]), []);
    assert_error(&[locked.clone(), pieces(8192)], "is more than it has");
    let warning = |lvs: &[String], words| assert_found(lvs, Severity::Warning, words);
    warning(
        &[on_it, pieces(4096)],
        "it moves extents of a, which is not locked",
    );
    let over = hidden("pvmove0", 2, "error", "").replace("\"WRITE\"", "\"WRITE\", \"PVMOVE\"");
    warning(
        core::slice::from_ref(&over),
        "its move has ended; run pvmove --abort",
    );
    assert_error(&[locked, over], "nothing to move");
}
