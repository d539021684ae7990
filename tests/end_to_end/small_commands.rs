//! Commands that look at no disk, word for word against stock with the same configuration.

use tests::{Finished, Scratch, Tool, ashlar};

/// Neither sees any device.
const BLIND: &str = "devices { filter=[\"r|.*|\"] global_filter=[\"r|.*|\"] use_devicesfile=0 }\n";

/// Both, with the same files of configuration.
struct Both {
    scratch: Scratch,
}

impl Both {
    fn new() -> Self {
        let both = Self {
            scratch: Scratch::new("small"),
        };
        both.file("lvm.conf", "");
        both
    }

    fn file(&self, name: &str, text: &str) {
        let text = if name == "lvm.conf" {
            let locks = self.scratch.join("locks");
            std::fs::create_dir_all(&locks).expect("a folder for locks");
            format!("{BLIND}global/locking_dir=\"{}\"\n{text}", locks.display())
        } else {
            text.to_owned()
        };
        std::fs::write(self.scratch.join(name), text).expect("a configuration");
    }

    fn each(&self, line: &str) -> [Finished; 2] {
        [ashlar(), Tool::new("lvm")].map(|tool| {
            let tool = tool.env("LVM_SYSTEM_DIR", self.scratch.path());
            let tool = tool.env("LVM_SUPPRESS_FD_WARNINGS", "1");
            let words = line.split(' ').map(|word| word.replace('~', " "));
            tool.args(words).run()
        })
    }

    /// Both print the same and end alike; gives what is printed.
    fn same(&self, line: &str) -> String {
        let [ours, theirs] = self.each(line);
        assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
        assert_eq!(ours.text(), theirs.text(), "{ours}\n{theirs}");
        ours.text()
    }

    /// Both end with `code` and complain in stock's words.
    fn refused(&self, line: &str, code: i32) -> String {
        let [ours, theirs] = self.each(line);
        assert_eq!(theirs.code, Some(code), "{theirs}");
        assert_eq!(ours.code, Some(code), "{ours}");
        assert_eq!(ours.text(), theirs.text(), "{ours}\n{theirs}");
        let said = ours.complaints();
        assert!(said.starts_with(&theirs.complaints()), "{ours}\n{theirs}");
        said
    }
}

#[test]
fn the_types_of_devices_are_reported_as_by_stock() {
    // Proves: devtypes is stock's report: columns, order, selection, forms, JSON.
    let both = Both::new();
    assert_eq!(both.same("devtypes").lines().count(), 38);
    for line in [
        "devtypes --noheadings -o devtype_all -S devtype_max_partitions=1",
        "devtypes --reportformat json -S name=sd",
        "devtypes --unbuffered --noheadings -o name",
        "devtypes --separator : -o+devtype_name -S devtype_name=~^a",
        "devtypes --rows -S devtype_name=~^a",
        "devtypes --nameprefixes --unquoted -S name=sd",
    ] {
        both.same(line);
    }
    let fields = ashlar().args(["devtypes", "-o", "help"]).succeed().text();
    assert!(fields.contains("devtype_description"), "{fields}");
    assert!(!fields.contains("lv_name"), "{fields}");
    both.refused("devtypes x", 3);
    let [ours, theirs] = both.each("devtypes -o lv_name");
    assert_eq!((ours.code, theirs.code), (Some(5), Some(5)));
}

#[test]
fn what_there_is_is_listed_as_by_stock() {
    // Proves: formats and systemid print what stock prints; segtypes names nothing that stock does
    // not; there is no log; surplus words are refused.
    let both = Both::new();
    assert_eq!(both.same("formats"), "  lvm2\n");
    assert_eq!(both.same("systemid"), "  system ID: \n");
    both.same("systemid --config global/system_id_source=uname");
    let set = "--config global/system_id_source=lvmlocal~local/system_id=\"abc\"";
    assert_eq!(both.same(&format!("systemid {set}")), "  system ID: abc\n");
    let [ours, theirs] = both.each("segtypes");
    let (ours, theirs) = (ours.text(), theirs.text());
    for kind in ours.lines() {
        assert!(theirs.lines().any(|theirs| theirs == kind), "{kind}");
    }
    for kind in [
        "linear", "snapshot", "mirror", "raid1", "raid6_nr", "raid10",
    ] {
        assert!(ours.lines().any(|ours| ours.trim() == kind), "{kind}");
    }
    assert!(!ours.contains("thin"), "{ours}");
    both.refused("lastlog", 5);
    both.refused("lastlog --reportformat json", 5);
    for name in ["formats", "segtypes", "systemid", "tags", "lastlog"] {
        both.refused(&format!("{name} x"), 3);
    }
}

#[test]
fn what_stock_gave_up_is_given_up_here() {
    // Proves: obsolete commands fail with stock's words and statuses.
    let both = Both::new();
    for name in ["lvmchange", "lvmsadc", "lvmsar", "pvdata"] {
        let said = both.refused(name, 5);
        assert!(
            said.contains(&format!("There's no '{name}' command")),
            "{said}"
        );
        both.refused(&format!("{name} x"), 3);
    }
    both.refused("lvmsar -f -s", 5);
    both.refused("vgconvert -M2 vg", 5);
    let [ours, theirs] = both.each("vgconvert");
    assert_eq!((ours.code, theirs.code), (Some(3), Some(3)));
}

#[test]
fn a_host_has_its_tags_and_their_files() {
    // Proves: tags are those of stock, from lvm.conf, lvmlocal.conf and the files of tags, which
    // may add others; and what a tag's file sets is stronger than lvmlocal.conf, which is stronger
    // than lvm.conf.
    let both = Both::new();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let host = host.trim();
    both.file(
        "lvm.conf",
        &format!(
            "tags {{ hosttags=1 a {{}} bar {{ host_list=[\"x\"] }} @q {{ host_list=\"{host}\" }} \
             }}\nglobal/system_id_source=\"lvmlocal\" local/system_id=\"main\""
        ),
    );
    both.file("lvmlocal.conf", "tags { c {} } local/system_id=\"local\"");
    assert_eq!(both.same("systemid"), "  system ID: local\n");
    both.file("lvm_q.conf", "tags { deep {} c {} } local/system_id=\"q\"");
    assert_eq!(both.same("systemid"), "  system ID: q\n");
    both.file("lvm_deep.conf", "tags { last {} } local/system_id=\"deep\"");
    both.file("lvm_bar.conf", "tags { never {} } local/system_id=\"bar\"");
    let tags = both.same("tags");
    let tags: Vec<&str> = tags.lines().map(str::trim).collect();
    assert_eq!(tags, [host, "a", "q", "c", "deep", "last"]);
    assert_eq!(both.same("systemid"), "  system ID: deep\n");
    both.file("lvm.conf", "tags { \"a b\" {} }");
    let [ours, theirs] = both.each("tags");
    for ended in [ours, theirs] {
        assert_ne!(ended.code, Some(0), "{ended}");
        let said = ended.complaints();
        assert!(said.contains("Invalid tag in config file: a b"), "{ended}");
    }
}

/// What `lvmconfig` is asked where it answers as stock does, byte for byte.
const ASKED: &[&str] = &[
    "lvmconfig",
    "lvmconfig devices global/locking_dir report/separator",
    "dumpconfig report",
    "config report/separator",
    "lvmconfig nosuch report nosuch/x",
    "lvmconfig --type current --withspaces devices",
    "lvmconfig --type list",
    "lvmconfig --type list --withversions tags devices",
    "lvmconfig --type list nosuch",
    "lvmconfig --type default config devices log backup shell global activation",
    "lvmconfig --type default metadata report dmeventd tags local",
    "lvmconfig --type default --unconfigured report",
    "lvmconfig --type default --withspaces devices/filter global/thin_check_options",
    "lvmconfig --type default --withversions tags",
    "lvmconfig --type default --ignoreadvanced devices",
    "lvmconfig --type default --ignoreadvanced devices/dir",
    "lvmconfig --type default --ignorelocal local",
    "lvmconfig --type default --showdeprecated --showunsupported global",
    "lvmconfig --type default --atversion 2.2.99 report config",
    "lvmconfig --type default devices/dir/x",
    "lvmconfig --type missing report devices",
    "lvmconfig --type diff",
    "lvmconfig --type new",
    "lvmconfig --type new --sinceversion 2.3.12",
    "lvmconfig --type new --atversion 2.2.99 config global",
    "lvmconfig --type profilable report",
    "lvmconfig --type profilable-command log",
    "lvmconfig --type profilable-metadata activation",
    "lvmconfig --config report/aligned=1",
    "lvmconfig --mergedconfig --config report/aligned=1~report/headings=0 report",
    "lvmconfig --mergedconfig report",
    "lvmconfig --commandprofile c",
    "lvmconfig --metadataprofile m allocation",
    "lvmconfig --validate",
    "lvmconfig --validate --config devices/nosuch=1",
];

#[test]
fn the_configuration_is_shown_as_by_stock() {
    // Proves: what is set, defaults, differences, names and what may stand in profiles are shown as
    // stock shows them, from files, texts and profiles; wrong questions are refused.
    let both = Both::new();
    both.file(
        "lvm.conf",
        "report { separator=\":\" aligned=0 list_item_separator=\",\" }\n\
         allocation/cling_tag_list=[\"@a\",\"@b\"] global { umask=077 units=\"h\" } \
         tags { x { } }\nglobal/system_id_source=\"lvmlocal\"",
    );
    both.file(
        "lvmlocal.conf",
        "local { system_id=\"a\\\"b\" extra_system_ids=[\"c\"] }",
    );
    std::fs::create_dir(both.scratch.join("profile")).expect("a folder");
    both.file("profile/c.profile", "report/separator=\";\"");
    both.file("profile/m.profile", "allocation/thin_pool_zero=0");
    for line in ASKED {
        both.same(line);
    }
    let [ours, theirs] = both.each("lvmconfig --type full report global");
    let sorted = |finished: &Finished| {
        let text = finished.text();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    };
    assert_eq!(sorted(&ours), sorted(&theirs));
    let file = both.scratch.join("out");
    both.same(&format!("lvmconfig -f {} report", file.display()));
    let written = std::fs::read_to_string(&file).expect("a file");
    assert_eq!(written, both.same("lvmconfig report"));
    for line in [
        "lvmconfig --type nosuch",
        "lvmconfig --validate --type default",
        "lvmconfig --mergedconfig --type diff",
        "lvmconfig --sinceversion 2.3.0",
        "lvmconfig --type new --sinceversion x",
        "lvmconfig -f /nonexistent/x",
        "lvmconfig --commandprofile nosuch",
    ] {
        let [ours, theirs] = both.each(line);
        assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
        assert_ne!(ours.code, Some(0), "{ours}");
    }
    let comments = both.each("lvmconfig --type default --withcomments devices/dir")[0].text();
    // Stock's text stands where ours says what becomes of it.
    let told = "# Configuration option devices/dir.\n# string; read.\n\
        # This configuration option is advanced.\n";
    assert!(comments.contains(told), "{comments}");
}

#[test]
fn wrong_settings_are_told_as_by_stock() {
    // Proves: unknown settings and wrong types are told in stock's words, once, and are fatal only
    // where the configuration says so.
    let both = Both::new();
    for setting in [
        "nosuch=1",
        "devices/nosuch=1",
        "a/b/c=1",
        "global/suffix=0.5",
        "devices/pv_min_size=\"x\"",
        "devices/dir{}",
        "global/suffix=\"maybe\"",
        "global/suffix=3",
        "global/umask=\"x\"~devices/nosuch=1",
        "config/checks=0~devices/nosuch=1",
        "config/abort_on_errors=1~report/aligned=1",
    ] {
        let [ours, theirs] = both.each(&format!("formats --config {setting}"));
        assert_eq!(ours.code, theirs.code, "{ours}\n{theirs}");
        let sorted = |finished: &Finished| {
            let text = finished.complaints();
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        assert_eq!(sorted(&ours), sorted(&theirs), "{setting}");
    }
    let fatal = "systemid --config config/abort_on_errors=1~devices/nosuch=1";
    let [ours, theirs] = both.each(fatal);
    assert_eq!((ours.code, theirs.code), (Some(5), Some(5)), "{ours}");
    // A format of times that is none is fatal in any case.
    both.refused("formats --config report/time_format=\"%%\"", 5);
    both.file("lvm.conf", "report/time_format=\"%Q\"");
    both.refused("formats", 4);
    both.file("lvm.conf", "devices/nosuch=1 global/suffix=0.5 bar {}");
    let [ours, _] = both.each("formats");
    let said = ours.complaints();
    for words in [
        "Configuration setting \"devices/nosuch\" unknown.",
        "Configuration section \"bar\" unknown.",
        "\"global/suffix\" has invalid type. Found float but expected boolean.",
    ] {
        assert_eq!(said.matches(words).count(), 1, "{said}");
    }
}
