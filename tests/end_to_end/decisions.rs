//! The log of decisions: `-v` and `-d` say on standard error what was left out, chosen, locked and
//! written, and change nothing else.

use std::fs;

use tests::{Access, Finished, Group, LoopDevice, Scratch, Tool, ashlar};

/// A group `vg` on two images, the second of which holds the version before.
fn stale() -> Scratch {
    let scratch = Scratch::new("decisions");
    fs::create_dir(scratch.join("disks")).expect("a directory");
    let images = ["a.img", "b.img"].map(|name| scratch.sparse(&format!("disks/{name}"), 16 << 20));
    let run = |words: &[&str]| _ = on(&scratch).args(words).succeed();
    let [a, b] = images.each_ref().map(|path| path.to_str().expect("a name"));
    run(&["vgcreate", "-s", "1m", "vg", a, b]);
    run(&["lvcreate", "-y", "-l", "2", "-n", "data", "vg"]);
    let old = fs::read(b).expect("an image");
    run(&["vgchange", "--addtag", "newer", "vg"]);
    fs::write(b, old).expect("the version before");
    scratch
}

fn on(scratch: &Scratch) -> Tool {
    let tool = ashlar().env("ASHLAR_DEVICES", scratch.join("disks"));
    let tool = tool.env("LVM_LOCKING_DIR", scratch.join("locks"));
    tool.env("LVM_SYSTEM_DIR", scratch.join("etc"))
}

fn has(finished: &Finished, wanted: &[&str]) {
    let said = finished.complaints();
    for words in wanted {
        assert!(said.contains(words), "{words:?} is missing in:\n{said}");
    }
}

/// `-v` names the version that is used and what was passed over, `-d` each area; standard output
/// stays the same, and without them nothing of it is said.
#[test]
fn the_chosen_metadata_is_said() {
    let scratch = stale();
    let plain = on(&scratch).args(["vgck"]).run();
    let verbose = on(&scratch).args(["vgck", "-v"]).run();
    let detailed = on(&scratch).args(["vgck", "-d"]).run();
    let chosen = "VG vg: metadata version 3 is used, the newest, from ";
    has(
        &verbose,
        &[
            chosen,
            "a.img; passed over: 2 on ",
            "Looked at 2 devices: 2 physical",
        ],
    );
    has(
        &detailed,
        &[
            chosen,
            "b.img: metadata area 1 at byte 4096: version 2 of VG vg",
        ],
    );
    assert!(
        !verbose
            .complaints()
            .contains("metadata area 1 at byte 4096")
    );
    assert!(!plain.complaints().contains(chosen));
    assert_eq!(plain.text(), verbose.text());
    assert_eq!(plain.text(), detailed.text());
    for words in [["lvs", "-d"], ["cat", "vg/data"], ["history", "vg"]] {
        let quiet = on(&scratch).args(words.iter().filter(|word| **word != "-d"));
        let loud = on(&scratch).args(words).arg("-d").run();
        assert_eq!(quiet.run().text(), loud.text(), "{words:?}");
    }
}

/// A change says which locks it took, what it wrote and flushed, in this order, and where it is
/// committed; the words on standard output are the same.
#[test]
fn a_change_says_what_it_wrote() {
    let scratch = stale();
    let change = |tag: &str| on(&scratch).args(["vgchange", "--addtag", tag, "vg"]);
    let plain = change("a").succeed();
    let detailed = change("b").arg("-d").succeed();
    let verbose = change("c").arg("-v").succeed();
    assert_eq!(plain.text(), verbose.text());
    assert_eq!(plain.text(), detailed.text());
    has(&verbose, &["V_vg.", "VG vg: version 6 is committed on "]);
    assert!(!verbose.complaints().contains("flushed (Texts)"));
    let said = detailed.complaints();
    let order = [
        "V_vg.",
        "open for writing",
        "flushed (Texts)",
        "flushed (Headers)",
        "committed",
    ];
    let places = order.map(|words| {
        said.find(words)
            .unwrap_or_else(|| panic!("{words}: {said}"))
    });
    assert!(places.is_sorted(), "{said}");
}

/// A device that a filter rejects is named, with the filter.
#[test]
fn what_was_left_out_is_said() {
    let scratch = stale();
    let [first, second] = ["a.img", "b.img"]
        .map(|name| LoopDevice::attach(&scratch.join("disks").join(name), Access::ReadOnly));
    let (first, second) = (first.path().display(), second.path().display());
    let filter = format!("devices {{ use_devicesfile=0 filter=[\"a|^{first}$|\", \"r|.*|\"] }}");
    let looked = ashlar().args(["vgck", "-v", "--config", &filter]).run();
    let left_out = format!("{second} is not looked at: devices/filter rejects it.");
    has(&looked, &[&left_out, "VG vg: metadata version 3 is used"]);
    let quiet = ashlar().args(["vgck", "--config", &filter]).run();
    assert!(!quiet.complaints().contains("is not looked at"));
}

/// A command that the owner of the group runs says so, and the owner's log comes back.
#[test]
fn the_log_of_a_delegated_command_comes_back() {
    let group = Group::new("decisions", 1, 32 << 20);
    group.create("data", &["-l", "2"]);
    group.attach("data");
    let change = group
        .ashlar()
        .args(["vgchange", "--addtag", "t", "-v", "vg0"]);
    has(
        &change.succeed(),
        &["is served by process ", "is committed on "],
    );
    group.detach("data");
}
