//! What scripts written for LVM2 send: commands under their own names, on standard input, in files.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tests::{Access, LoopDevice, Scratch, Stock, Tool, ashlar, ashlar_path};

/// Every command of LVM2 2.03.16 that Ashlar does not have, as its packages install them.
const ABSENT: &[&str] = &["lvpoll"];

/// The program under another name.
struct Links {
    scratch: Scratch,
    image: PathBuf,
}

impl Links {
    fn new() -> Self {
        let scratch = Scratch::new("scripts");
        let image = scratch.sparse("disk.img", 32 << 20);
        Self { scratch, image }
    }

    fn seen_by(&self, tool: Tool) -> Tool {
        tool.env("LVM_SYSTEM_DIR", self.scratch.join("etc"))
            .env("LVM_LOCKING_DIR", self.scratch.join("locks"))
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
            .env("DM_DEV_DIR", self.scratch.join("dev"))
            .env("ASHLAR_DEVICES", &self.image)
    }

    fn called(&self, name: &str) -> Tool {
        let link = self.scratch.join(name);
        if !link.exists() {
            symlink(ashlar_path(), &link).expect("a link");
        }
        self.seen_by(Tool::new(link))
    }
}

impl Drop for Links {
    /// Takes down what is active.
    fn drop(&mut self) {
        let _ = self.seen_by(ashlar()).args(["stop", "--all"]).run();
    }
}

#[test]
fn a_tag_is_no_word_of_the_program() {
    // Proves: the word that makes the program hold a loop device is a tag to a command.
    let links = Links::new();
    let create = links.called("vgcreate").args(["--addtag", "keep", "vg"]);
    create.arg(&links.image).succeed();
    let listed = links.called("vgs").args(["--noheadings", "-o", "name"]);
    assert_eq!(
        links
            .called("vgs")
            .arg("@keep")
            .succeed()
            .text()
            .lines()
            .count(),
        2
    );
    assert_eq!(listed.arg("@keep").succeed().text().trim(), "vg");
}

#[test]
fn commands_that_are_not_there_fail_with_a_way_on() {
    // Proves: a command of LVM2's that Ashlar lacks fails as an unknown one does, says what to do
    // instead, runs nothing else, and is never taken for a misspelt other one, whether it is called
    // through a link, `ashlar`, or `lvm`.
    let links = Links::new();
    for name in ABSENT {
        let by_link = links.called(name).arg("vgs").exit(2);
        let by_word = links.seen_by(ashlar()).args([name, "-v"]).exit(2);
        let by_lvm = links.called("lvm").args([name, "--help"]).exit(2);
        for ended in [by_link, by_word, by_lvm] {
            let said = ended.complaints();
            assert!(
                said.contains(&format!("{name} of LVM2 is not there")),
                "{ended}"
            );
            assert!(!said.contains("did you mean"), "{ended}");
            assert!(ended.stdout.is_empty(), "{ended}");
        }
    }
    let unknown = links.called("vgfoo").arg("vgs").exit(2);
    assert!(
        unknown.complaints().contains("No such command 'vgfoo'"),
        "{unknown}"
    );
    assert!(unknown.stdout.is_empty(), "{unknown}");
}

#[test]
fn lvm_runs_the_commands_of_its_input() {
    // Proves: `lvm` and `ashlar lvm` run each line of their input, with quotes and comments as in
    // LVM2, go on behind a failure, and end with the first failure's status.
    let links = Links::new();
    let lines = format!(
        "# a group\nvgcreate -s 1m vg '{}'\n\nlvcreate -L4m nope # fails\nlvm lvcreate -y -L4m -n \
         \"a\" vg\nlvs --nosuchoption\nexit\nlvremove -y vg/a\n",
        links.image.display()
    );
    let ended = links.called("lvm").input(lines).exit(5);
    assert!(ended.complaints().contains("\"nope\" not found"), "{ended}");
    assert!(ended.complaints().contains("Exiting."), "{ended}");
    let names = "lvs --noheadings -o lv_full_name";
    let ended = links.seen_by(ashlar()).arg("lvm").input(names).exit(0);
    assert_eq!(ended.text().trim(), "vg/a", "{ended}");
    // Answers to questions are no commands.
    let lines = "vgremove vg\ny\ny\nvgs\n";
    let ended = links.called("lvm").input(lines).exit(0);
    assert!(
        ended.text().contains("\"vg\" successfully removed"),
        "{ended}"
    );
}

#[test]
fn a_file_of_commands_ends_at_its_first_failure_as_in_stock() {
    // Proves: `lvm FILE` runs the lines of a file as stock does: up to the first failure, whose
    // status it ends with.
    let links = Links::new();
    let device = LoopDevice::attach(&links.image, Access::ReadWrite);
    let stock = Stock::on([&device]);
    let file = links.scratch.join("commands");
    for (lines, code) in [
        ("#!/sbin/lvm\nvgs --noheadings\nversion\n", 0),
        ("#!lvm\nversion\nvgs nosuch\nlvs --nosuchoption\n", 5),
        ("#!lvm\nversion\nnosuchcommand\nvgs nosuch\n", 2),
    ] {
        std::fs::write(&file, lines).expect("a file of commands");
        let ours = links.called("lvm").arg(&file).exit(code);
        let theirs = Tool::new("lvm").arg(&file);
        let theirs = theirs.env("LVM_SYSTEM_DIR", stock.system_dir()).exit(code);
        let count = |text: &str| text.matches("ersion:").count().min(1);
        assert_eq!(count(&ours.text()), 1, "{ours}");
        assert_eq!(count(&theirs.text()), 1, "{theirs}");
        assert!(!ours.complaints().contains("nosuchoption"), "{ours}");
        assert!(!theirs.complaints().contains("nosuchoption"), "{theirs}");
    }
    std::fs::write(&file, "version\n").expect("a file of something else");
    let ours = links.called("lvm").arg(&file).exit(2);
    assert!(ours.stdout.is_empty(), "{ours}");
}

#[test]
fn options_that_scripts_send_are_taken() {
    // Proves: what scripts, units and udev's rules of LVM2 send is done or, where there is nothing
    // to be done here, accepted, with stock's statuses.
    let links = Links::new();
    let image = links.image.display().to_string();
    let run = |line: &str, code| {
        let words = line.replace('@', &image);
        let words: Vec<&str> = words.split(' ').collect();
        links.seen_by(ashlar()).args(words).exit(code)
    };
    run("vgcreate -s 1m vg @", 0);
    run("lvcreate -y -l +2 -n a vg", 0);
    run("lvcreate -y -L +2m -n b vg", 0);
    let refused = run("lvcreate -l -2 -n c vg", 3);
    assert!(
        refused
            .complaints()
            .contains("Extents may not be negative."),
        "{refused}"
    );
    run("lvcreate -y -l +50%FREE -n c vg", 0);
    run(
        "lvcreate -y -l +100%FREE --noudevsync --monitor n -n d vg",
        0,
    );
    let free = run("vgs --noheadings -o vg_free_count vg", 0);
    assert_eq!(free.text().trim(), "0");
    for line in [
        "pvscan --cache -aay",
        "pvscan --cache -aay --background @",
        "pvscan --cache --activate ay --major 8 --minor 1",
        "pvscan --cache --listvg --checkcomplete --vgonline --udevoutput --autoactivation event @",
        "vgchange --monitor y vg",
        "vgchange --poll y vg",
        "vgchange --refresh vg",
        "vgchange -ay --ignoremonitoring --noudevsync --poll n --monitor n vg",
        "vgchange -aay --autoactivation event vg",
        "lvchange -ay --monitor y --poll y --ignoremonitoring --noudevsync vg/a",
        "vgscan --ignorelockingfailure --mknodes --reportformat basic",
        "lvscan --ignorelockingfailure",
        "pvchange -x n -S pv_name=nosuch",
        "vgexport -S vg_name=nosuch",
        "vgchange -an vg",
        "vgexport -S vg_name=vg",
        "vgimport -S vg_name=vg",
        "pvchange -x n -S vg_name=vg",
        "vgremove -y --noudevsync -S vg_name=nosuch",
    ] {
        run(line, 0);
    }
    let attr = run("pvs --noheadings -o pv_attr", 0);
    assert_eq!(attr.text().trim(), "u--", "-S chose the one that there is");
    run("pvscan -aay", 3);
    run("vgchange --poll maybe vg", 3);
    for line in [
        "plan lvremove vg/a --json",
        "plan --json lvremove vg/a",
        "plan lvremove --json vg/a",
    ] {
        let plan = run(line, 0);
        assert!(plan.text().starts_with("{\"plan\":["), "{plan}");
    }
}

#[test]
fn a_named_file_is_a_device_under_each_of_its_names() {
    // Proves: without --devices an image that a command names is one of its devices; relative names
    // and partitions are found; and a partitioned disk is answered with its partitions.
    let links = Links::new();
    let folder = links.scratch.path();
    std::fs::create_dir(folder.join("etc")).expect("a directory");
    let config = "devices { filter = [ \"r|.*|\" ] }";
    std::fs::write(folder.join("etc/lvm.conf"), config).expect("a configuration");
    links.scratch.sparse("b.img", 32 << 20);
    links.scratch.sparse("gpt.img", 64 << 20);
    let script = "label: gpt\nsize=8MiB\nsize=40MiB\n";
    Tool::new("sfdisk")
        .arg("-q")
        .arg(folder.join("gpt.img"))
        .input(script)
        .succeed();
    let run = |line: &str, code| {
        let tool = links
            .seen_by(ashlar())
            .env("ASHLAR_DEVICES", "")
            .within(folder);
        tool.args(line.split(' ')).exit(code)
    };
    run("vgcreate vg ./disk.img", 0);
    run("pvcreate b.img", 0);
    // As in stock, only with --cache it takes devices.
    run("pvscan b.img", 3);
    for line in ["pvs --noheadings -o pv_name", "pvdisplay -c", "pvck"] {
        let shown = run(&format!("{line} b.img"), 0);
        assert!(shown.text().contains("b.img"), "{shown}");
        assert!(!shown.text().contains("disk.img"), "{shown}");
    }
    let whole = run("pvcreate gpt.img", 5);
    let said = whole.complaints();
    assert!(said.contains("device is partitioned"), "{whole}");
    assert!(said.contains("gpt.img:1, gpt.img:2"), "{whole}");
    assert!(!said.contains("wipefs"), "{whole}");
    run("vgcreate sys gpt.img:2", 0);
    let named = run("pvs --noheadings -o pv_name,vg_name ./gpt.img:2", 0);
    assert!(named.text().contains("gpt.img:2 sys"), "{named}");
    // What a variable names as a whole path is found by a relative one, too.
    let tool = links
        .seen_by(ashlar())
        .env("ASHLAR_DEVICES", folder.join("gpt.img"));
    let tool = tool.within(folder).args(["pvresize", "gpt.img:2"]);
    assert!(tool.exit(0).text().contains("1 physical volume(s) resized"));
    // A file of the group's name in the folder is no device.
    std::fs::write(folder.join("vg"), "not a disk").expect("a file");
    run("vgs --devices disk.img vg", 0);
    run("lvcreate -y -l 1 -n a vg disk.img:0-1", 0);
}

#[test]
fn nodes_are_found_under_every_name() {
    // Proves: a node whose name is not the kernel's, as containers get, is a device by that name,
    // and filters still decide about it.
    let links = Links::new();
    let device = LoopDevice::attach(&links.image, Access::ReadWrite);
    let folder = links.scratch.path();
    std::fs::create_dir(folder.join("etc")).expect("a directory");
    let node = folder.join("mydisk");
    let number = device.number().to_string();
    Tool::new("mknod")
        .arg(&node)
        .args(["b", "7", &number])
        .succeed();
    let run = |filter: String, line: &str, code| {
        let config = format!("devices {{ filter = [ {filter} ] }}");
        std::fs::write(folder.join("etc/lvm.conf"), config).expect("a configuration");
        let tool = links.seen_by(ashlar()).env("ASHLAR_DEVICES", "");
        tool.args(line.split(' ')).arg(&node).exit(code)
    };
    let only = || format!("\"a|^{}$|\", \"r|.*|\"", device.path().display());
    let refused = run("\"r|.*|\"".to_owned(), "pvcreate", 5);
    assert!(
        refused.complaints().contains("devices/filter rejects it"),
        "{refused}"
    );
    run(only(), "vgcreate vg", 0);
    let listed = run(only(), "pvs --noheadings -o vg_name", 0);
    assert_eq!(listed.text().trim(), "vg");
}

#[test]
fn of_two_groups_of_one_name_the_meant_one_is_changed() {
    // Proves: -S vg_uuid chooses between groups of one name, without it the command refuses, and a
    // group of this host is preferred to another host's.
    let links = Links::new();
    let other = links.scratch.sparse("other.img", 32 << 20);
    let run = |devices: &str, line: &str, code| {
        let tool = links.seen_by(ashlar()).env("ASHLAR_DEVICES", devices);
        tool.args(line.split(' ')).exit(code)
    };
    let (one, two) = (
        links.image.display().to_string(),
        other.display().to_string(),
    );
    let both = format!("{one}:{two}");
    run(&one, &format!("vgcreate vg {one}"), 0);
    run(&two, &format!("vgcreate vg {two}"), 0);
    let uuid = run(&two, "vgs --noheadings -o vg_uuid vg", 0).text();
    run(&both, "vgchange --addtag t vg", 5);
    // A tag is looked for in both, and names neither.
    run(&both, "lvchange --addtag t @nobody", 0);
    run(&both, "lvremove @nobody", 0);
    run(
        &both,
        &format!("vgchange --addtag t -S vg_uuid={}", uuid.trim()),
        0,
    );
    // As in stock, a name is refused before criteria could choose.
    let named = format!("vgchange --addtag u -S vg_uuid={} vg", uuid.trim());
    run(&both, &named, 5);
    let tags = |devices: &str| {
        let tags = run(devices, "vgs --noheadings -o vg_tags vg", 0);
        tags.text().trim().to_owned()
    };
    assert_eq!((tags(&one).as_str(), tags(&two).as_str()), ("", "t"));
    run(&two, "vgchange -y --systemid elsewhere vg", 0);
    run(&both, "vgchange --addtag own vg", 0);
    assert_eq!(tags(&one), "own");
    // As in stock, what a selection meets and may not touch is said, and is no failure.
    let passed = run(&both, &format!("vgremove -y -S vg_uuid={}", uuid.trim()), 0);
    assert!(
        passed.complaints().contains("Cannot access VG vg"),
        "{passed}"
    );
    let left = run(&two, "vgs --foreign --noheadings -o vg_uuid vg", 0);
    assert_eq!(left.text().trim(), uuid.trim());
}

#[test]
fn a_group_may_come_from_the_environment() {
    // Proves: LVM_VG_NAME names the group of volumes that are named alone, and of no others.
    let links = Links::new();
    let image = links.image.display().to_string();
    let run = |group: &str, line: &str, code| {
        let tool = links.seen_by(ashlar()).env("LVM_VG_NAME", group);
        tool.args(line.split(' ')).exit(code)
    };
    let names = |group: &str, line: &str| {
        let listed = run(group, &format!("{line} --noheadings -o lv_full_name"), 0);
        let names = listed.text();
        names.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    run("", &format!("vgcreate -s 1m vg {image}"), 0);
    run("vg", "lvcreate -y -L4m -n a", 0);
    run("/dev/vg", "lvcreate -y -L4m -n b", 0);
    run("nosuch", "lvcreate -y -L4m -n c vg", 0);
    run("vg", "lvrename c d", 0);
    run("vg", "lvrename vg d c", 0);
    run("vg", "lvextend -L+1m a", 0);
    run("vg", "lvchange --addtag t a b", 0);
    assert_eq!(names("vg", "lvs @t"), "vg/a vg/b");
    assert_eq!(names("vg", "lvs a vg/c"), "vg/a vg/c");
    assert_eq!(names("nosuch", "lvs"), "vg/a vg/b vg/c");
    let refused = run("vg", "lvs vg", 5);
    let said = refused.complaints();
    assert!(
        said.contains("Failed to find logical volume \"vg/vg\""),
        "{said}"
    );
    let refused = run("a b", "lvs a", 5);
    let said = refused.complaints();
    assert!(said.contains("in LVM_VG_NAME invalid: \"a b\""), "{said}");
    run("vg", "lvremove -y b", 0);
    assert_eq!(names("", "lvs vg"), "vg/a vg/c");
}

#[test]
fn a_lock_is_not_waited_for_if_the_configuration_says_so() {
    // Proves: with wait_for_locks = 0 a change of a locked group fails at once, in stock's words.
    let links = Links::new();
    let image = links.image.display().to_string();
    let create = links.seen_by(ashlar()).args(["vgcreate", "vg", &image]);
    create.succeed();
    let locks = links.scratch.join("locks");
    std::fs::create_dir_all(&locks).expect("a folder");
    let held = std::fs::File::create(locks.join("V_vg")).expect("a lock file");
    held.lock().expect("it is free");
    let change = links
        .seen_by(ashlar())
        .args(["vgchange", "--addtag", "t", "vg"]);
    let change = change.args(["--config", "global/wait_for_locks=0"]);
    let refused = change.limit(std::time::Duration::from_secs(30)).exit(5);
    let said = refused.complaints();
    assert!(said.contains("Can't get lock for vg"), "{said}");
}
