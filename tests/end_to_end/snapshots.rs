//! Snapshots of the golden disks: served, and compared with what else there is.

use std::os::unix::net::UnixStream;

use tests::{Daemon, Golden, Scratch, Tool, ashlar, sha256};

fn on(golden: &Golden) -> Tool {
    ashlar().arg("--devices").arg(golden.folder())
}

/// The content of a volume.
fn content(golden: &Golden, volume: &str) -> Vec<u8> {
    on(golden).arg("cat").arg(volume).succeed().stdout
}

/// The ranges that `snapshot diff` lists, first and length.
fn listed(golden: &Golden, volumes: &[&str]) -> Vec<(usize, usize)> {
    let text = on(golden)
        .args(["snapshot", "diff"])
        .args(volumes)
        .succeed();
    let lines = text.text();
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let range = |line: &str| {
        let mut words = line.split_whitespace().map(number);
        (
            words.next().expect("a start"),
            words.next().expect("a length"),
        )
    };
    lines.lines().skip(1).map(range).collect()
}

#[test]
fn differences_are_listed() {
    // Proves: bytes that `snapshot diff` does not list are the same in a snapshot and its origin,
    // and in two snapshots of one origin; what it lists is whole chunks, and not everything. So a
    // backup of one becomes the other with what is listed.
    let golden = Golden::shared();
    let pairs = [
        (&["vg0/snap1"][..], "vg0/snap1", "vg0/origin", 4096),
        (&["vg0/snap2"], "vg0/snap2", "vg0/origin", 16384),
        (&["vg0/snap1", "vg0/snap2"], "vg0/snap1", "vg0/snap2", 4096),
    ];
    for (operands, one, other, chunk) in pairs {
        let (one, mut backup) = (content(&golden, one), content(&golden, other));
        assert!(one != backup, "they differ");
        let ranges = listed(&golden, operands);
        let mut total = 0;
        for (start, length) in ranges {
            assert!(
                start % chunk == 0 && length % chunk == 0,
                "{start}+{length}"
            );
            total += length;
            backup[start..start + length].copy_from_slice(&one[start..start + length]);
        }
        assert!(one == backup, "{operands:?}: something is not listed");
        assert!(total < one.len(), "{operands:?}: everything is listed");
    }
    let json = on(&golden)
        .args(["snapshot", "diff", "--json", "vg0/snap2"])
        .succeed();
    let begin =
        "{\"volume\":\"vg0/snap2\",\"other\":\"vg0/origin\",\"size\":6291456,\"chunk\":16384,";
    assert!(json.text().trim().starts_with(begin), "{json}");
    on(&golden).args(["snapshot", "diff", "vg0/origin"]).exit(5);
    on(&golden)
        .args(["snapshot", "diff", "vg0/snap1", "vg0/linear1"])
        .exit(5);
    on(&golden).arg("snapshot").exit(3);
}

#[test]
fn snapshots_are_served_for_reading() {
    // Proves: NBD clients get a snapshot as the kernel showed it, and nobody may write it.
    let golden = Golden::shared();
    let scratch = Scratch::new("snapshots");
    let socket = scratch.join("s");
    let served = ["vg0/snap1", "vg0/snap2"];
    let serve = on(&golden).args(["serve", "--readonly"]).args(served);
    let serve = serve.arg(format!("--nbd=unix:{}", socket.display()));
    let server = Daemon::start(serve, || UnixStream::connect(&socket).is_ok());
    for volume in served {
        let copy = scratch.join("copy");
        let uri = format!("nbd+unix:///{volume}?socket={}", socket.display());
        Tool::new("nbdcopy").arg(uri).arg(&copy).succeed();
        let bytes = std::fs::read(&copy).expect("a copy");
        let name = volume.trim_start_matches("vg0/");
        assert_eq!(sha256(&bytes), Golden::volume(name).sha256, "{volume}");
    }
    drop(server);
}
