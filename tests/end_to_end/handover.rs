//! The end of an owner, its many clients, and the new names of what it serves.

use std::fs;
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tests::{Daemon, Group, LIMIT};

/// Bytes of a disk.
const SIZE: u64 = 64 << 20;

/// A client that speaks by itself, and so says things when it likes.
struct Client(BufReader<UnixStream>);

impl Client {
    /// One that was greeted, of the only owner there is.
    fn of(group: &Group) -> Self {
        let mut owners = fs::read_dir(group.join("run/groups")).expect("there are groups");
        let owner = owners.next().expect("there is an owner").expect("is read");
        let socket = UnixStream::connect(owner.path().join("socket")).expect("it listens");
        let limit = Some(LIMIT);
        socket.set_read_timeout(limit).expect("a limit");
        let mut client = Self(BufReader::new(socket));
        let hello = client.hear();
        assert!(hello.contains("\"reply\":\"hello\""), "{hello}");
        client
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line
    }

    fn say(&mut self, line: &str) {
        let line = format!("{{\"ashlar\":1,{line}}}\n");
        self.0.get_mut().write_all(line.as_bytes()).expect("heard");
    }

    /// Asks for a command of the group's program.
    fn run(&mut self, group: &Group, words: &[&str]) {
        let disks = group.disk(0);
        let disks = disks.parent().expect("a directory").display().to_string();
        let all = [&words[..1], &["--devices", &disks], &words[1..]].concat();
        let words: Vec<String> = all.iter().map(|word| format!("\"{word}\"")).collect();
        let words = words.join(",");
        self.say(&format!(
            "\"request\":\"run\",\"words\":[{words}],\"folder\":\"/\""
        ));
    }

    /// Asks for a volume on one end of a pair of sockets; the other end is given.
    fn export(&mut self, volume: &str) -> UnixStream {
        let (theirs, ours) = UnixStream::pair().expect("a pair");
        let line = format!(
            "{{\"ashlar\":1,\"request\":\"export\",\"volumes\":[\"{volume}\"],\
             \"read_only\":true,\"way\":\"nbd\"}}\n"
        );
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [theirs.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
        let pieces = [IoSlice::new(line.as_bytes())];
        sendmsg(self.0.get_ref(), &pieces, &mut control, SendFlags::empty()).expect("heard");
        ours
    }
}

/// An owner that has nothing more to serve does not end while somebody is connected whom it
/// greeted: the command that comes then runs, and the volume is detached afterwards.
#[test]
fn who_was_greeted_is_served() {
    let group = Group::new("greet", 1, SIZE);
    group.create("d", &["-l", "4"]);
    group.attach("d");
    let mut client = Client::of(&group);
    thread::scope(|scope| {
        let detach = scope.spawn(|| group.detach("d"));
        thread::sleep(Duration::from_millis(700));
        assert!(!detach.is_finished(), "the group is given up");
        client.run(&group, &["lvchange", "--addtag", "t", "vg0/d"]);
        let said = client.hear();
        assert!(said.contains("changed"), "{said}");
        let end = client.hear();
        assert!(end.contains("\"reply\":\"end\",\"status\":0"), "{end}");
        drop(client);
        detach.join().expect("it is detached");
    });
    let tags = group.ashlar().args(["lvs", "--noheadings", "-o", "tags"]);
    assert_eq!(tags.succeed().text().trim(), "t");
}

/// An owner that is told to end lets commands under way come to their end, and tells those who
/// asked for nothing yet that nothing was begun.
#[test]
fn an_owner_that_is_stopped_says_what_it_did() {
    let group = Group::new("stop", 1, SIZE);
    group.create("d", &["-l", "4"]);
    let socket = group.join("nbd");
    let serve = group.ashlar().args(["serve", "vg0/d"]);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let mut served = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    let mut silent = Client::of(&group);
    let mut asked = Client::of(&group);
    asked.run(&group, &["lvreduce", "-l", "1", "vg0/d"]);
    while !asked.hear().contains("\"reply\":\"ask\"") {}
    group.ashlar().args(["stop", "vg0"]).succeed();
    let said = silent.hear();
    assert!(said.contains("\"reply\":\"ending\""), "{said}");
    let mut end = String::new();
    while !end.contains("\"reply\":\"end\"") {
        end = asked.hear();
        assert!(!end.is_empty(), "it was cut off");
    }
    assert!(end.contains("\"status\":5"), "{end}");
    let code = served.ended(LIMIT);
    assert_eq!(code, Some(0));
    // And commands find the group free at once.
    group
        .ashlar()
        .args(["lvextend", "-l", "+1", "vg0/d"])
        .succeed();
}

/// Owners end and begin while commands look for them: none of them fails.
#[test]
fn commands_meet_owners_that_end() {
    let group = Group::new("meet", 1, SIZE);
    for name in ["a", "b"] {
        group.create(name, &["-l", "1"]);
    }
    for round in 0..3 {
        group.attach("a");
        group.attach("b");
        group.detach("a");
        group.detach("b");
        let tag = format!("t{round}");
        let change = group.ashlar().args(["lvchange", "--addtag", &tag, "vg0/b"]);
        change.succeed();
    }
}

/// Volumes that are renamed while they are attached, or whose group is, go by their new names at
/// once, for who owns them and for others; the old name is free for another volume.
#[test]
fn attached_volumes_follow_their_names() {
    let group = Group::new("rename", 1, SIZE);
    for name in ["a", "b"] {
        group.create(name, &["-l", "1"]);
    }
    let nodes = [group.attach("a"), group.attach("b")];
    let run = |words: &[&str]| group.ashlar().args(words).succeed().text();
    run(&["lvrename", "vg0", "a", "c"]);
    run(&["lvrename", "vg0", "b", "d"]);
    run(&["vgrename", "vg0", "vg1"]);
    let owners = run(&["owners"]);
    for (name, node) in ["c", "d"].iter().zip(&nodes) {
        let node = node.display().to_string();
        let is_it = |line: &&str| line.contains(&format!(" {name} ")) && line.ends_with(&node);
        assert!(owners.lines().any(|line| is_it(&line)), "{owners}");
        let again = group.ashlar().args(["attach", &format!("vg1/{name}")]);
        let said = again.exit(5).complaints();
        assert!(
            said.contains(&format!("already attached at {node}")),
            "{said}"
        );
    }
    run(&["vgrename", "vg1", "vg0"]);
    group.create("a", &["-l", "1"]);
    let third = group.attach("a");
    assert!(!nodes.contains(&third));
    let gone = group.ashlar().args(["detach", "vg0/b"]).exit(5);
    assert!(gone.complaints().contains("vg0/b is not attached"));
    for name in ["a", "c", "d"] {
        group.detach(name);
    }
}

/// An owner serves for many more than 64 at a time, and answers others beside them.
#[test]
fn an_owner_has_many_clients() {
    let group = Group::new("many", 1, SIZE);
    group.create("d", &["-l", "1"]);
    group.attach("d");
    let mut clients = Vec::new();
    for _ in 0..80 {
        let mut client = Client::of(&group);
        let socket = client.export("d");
        let said = client.hear();
        assert!(said.contains("\"reply\":\"exported\""), "{said}");
        clients.push((client, socket));
    }
    let owners = group.ashlar().arg("owners").succeed().text();
    assert!(owners.contains(" 81"), "{owners}");
    // Who comes when too many ask is told so.
    let mut waiting: Vec<Client> = (0..64).map(|_| Client::of(&group)).collect();
    let turned = group.ashlar().args(["lvchange", "--addtag", "t", "vg0/d"]);
    let said = turned.exit(5).complaints();
    assert!(
        said.contains("at a time: try again, or detach some"),
        "{said}"
    );
    waiting.clear();
    drop(clients);
    group.detach("d");
}
