//! `ashlar md`: arrays that are made, listed and checked; legs that go and come back.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tests::{Daemon, Finished, Scratch, Tool, ashlar, sha256};

const MIB: u64 = 1 << 20;

/// Disks, and the program that sees some of them.
struct Lab {
    scratch: Scratch,
    disks: Vec<PathBuf>,
}

impl Lab {
    fn new(name: &str, count: usize) -> Self {
        let scratch = Scratch::new(name);
        let disk = |number: usize| scratch.sparse(&format!("d{number}.img"), 20 * MIB);
        let disks = (0..count).map(disk).collect();
        Self { scratch, disks }
    }

    /// The names of these disks.
    fn names(&self, numbers: &[usize]) -> Vec<String> {
        let name = |number: &usize| self.disks[*number].display().to_string();
        numbers.iter().map(name).collect()
    }

    fn tool(&self, devices: &[String]) -> Tool {
        ashlar()
            .env("ASHLAR_DEVICES", devices.join(":"))
            .env("LVM_SYSTEM_DIR", self.scratch.path())
            .env("XDG_STATE_HOME", self.scratch.path())
            .env("ASHLAR_RUNTIME_DIR", self.scratch.join("run"))
    }

    /// Runs a command on these disks.
    fn on(&self, numbers: &[usize], words: &[&str]) -> Finished {
        self.tool(&self.names(numbers)).args(words).succeed()
    }

    fn list(&self, numbers: &[usize]) -> serde_json::Value {
        let listed = self.on(numbers, &["md", "list", "--json"]).text();
        serde_json::from_str(listed.lines().next().expect("an array")).expect("JSON")
    }

    /// What each leg is, and then each other device.
    fn states(&self, numbers: &[usize]) -> Vec<String> {
        let listed = self.list(numbers);
        let members = listed["members"].as_array().expect("devices").iter();
        let state = |member: &serde_json::Value| member["state"].as_str().unwrap().to_owned();
        members.map(state).collect()
    }

    /// A group with a volume on the array of these disks, filled.
    fn filled(&self, numbers: &[usize], array: &str, content: &[u8]) {
        self.on(numbers, &["vgcreate", "-s", "1m", "vg0", array]);
        self.on(numbers, &["lvcreate", "-L", "6m", "-n", "data", "vg0"]);
        self.fill(numbers, content);
    }

    fn fill(&self, numbers: &[usize], content: &[u8]) {
        let path = self.scratch.join("content");
        fs::write(&path, content).expect("a file");
        self.on(numbers, &["cp", &path.display().to_string(), "vg0/data"]);
    }

    fn sum(&self, numbers: &[usize]) -> String {
        sha256(&self.on(numbers, &["cat", "vg0/data"]).stdout)
    }
}

fn content(seed: u64) -> Vec<u8> {
    (0..6 * MIB)
        .map(|at| (at / 512 * 7 + at % 251 + seed * 13) as u8)
        .collect()
}

#[test]
fn arrays_are_made_in_each_format() {
    // Proves: an array of each level in each format holds a group, goes together, is what the list
    // says, and mdadm finds all of its superblocks right.
    for (metadata, level, legs) in [
        ("0.90", "1", 2),
        ("0.90", "5", 3),
        ("1.0", "6", 4),
        ("1.0", "linear", 2),
        ("1.1", "10", 3),
        ("1.1", "0", 2),
        ("1.2", "4", 3),
        ("1.2", "1", 3),
    ] {
        let lab = Lab::new("md-made", legs + 1);
        let has_copies = !matches!(level, "0" | "linear");
        let count = if has_copies { legs + 1 } else { legs };
        let all: Vec<usize> = (0..count).collect();
        let mut words = vec!["md", "create", "--level", level, "--metadata", metadata];
        let number = legs.to_string();
        words.extend(["--raid-devices", &number, "new"]);
        let names = lab.names(&all);
        words.extend(names.iter().map(String::as_str));
        let made = lab.on(&[], &words).text();
        assert_eq!(made.contains("is in sync"), has_copies, "{made}");
        let listed = lab.list(&all);
        let name = listed["name"].as_str().expect("a name").to_owned();
        let wanted = match level {
            "linear" => level.to_owned(),
            level => format!("raid{level}"),
        };
        assert_eq!(
            (&listed["level"], &listed["metadata"]),
            (&wanted.into(), &metadata.into())
        );
        assert_eq!(listed["state"], serde_json::json!(["clean"]), "{listed}");
        assert_eq!(
            listed["consistency"],
            if has_copies { "bitmap" } else { "none" }
        );
        let mut states = vec!["in_sync"; legs];
        states.extend(std::iter::repeat_n("spare", count - legs));
        assert_eq!(lab.states(&all), states, "{listed}");
        lab.filled(&all, &name, &content(1));
        assert_eq!(lab.sum(&all), sha256(&content(1)));
        let examined = Tool::new("mdadm")
            .arg("--examine")
            .args(&names)
            .succeed()
            .text();
        let uuid = listed["uuid"].as_str().expect("a UUID");
        assert!(
            examined.matches(uuid).count() >= count,
            "{uuid}: {examined}"
        );
        assert!(!examined.contains("expected"), "{examined}");
        if has_copies {
            let checked = lab.on(&all, &["md", "check"]).text();
            assert!(checked.contains("no mismatches in "), "{checked}");
        }
    }
}

#[test]
fn what_devices_hold_is_not_written_over() {
    // Proves: a device that holds something is named, and kept unless people agree; one that is in
    // use as a part of something is kept unless they also force it; what cannot be is refused
    // before anything is asked.
    let lab = Lab::new("md-held", 4);
    let (names, all) = (lab.names(&[0, 1, 2, 3]), [0, 1, 2, 3]);
    let mut disk = fs::read(&lab.disks[1]).expect("a disk");
    disk[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
    fs::write(&lab.disks[1], &disk).expect("a disk");
    lab.on(&[2], &["vgcreate", "vg1", &names[2]]);
    let create = |words: &[&str]| {
        let tool = lab.tool(&lab.names(&all));
        let tool = tool
            .args(["md", "create", "--level", "1", "new"])
            .args(words);
        tool.run()
    };
    let kept = || [1, 2].map(|disk: usize| sha256(&fs::read(&lab.disks[disk]).expect("a disk")));
    let before = kept();
    let refused = create(&[&names[0], &names[1]]);
    assert_eq!(refused.code, Some(5), "{refused}");
    assert!(
        refused.complaints().contains("holds ext4 at byte 1080"),
        "{refused}"
    );
    let refused = create(&["-y", &names[0], &names[2]]);
    assert_eq!(refused.code, Some(5), "{refused}");
    let said = refused.complaints();
    assert!(
        said.contains("a physical volume of group vg1") && said.contains("--force"),
        "{said}"
    );
    let refused = create(&[
        "-y",
        "--chunk",
        "64k",
        "--raid-devices",
        "3",
        &names[0],
        &names[1],
    ]);
    assert!(
        refused.complaints().contains("2 devices, for 3 legs"),
        "{refused}"
    );
    let refused = create(&[&names[0], &names[0]]);
    assert!(refused.complaints().contains("named twice"), "{refused}");
    assert_eq!(kept(), before, "nothing was written");
    let forced = create(&["-y", "--force", &names[1], &names[2]]);
    assert_eq!(forced.code, Some(0), "{forced}");
    let listed = lab.on(&all, &["md", "list"]).text();
    assert!(
        listed.contains("md:new") && listed.contains("in sync"),
        "{listed}"
    );
    let groups = lab.on(&all, &["vgs", "--noheadings"]).text();
    assert!(!groups.contains("vg1"), "{groups}");
}

#[test]
fn legs_go_and_come_back() {
    // Proves: what is written without a leg is on the array when the leg is back, of which no byte
    // is believed before; with a bitmap only what was marked meanwhile is copied, without one all;
    // another disk takes its place, and then it is never believed again.
    for (level, bitmap) in [
        ("1", "internal"),
        ("5", "none"),
        ("6", "internal"),
        ("10", "none"),
    ] {
        let lab = Lab::new("md-legs", 5);
        let (all, rest, others) = ([0, 1, 2, 3], [0, 2, 3], [0, 2, 3, 4]);
        let mut words = vec!["md", "create", "--level", level, "--bitmap", bitmap];
        words.extend(["--metadata", "1.2", "new"]);
        let names = lab.names(&[0, 1, 2, 3, 4]);
        words.extend(names[..4].iter().map(String::as_str));
        lab.on(&[], &words);
        lab.filled(&all, "md:new", &content(1));
        lab.on(&all, &["md", "remove", "new", &names[1]]);
        let states = lab.states(&all);
        assert_eq!(
            states,
            ["in_sync", "missing", "in_sync", "in_sync", "away"],
            "{level}"
        );
        assert_eq!(
            lab.list(&all)["state"],
            serde_json::json!(["clean", "degraded"])
        );
        lab.fill(&all, &content(2));
        assert_eq!(lab.sum(&all), sha256(&content(2)), "{level}");
        // A byte near the end of its data, where nothing was written meanwhile.
        let mut leg = fs::read(&lab.disks[1]).expect("a leg");
        let at = leg.len() - 64;
        leg[at] ^= 0xff;
        fs::write(&lab.disks[1], &leg).expect("a leg");
        lab.on(&all, &["md", "add", "new", &names[1]]);
        assert_eq!(lab.states(&all), ["in_sync"; 4], "{level}");
        let is_copied = fs::read(&lab.disks[1]).expect("a leg")[at] != leg[at];
        assert_eq!(is_copied, bitmap == "none", "{level}: what is copied");
        if !is_copied {
            lab.tool(&lab.names(&all)).args(["md", "check"]).exit(1);
            leg = fs::read(&lab.disks[1]).expect("a leg");
            leg[at] ^= 0xff;
            fs::write(&lab.disks[1], &leg).expect("a leg");
        }
        let checked = lab.on(&all, &["md", "check", "new"]).text();
        assert!(checked.contains("no mismatches in "), "{level}: {checked}");
        lab.fill(&rest, &content(3));
        lab.on(&others, &["md", "add", "new", &names[4]]);
        assert_eq!(lab.states(&others), ["in_sync"; 4], "{level}");
        for disks in [
            &[0, 4, 2, 3][..],
            &[4, 2, 3],
            &[0, 2, 3],
            &[0, 4, 2],
            &[0, 1, 2, 3, 4],
        ] {
            assert_eq!(
                lab.sum(disks),
                sha256(&content(3)),
                "{level} with {disks:?}"
            );
        }
        let checked = lab.on(&others, &["md", "check", "new"]).text();
        assert!(checked.contains("no mismatches in "), "{level}: {checked}");
        let old = lab.states(&[0, 1, 2, 3, 4]);
        assert_eq!(old[4], "away", "{level}: {old:?}");
        let refused = lab
            .tool(&lab.names(&others))
            .args(["md", "add", "new", &names[4]])
            .exit(5);
        assert!(refused.complaints().contains("already"), "{refused}");
    }
}

#[test]
fn spares_wait_and_are_forgotten() {
    // Proves: a device that is added to a whole array is a spare, takes the place of a leg when it
    // is added again, and is forgotten when it is removed; a leg that the array needs stays.
    for metadata in ["0.90", "1.2"] {
        let lab = Lab::new("md-spares", 4);
        let (legs, all) = ([0, 1, 2], [0, 1, 2, 3]);
        let names = lab.names(&all);
        let words = [
            "md",
            "create",
            "--level",
            "5",
            "--metadata",
            metadata,
            "new",
        ];
        let mut words = words.to_vec();
        words.extend(names[..3].iter().map(String::as_str));
        lab.on(&[], &words);
        let array = lab.list(&legs)["uuid"].as_str().expect("a UUID").to_owned();
        let name = lab.list(&legs)["name"].as_str().expect("a name").to_owned();
        lab.filled(&legs, &name, &content(1));
        let added = lab.on(&all, &["md", "add", &array, &names[3]]).text();
        assert!(added.contains("waits as a spare"), "{added}");
        assert_eq!(lab.states(&all), ["in_sync", "in_sync", "in_sync", "spare"]);
        lab.on(&all, &["md", "remove", &array, &names[3]]);
        assert_eq!(lab.states(&all), ["in_sync"; 3]);
        lab.on(&all, &["md", "add", &array, &names[3]]);
        lab.on(&all, &["md", "remove", &array, &names[0]]);
        let refused = lab
            .tool(&names)
            .args(["md", "remove", &array, &names[1]])
            .exit(5);
        assert!(
            refused.complaints().contains("cannot go on without"),
            "{refused}"
        );
        lab.on(&all, &["md", "add", &array, &names[3]]);
        assert_eq!(lab.sum(&[1, 2, 3]), sha256(&content(1)), "{metadata}");
        assert_eq!(lab.sum(&[1, 3]), sha256(&content(1)), "{metadata}");
        assert_eq!(lab.states(&[1, 2, 3]), ["in_sync"; 3], "{metadata}");
    }
}

/// A server of a disk that can go.
fn behind_server(folder: &Path, disk: &Path) -> (Daemon, String) {
    let socket = folder.join("remote.sock");
    let _ = fs::remove_file(&socket);
    let tool = Tool::new("nbdkit").args(["-f", "-U"]).arg(&socket);
    let server = Daemon::start(tool.arg("file").arg(disk), || {
        UnixStream::connect(&socket).is_ok()
    });
    (server, format!("nbd+unix:///?socket={}", socket.display()))
}

#[test]
fn a_stolen_computer_takes_no_data_with_it() {
    // Proves: of a RAID 1 with a leg in the computer and one behind a server the latter holds all
    // when the computer is gone: it alone is written on, a new disk takes the place of the stolen
    // one, and that one, when it is found again, is never believed, wherever it stands.
    let lab = Lab::new("md-stolen", 3);
    let folder = lab.scratch.path().to_owned();
    let (server, uri) = behind_server(&folder, &lab.disks[1]);
    let names = lab.names(&[0, 1, 2]);
    let on = |devices: &[&str], words: &[&str]| {
        let devices: Vec<String> = devices.iter().map(|name| (*name).to_owned()).collect();
        let tool = lab.tool(&[]).args(words);
        let tool = tool.args(["--assume-exclusive", "--devices", &devices.join(",")]);
        tool.succeed()
    };
    let (local, new) = (&*names[0], &*names[2]);
    let both = [local, &*uri];
    on(
        &both,
        &[
            "md",
            "create",
            "--level",
            "1",
            "--metadata",
            "1.2",
            "home",
            local,
            &uri,
        ],
    );
    on(&both, &["vgcreate", "-s", "1m", "vg0", "md:home"]);
    on(&both, &["lvcreate", "-L", "6m", "-n", "data", "vg0"]);
    let fill = |devices: &[&str], bytes: &[u8]| {
        let path = folder.join("content");
        fs::write(&path, bytes).expect("a file");
        on(devices, &["cp", &path.display().to_string(), "vg0/data"]);
    };
    let sum = |devices: &[&str]| sha256(&on(devices, &["cat", "vg0/data"]).stdout);
    fill(&both, &content(1));
    // The computer is gone: what is behind the server is all that there is.
    assert_eq!(sum(&[&uri]), sha256(&content(1)));
    fill(&[&uri], &content(2));
    assert_eq!(sum(&[&uri]), sha256(&content(2)));
    on(&[&uri, new], &["md", "add", "home", new]);
    fill(&[&uri, new], &content(3));
    assert_eq!(sum(&[new]), sha256(&content(3)));
    // It is found again.
    for devices in [&[local, &*uri, new][..], &[new, local], &[local, &uri]] {
        assert_eq!(sum(devices), sha256(&content(3)), "{devices:?}");
        let listed = on(devices, &["md", "list", "--json"]).text();
        assert!(listed.contains("\"away\""), "{listed}");
    }
    server.signal(Signal::KILL);
}

#[test]
fn groups_lie_on_arrays_of_partitions() {
    // Proves: the documents' stack: three disks with a partition table each, a RAID 5 of their
    // first partitions and a RAID 1 of two of their second ones, a group on each; a disk goes with
    // its legs of both arrays, everything is read and written without it, and a new disk with the
    // same partitions takes its place in both.
    let lab = Lab::new("md-partitions", 4);
    for disk in &lab.disks {
        let table = "label: gpt\nsize=10MiB\nsize=8MiB\n";
        Tool::new("sfdisk")
            .arg("-q")
            .arg(disk)
            .input(table)
            .succeed();
    }
    let part = |disk: usize, number: usize| format!("{}:{number}", lab.names(&[disk])[0]);
    let (all, rest, new) = ([0, 1, 2], [0, 2], [0, 2, 3]);
    let five: Vec<String> = all.iter().map(|disk| part(*disk, 1)).collect();
    let mut words = vec!["md", "create", "--level", "5", "--chunk", "64k", "wide"];
    words.extend(five.iter().map(String::as_str));
    lab.on(&all, &words);
    let one = [part(0, 2), part(1, 2)];
    lab.on(
        &all,
        &["md", "create", "--level", "1", "safe", &one[0], &one[1]],
    );
    lab.on(&all, &["vgcreate", "-s", "1m", "vg0", "md:wide"]);
    lab.on(&all, &["vgcreate", "-s", "1m", "vg1", "md:safe"]);
    lab.on(&all, &["lvcreate", "-L", "6m", "-n", "data", "vg0"]);
    lab.on(&all, &["lvcreate", "-L", "4m", "-n", "logs", "vg1"]);
    lab.fill(&all, &content(1));
    let logs = content(2)[..4 * MIB as usize].to_vec();
    let path = lab.scratch.join("logs");
    fs::write(&path, &logs).expect("a file");
    lab.on(&all, &["cp", &path.display().to_string(), "vg1/logs"]);
    let logs_on = |disks: &[usize]| sha256(&lab.on(disks, &["cat", "vg1/logs"]).stdout);
    // A disk with its legs of both arrays is gone.
    lab.fill(&rest, &content(3));
    assert_eq!(lab.sum(&rest), sha256(&content(3)));
    assert_eq!(logs_on(&rest), sha256(&logs));
    lab.on(&new, &["md", "add", "wide", &part(3, 1)]);
    lab.on(&new, &["md", "add", "safe", &part(3, 2)]);
    let checked = lab.on(&new, &["md", "check"]).text();
    assert_eq!(checked.matches("no mismatches in ").count(), 2, "{checked}");
    for disks in [[0, 3], [2, 3], [0, 2]] {
        assert_eq!(lab.sum(&disks), sha256(&content(3)), "{disks:?}");
    }
    assert_eq!(logs_on(&[2, 3]), sha256(&logs), "the mirror's new leg");
}
