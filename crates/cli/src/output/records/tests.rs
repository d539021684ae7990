//! Records in files and sockets of a test's own.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use ashlar::host::Config;

use super::{Weight, begin_with, keeps_details, record};
use crate::args::Arguments;
use crate::commands::arguments_of;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ashlar-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("makes a folder");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config(text: &str) -> Config {
    let mut config = Config::empty();
    config.add_text(text).expect("is a configuration");
    config
}

fn arguments(words: &[&str]) -> Arguments {
    arguments_of("vgchange", words)
}

fn received(socket: &UnixDatagram) -> Vec<String> {
    socket.set_nonblocking(true).expect("can be set");
    let mut page = [0; 512];
    let mut all = Vec::new();
    while let Ok(length) = socket.recv(&mut page) {
        all.push(String::from_utf8_lossy(&page[..length]).into_owned());
    }
    all
}

#[test]
fn a_file_has_what_its_level_says() {
    // Proves: messages up to the level stand there, behind those of before or instead of them.
    let folder = Folder::new("records-file");
    let path = folder.file("log");
    let text = |rest: &str| format!("log {{ file = \"{path}\" {rest} }}");
    let nowhere = ("/nowhere/log", "/nowhere/journal");
    let lines = || {
        let all = std::fs::read_to_string(&path).expect("was made");
        let parts = |line: &str| line.split_once("]  ").map(|(_, text)| text.to_owned());
        all.lines().filter_map(parts).collect::<Vec<_>>()
    };
    let say = || {
        record(Weight::Error, "  wrong\n");
        record(Weight::Notice, "found it");
        record(Weight::Debug, "read a sector");
    };
    let none = begin_with(&config(&text("level = 4")), &arguments(&[]), nowhere);
    assert!(none.is_empty(), "{none:?}");
    assert!(!keeps_details());
    say();
    assert_eq!(lines(), ["wrong"]);
    begin_with(&config(&text("level = 7")), &arguments(&[]), nowhere);
    assert!(keeps_details());
    say();
    assert_eq!(lines(), ["wrong", "wrong", "found it", "read a sector"]);
    begin_with(
        &config(&text("level = 5 overwrite = 1")),
        &arguments(&[]),
        nowhere,
    );
    say();
    assert_eq!(lines(), ["wrong", "found it"]);
    begin_with(&config(&text("level = 0")), &arguments(&[]), nowhere);
    say();
    assert_eq!(lines().len(), 2);
    let missing = config("log/file = \"/nowhere/log\"");
    let failed = begin_with(&missing, &arguments(&[]), nowhere);
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("/nowhere/log: open failed"));
}

#[test]
fn the_systems_log_and_the_journal_have_their_own_forms() {
    // Proves: each is asked for by itself, and a line holds no other field.
    let folder = Folder::new("records-sockets");
    let (system, journal) = (folder.file("log"), folder.file("journal"));
    let (to_system, to_journal) = (
        UnixDatagram::bind(&system).expect("binds"),
        UnixDatagram::bind(&journal).expect("binds"),
    );
    let sockets = (&*system, &*journal);
    begin_with(
        &config("log { syslog = 1 level = 4 }"),
        &arguments(&["vg"]),
        sockets,
    );
    record(Weight::Error, "wrong\nbadly");
    let pid = std::process::id();
    let expected = [
        format!("<11>lvm[{pid}]: wrong"),
        format!("<11>lvm[{pid}]: badly"),
    ];
    assert_eq!(received(&to_system), expected);
    assert!(received(&to_journal).is_empty());
    let words = ["--journal", "command", "vg"];
    begin_with(
        &config("log/journal = \"output\""),
        &arguments(&words),
        sockets,
    );
    record(Weight::Warning, "changed\rMESSAGE=x");
    record(Weight::Debug, "read a sector");
    let all = received(&to_journal);
    assert_eq!(all.len(), 2, "{all:?}");
    let typed = "MESSAGE=vgchange --journal command vg\nPRIORITY=5\nSYSLOG_IDENTIFIER=lvm\n";
    assert_eq!(all[0], typed);
    assert_eq!(all[1].matches('\n').count(), 3, "{:?}", all[1]);
    assert!(received(&to_system).is_empty());
}
