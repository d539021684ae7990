//! What scripts written for LVM2 send: commands under their own names, on standard input, in files.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tests::{Access, LoopDevice, Scratch, Stock, Tool, ashlar, ashlar_path};

/// Every command of LVM2 2.03.16 that Ashlar does not have, as its packages install them.
const ABSENT: &[&str] = &[
    "pvmove",
    "vgimportclone",
    "vgimportdevices",
    "lvmdevices",
    "lvmconfig",
    "lvmdiskscan",
    "vgmknodes",
    "vgconvert",
    "lvpoll",
    "lvmsadc",
    "lvmsar",
    "fsadm",
    "lvmdump",
];

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
    // An answer to a question is no command.
    let ended = links.called("lvm").input("vgremove vg\ny\nvgs\n").exit(0);
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
