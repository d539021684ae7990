//! The cookbook: its commands, taken out of the document and run.
//!
//! A recipe is a section; its commands are the blocks that are marked as `sh`, run as one script in
//! an empty folder. What the section's title calls *no root* is run as an ordinary user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::time::Duration;

use tests::{Access, LoopDevice, Scratch, Stock, Tool, copy_ashlar};

const COOKBOOK: &str = include_str!("../../docs/cookbook.md");
/// The ordinary user: nobody's number on every system.
const NOBODY: u32 = 65534;
/// For the longest recipe, on a machine that does something else as well.
const LIMIT: Duration = Duration::from_mins(8);

/// A section of the document.
struct Recipe {
    title: &'static str,
    script: String,
}

fn recipes() -> Vec<Recipe> {
    let sections = COOKBOOK.split("\n## ").skip(1);
    sections
        .map(|section| {
            let (title, body) = section.split_once('\n').expect("a title is a line");
            let blocks = body.split("```sh\n").skip(1);
            let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap_or_default());
            let script = blocks.collect::<Vec<_>>().join("\n");
            Recipe { title, script }
        })
        .collect()
}

fn recipe(title: &str) -> Recipe {
    let mut found = recipes().into_iter();
    found
        .find(|recipe| recipe.title.starts_with(title))
        .unwrap_or_else(|| panic!("the cookbook has no recipe called {title}"))
}

/// Runs a recipe in a folder of its own, on the day that `clock` shows, and gives the folder.
fn cook(recipe: &Recipe, clock: Option<&str>) -> Scratch {
    let scratch = Scratch::new("cook");
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).expect("is ours");
    let bin = scratch.join("bin");
    let kitchen = scratch.join("kitchen");
    for folder in [&bin, &kitchen] {
        fs::create_dir(folder).expect("is made");
    }
    copy_ashlar(&bin.join("ashlar"));
    let mut words: Vec<String> = Vec::new();
    if recipe.title.contains("no root") {
        chown(&kitchen, Some(NOBODY), Some(NOBODY)).expect("root may");
        let user = NOBODY.to_string();
        words.extend(
            [
                "setpriv",
                "--reuid",
                &user,
                "--regid",
                &user,
                "--clear-groups",
            ]
            .map(Into::into),
        );
    }
    if let Some(clock) = clock {
        words.extend(["faketime", "-f", clock].map(Into::into));
    }
    words.extend(["bash", "-euo", "pipefail", "-c", &recipe.script].map(Into::into));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}:/usr/sbin:/sbin", bin.display());
    let tool = Tool::new(&words[0])
        .args(&words[1..])
        .within(&kitchen)
        .limit(LIMIT)
        .env("PATH", path)
        .env("HOME", &kitchen)
        .env("XDG_RUNTIME_DIR", &kitchen)
        .env("ASHLAR_RUNTIME_DIR", kitchen.join(".run"))
        .env("LVM_SYSTEM_DIR", kitchen.join(".lvm"));
    tool.succeed();
    scratch
}

#[test]
fn every_recipe_is_run() {
    // Proves: each section of the cookbook with commands ends well. The image for CI, which has a
    // test of its own, is left out.
    let mut count = 0;
    for recipe in recipes() {
        assert!(
            !recipe.script.is_empty(),
            "{} has no commands",
            recipe.title
        );
        if !recipe.title.starts_with("A disk image in CI") {
            cook(&recipe, None);
            count += 1;
        }
    }
    assert_eq!(count, 10);
}

#[test]
fn the_image_for_ci_is_the_same_every_day() {
    // Proves: two builds of the cookbook's image, a year apart, are the same bytes; stock vgck
    // accepts its group and e2fsck its file system.
    let recipe = recipe("A disk image in CI");
    let one = cook(&recipe, Some("2026-03-01 12:00:00"));
    let other = cook(&recipe, Some("2027-08-09 01:02:03"));
    let (image, again) = ("kitchen/disk.img", "kitchen/disk.img");
    let same = Tool::new("cmp").arg(one.join(image)).arg(other.join(again));
    same.succeed();

    // 32 MiB in front of the partition, 112 in volumes, one each for the table, the start of the
    // physical volume, and the copy of the table.
    let size = fs::metadata(one.join(image)).expect("it is there").len();
    assert_eq!(size, (32 + 112 + 3) << 20);

    let table = Tool::new("sfdisk").args(["--json"]).arg(one.join(image));
    assert!(table.succeed().text().contains("\"label\": \"gpt\""));
    // Stock looks at the partition as a device of its own.
    let partition = one.join("pv.img");
    let cut = Tool::new("dd")
        .arg(format!("if={}", one.join(image).display()))
        .arg(format!("of={}", partition.display()))
        .args(["bs=1M", "skip=33", "conv=sparse", "status=none"]);
    cut.succeed();
    let device = LoopDevice::attach(&partition, Access::ReadWrite);
    let stock = Stock::on([&device]);
    stock.without_driver("vgck").arg("sys").succeed();
    let fields = ["--noheadings", "-o", "lv_name", "sys"];
    let seen = stock.without_driver("lvs").args(fields).succeed().text();
    let names: Vec<&str> = seen.split_whitespace().collect();
    assert_eq!(names, ["data", "root"]);
    let root = one.join("kitchen/root.img");
    Tool::new("e2fsck").args(["-f", "-n"]).arg(root).succeed();
}
