//! Copies of volumes that cannot be read everywhere, and copies that are ended in the middle.
//!
//! A disk with bad blocks is an NBD server, nbdkit's `eval`, that fails reads which touch ranges in
//! a list; GNU ddrescue's own `ddrescuelog` reads the maps.

use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tests::{Daemon, Finished, Group, Tool, ashlar};

const MIB: u64 = 1 << 20;
/// Every physical block size of the disks here divides it.
const BLOCK: u64 = 4096;
/// The volume, in bytes.
const SIZE: u64 = 20 * MIB;
/// What a copy may take to end after a signal.
const END_MAX: Duration = Duration::from_mins(2);

/// Bytes of which no block is zero or like another.
fn content(size: u64) -> Vec<u8> {
    let words = (0..size / 8).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).to_le_bytes());
    words.flatten().collect()
}

/// The volume `vg0/data` on a disk behind a server.
struct Bench {
    group: Group,
    content: Vec<u8>,
    /// Where the volume begins on its disk.
    place: u64,
    server: Option<Daemon>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let group = Group::new(name, 1, 64 * MIB);
        group.create("data", &["-L", "20m"]);
        let (content, source) = (content(SIZE), group.join("source"));
        fs::write(&source, &content).expect("a file");
        let fill = group.ashlar().arg("cp").arg(&source).arg("vg0/data");
        fill.succeed();
        let (_, place) = group.place("data");
        fs::write(group.join("bad"), "").expect("a list");
        let mut bench = Self {
            group,
            content,
            place,
            server: None,
        };
        bench.serve();
        bench
    }

    fn serve(&mut self) {
        let socket = self.group.join("socket");
        let (disk, bad) = (self.group.disk(0), self.group.join("bad"));
        let (disk, bad, place) = (disk.display(), bad.display(), self.place);
        let read = format!(
            "[ -e {bad}.slow ] && [ $4 -ge {place} ] && sleep 1; \
             while read s e; do \
                 if [ $4 -lt $e ] && [ $(($4 + $3)) -gt $s ]; then echo EIO bad >&2; exit 1; fi; \
             done < {bad}; \
             dd if={disk} iflag=skip_bytes,count_bytes bs=512k skip=$4 count=$3 status=none"
        );
        let tool = Tool::new("nbdkit")
            .args(["-f", "-r", "-t", "8", "-U"])
            .arg(&socket)
            .arg("eval")
            .arg("block_size=echo 512 4096 32M")
            .arg(format!("get_size=stat -Lc %s {disk}"))
            .arg(format!("pread={read}"));
        let is_ready = || UnixStream::connect(&socket).is_ok();
        self.server = Some(Daemon::start(tool, is_ready));
    }

    /// The program, on the disk behind the server.
    fn ashlar(&self) -> Tool {
        let socket = self.group.join("socket");
        ashlar()
            .env("ASHLAR_RUNTIME_DIR", self.group.join("run"))
            .arg("--devices")
            .arg(format!("nbd+unix:///?socket={}", socket.display()))
    }

    /// From now on these ranges of the volume cannot be read.
    fn damage(&self, ranges: &[(u64, u64)]) {
        let line = |(start, len): &(u64, u64)| {
            let start = self.place + start;
            format!("{start} {}\n", start + len)
        };
        let list: String = ranges.iter().map(line).collect();
        fs::write(self.group.join("bad"), list).expect("a list");
    }

    /// Whether each read of the volume takes long.
    fn slow(&self, is_slow: bool) {
        let mark = self.group.join("bad.slow");
        if is_slow {
            fs::write(mark, "").expect("a mark");
        } else {
            fs::remove_file(mark).expect("it was there");
        }
    }

    /// Copies the volume to `out`.
    fn copy(&self, options: &[&str], out: &Path) -> Finished {
        let copy = self.ashlar().arg("cp").args(options).arg("vg0/data");
        copy.arg(out).run()
    }

    /// What the volume holds, with zeros in `ranges`.
    fn without(&self, ranges: &[(u64, u64)]) -> Vec<u8> {
        let mut content = self.content.clone();
        for (start, len) in ranges {
            content[*start as usize..(start + len) as usize].fill(0);
        }
        content
    }
}

/// The bad blocks of a map, as ddrescue's tool sees them.
fn bad_blocks(map: &Path) -> Vec<u64> {
    let list = Tool::new("ddrescuelog")
        .args(["-b", "4096", "-l-"])
        .arg(map);
    let text = list.succeed().text();
    text.lines()
        .map(|line| line.trim().parse().expect("a number"))
        .collect()
}

fn map_of(out: &Path) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(".map");
    path.into()
}

/// Whether a map says that something is there.
fn has_some(map: &Path) -> bool {
    fs::read_to_string(map).is_ok_and(|text| text.lines().any(|line| line.ends_with("  +")))
}

#[test]
fn bad_blocks_are_left_out_and_named() {
    // Proves: behind blocks that cannot be read a copy goes on, to a file, backwards, and to a
    // stream; what is not there are zeros, a map of ddrescue's lists exactly that, the disk and the
    // byte are said, and the exit status is 6. When the blocks can be read again, so is the copy.
    let bench = Bench::new("salvage");
    let bad = [
        (5 * MIB + 3 * BLOCK, BLOCK),
        (10 * MIB, 3 * BLOCK),
        (10 * MIB + 9 * BLOCK, BLOCK),
        (SIZE - BLOCK, BLOCK),
    ];
    bench.damage(&bad);
    let blocks: Vec<u64> = bad
        .iter()
        .flat_map(|(start, len)| start / BLOCK..(start + len) / BLOCK)
        .collect();
    let wanted = bench.without(&bad);
    for (number, options) in [&["--partial"][..], &["--partial", "--reverse"]]
        .iter()
        .enumerate()
    {
        let out = bench.group.join(format!("out{number}"));
        let done = bench.copy(options, &out);
        assert_eq!(done.code, Some(6), "{done}");
        assert!(fs::read(&out).expect("a copy") == wanted, "{done}");
        assert_eq!(bad_blocks(&map_of(&out)), blocks, "{done}");
        let said = done.complaints();
        let sum = format!(
            "{} of {SIZE} bytes of vg0/data",
            blocks.len() as u64 * BLOCK
        );
        let place = format!("12288 bytes at byte {} of nbd", bench.place + 10 * MIB);
        assert!(said.contains(&sum) && said.contains(&place), "{said}");
    }
    let streamed = bench.ashlar().args(["cat", "--partial", "vg0/data"]).run();
    assert_eq!(streamed.code, Some(6), "{streamed}");
    assert!(streamed.stdout == wanted);
    let place = format!("4096 bytes at byte {} of nbd", bench.place + SIZE - BLOCK);
    assert!(
        streamed.complaints().contains(&place),
        "{}",
        streamed.complaints()
    );

    // Without --partial the first one ends it, and says what there is.
    let out = bench.group.join("plain");
    let refused = bench.copy(&[], &out);
    assert_eq!(refused.code, Some(5), "{refused}");
    assert!(
        refused.complaints().contains("--partial goes on"),
        "{refused}"
    );
    let map = map_of(&out).display().to_string();
    let gone_on = bench.copy(&["--partial", "--map", &map], &out);
    assert_eq!(gone_on.code, Some(6), "{gone_on}");
    assert!(fs::read(&out).expect("a copy") == wanted);
    bench.damage(&[]);
    let again = bench.copy(&["--partial", "--map", &map], &out);
    assert_eq!(
        again.code,
        Some(6),
        "a bad block is not tried again: {again}"
    );
    let again = bench.copy(&["--partial", "--retries", "1", "--map", &map], &out);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(fs::read(&out).expect("a copy") == bench.content);
}

#[test]
fn a_copy_that_was_ended_is_gone_on_with() {
    // Proves: a copy that a signal or a kill ends has a map beside it, and is not taken for whole
    // nor begun anew by mistake; the command that is printed reads what is left and nothing else.
    let bench = Bench::new("ended");
    for (signal, name) in [(Signal::INT, "int"), (Signal::KILL, "kill")] {
        let out = bench.group.join(name);
        let map = map_of(&out);
        bench.slow(true);
        let copy = bench.ashlar().args(["cp", "vg0/data"]).arg(&out);
        let mut copy = Daemon::start(copy, || has_some(&map));
        copy.signal(signal);
        let code = copy.ended(END_MAX);
        let said = copy.stop();
        bench.slow(false);
        if signal == Signal::INT {
            assert_eq!(code, Some(130), "{said}");
            assert!(said.contains("was interrupted"), "{said}");
            let command = format!("--map={} vg0/data {}", map.display(), out.display());
            assert!(said.contains(&command), "{said}");
        }
        let again = bench.copy(&[], &out);
        assert_eq!(again.code, Some(5), "{again}");
        assert!(again.complaints().contains("unfinished"), "{again}");

        // What was there is not read again.
        let file = fs::File::options().write(true).open(&out).expect("a copy");
        file.write_all_at(b"mark", 0).expect("a mark");
        let text = fs::read_to_string(&map).expect("a map");
        assert!(text.contains("  ?"), "it was not at its end: {text}");
        let map = map.display().to_string();
        let done = bench.copy(&["--map", &map], &out);
        assert_eq!(done.code, Some(0), "{done}");
        let mut wanted = bench.content.clone();
        wanted[..4].copy_from_slice(b"mark");
        assert!(fs::read(&out).expect("a copy") == wanted, "{name}");
    }
}

#[test]
fn a_missing_disk_is_left_out_until_it_is_back() {
    // Proves: of a volume on a missing disk all else is copied, to a file and to a stream; it is
    // said what was on which disk; the same command reads it when the disk is back, and removes the
    // map that nobody asked for. Maps of other volumes are refused.
    let group = Group::new("absent", 3, 32 * MIB);
    group.create("wide", &["-L", "12m", "-i", "3"]);
    group.create("other", &["-L", "12m"]);
    let (content, source) = (content(12 * MIB), group.join("source"));
    fs::write(&source, &content).expect("a file");
    group
        .ashlar()
        .arg("cp")
        .arg(&source)
        .arg("vg0/wide")
        .succeed();
    let (disk, away) = (group.disk(1), group.join("away"));
    fs::rename(&disk, &away).expect("it is there");

    let mut wanted = content.clone();
    for chunk in wanted.chunks_mut(64 << 10).skip(1).step_by(3) {
        chunk.fill(0);
    }
    let out = group.join("out");
    let map = map_of(&out);
    let copy = || {
        group
            .ashlar()
            .args(["cp", "--partial", "vg0/wide"])
            .arg(&out)
    };
    let done = copy().exit(6);
    assert!(fs::read(&out).expect("a copy") == wanted);
    let said = done.complaints();
    assert!(
        said.contains("4194304 of 12582912 bytes of vg0/wide"),
        "{said}"
    );
    assert!(
        said.contains("4194304 bytes at byte 1048576 of PV"),
        "{said}"
    );
    let show = Tool::new("ddrescuelog")
        .arg("-t")
        .arg(&map)
        .succeed()
        .text();
    assert!(show.contains("bad-sector:        0 B"), "{show}");
    let streamed = group
        .ashlar()
        .args(["cat", "--partial", "vg0/wide"])
        .exit(6);
    assert!(streamed.stdout == wanted);
    copy().exit(5);

    fs::rename(&away, &disk).expect("it is there");
    let other = group.ashlar().args(["cp", "--partial", "--map"]).arg(&map);
    let refused = other.arg("vg0/other").arg(&out).exit(5);
    assert!(
        refused.complaints().contains("is the map of vg0/wide"),
        "{refused}"
    );
    let text = fs::read_to_string(&map).expect("a map");
    fs::write(&map, text.replace("0x00010000  ?", "0x00010000  !")).expect("it is ours");
    let damaged = group.ashlar().args(["cp", "--partial", "--map"]).arg(&map);
    damaged.arg("vg0/wide").arg(&out).exit(5);
    fs::write(&map, text).expect("it is ours");
    let same = group.ashlar().args(["cp", "--partial", "--map"]).arg(&map);
    same.arg("vg0/wide").arg(&out).succeed();
    assert!(fs::read(&out).expect("a copy") == content);

    let whole = group.join("whole");
    group
        .ashlar()
        .args(["cp", "vg0/wide"])
        .arg(&whole)
        .succeed();
    assert!(fs::read(&whole).expect("a copy") == content);
    assert!(!map_of(&whole).exists());
}
