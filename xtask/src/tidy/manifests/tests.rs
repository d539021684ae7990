//! Each rule is broken on purpose once.

use serde_json::json;

use super::{Finding, Package, Path, Source, Value, check_direction, check_picture, check_unused};

/// Packages as `cargo metadata` would list them: folder, and dependencies with their kind.
fn packages(list: &[(&str, &[(&str, &str)])]) -> Vec<Package> {
    let list = list.iter().map(|(folder, dependencies)| {
        let dependencies = dependencies.iter().map(|(name, kind)| {
            let kind = if kind.is_empty() {
                Value::Null
            } else {
                json!(kind)
            };
            json!({"name": format!("ashlar-{name}"), "rename": name, "kind": kind})
        });
        json!({
            "manifest_path": format!("/root/{folder}/Cargo.toml"),
            "description": format!("what {folder} is"),
            "dependencies": dependencies.collect::<Vec<_>>(),
        })
    });
    let metadata = json!({"packages": list.collect::<Vec<_>>()});
    super::packages(&metadata, Path::new("/root")).expect("metadata is understood")
}

fn rules_of(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn packages_depend_downwards() {
    let findings_of = |folder: &str, name: &str, kind: &str| {
        let mut findings = Vec::new();
        let made = packages(&[(folder, &[(name, kind)])]);
        check_direction(&made[0], &mut findings);
        rules_of(&findings)
    };
    assert_eq!(findings_of("crates/dm", "ashlar", ""), ["direction"]);
    assert_eq!(findings_of("crates/lvm2", "block", "build"), ["direction"]);
    assert!(findings_of("crates/cli", "ashlar", "").is_empty());
    assert!(findings_of("crates/export", "dm", "dev").is_empty());
    assert_eq!(findings_of("crates/novel", "dm", "dev"), ["direction"]);
    assert!(findings_of("xtask", "ashlar", "").is_empty());
}

#[test]
fn what_is_declared_is_named() {
    let made = packages(&[(
        "crates/dm",
        &[("block", ""), ("io-uring", ""), ("lvm2", "dev")],
    )]);
    let found = |sources: &[Source]| {
        let mut findings = Vec::new();
        check_unused(&made[0], sources, &mut findings);
        let messages = findings.iter().map(|finding| finding.message.clone());
        messages.collect::<Vec<_>>()
    };
    let code = Source::new(
        "crates/dm/src/lib.rs",
        "use block::Device; use io_uring::IoUring;",
    );
    let test = Source::new("crates/dm/src/tests.rs", "use lvm2::model;");
    assert!(found(&[code, test]).is_empty());

    let comment = Source::new("crates/dm/src/lib.rs", "// block, lvm2");
    let example = Source::new("crates/dm/examples/a.rs", "use io_uring::IoUring;");
    let elsewhere = Source::new(
        "crates/dmx/src/lib.rs",
        "use block::Device; use lvm2::model;",
    );
    assert_eq!(
        found(&[comment, example, elsewhere]),
        [
            "nothing names block: remove it",
            "only tests name io_uring: it belongs to dev-dependencies",
            "nothing names lvm2: remove it",
        ]
    );
}

#[test]
fn the_picture_leaves_out_what_is_reached_through_another() {
    let made = packages(&[
        ("crates/block", &[]),
        ("crates/dm", &[("block", "")]),
        ("crates/export", &[("block", ""), ("dm", "dev")]),
        ("crates/ashlar", &[("block", ""), ("dm", "")]),
        (
            "crates/lab",
            &[("ashlar", ""), ("block", ""), ("export", "")],
        ),
        ("xtask", &[("ashlar", "")]),
    ]);
    let picture = super::picture(&made);
    let expected = "  lab    ─▶ ashlar, export   what crates/lab is
  ashlar ─▶ dm               what crates/ashlar is
  dm     ─▶ block            what crates/dm is
  export ─▶ block            what crates/export is
  block                      what crates/block is
";
    assert_eq!(picture, expected);

    let mut findings = Vec::new();
    let page = format!("# Page\n\n{}\n\n```text\n{expected}```\n", super::MARK);
    check_picture("README.md", &page, &picture, &mut findings);
    assert!(findings.is_empty());
    let old = page.replace("dm     ─▶ block ", "dm     ─▶ lvm2  ");
    check_picture("README.md", &old, &picture, &mut findings);
    assert_eq!(rules_of(&findings), ["picture"]);
    assert_eq!(findings[0].line, 3);
}
