//! A snapshot that is written, and what people would use instead: a file that is kept as it was,
//! and another one that has what was written.
//!
//! Writes go to an overlay that is made for each measurement, so most of them are the first to
//! their place; reads find what such writes left. All files are on tmpfs, where nothing is ever
//! flushed: with a disk ours makes exceptions durable before it answers, and the others do not.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, copy};
use std::path::{Path, PathBuf};

use tests::{Scratch, Tool};

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::{Bench, is_there};
use super::super::cat::TMPFS;
use super::super::load::{Load, SECONDS, SMALL, example};
use super::super::nbd::{Server, serving};
use super::doors::Disks;

/// Rounds of a full run.
const ROUNDS: usize = 6;
const EXPORT: &str = "data";

/// What is asked, and what should come of it.
const CASES: [(&str, u32); 2] = [("depth 1", 1), ("depth 32", 32)];

/// A way to write without changing what is below.
struct Overlay<'a> {
    name: &'static str,
    /// Begins with an empty one.
    fresh: Box<dyn Fn() -> Server + 'a>,
    server: RefCell<Option<Server>>,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let client = example("ashlar", "load")?;
    let disks = Disks::within(Scratch::within(Path::new(TMPFS), "overlays"), bench, 1)?;
    disks.create(&["-n", EXPORT, "made"]);
    let folder = Scratch::within(Path::new(TMPFS), "plain");
    let plain = folder.join("plain.img");
    noise(&plain, disks.size).map_err(|error| format!("{}: {error}", plain.display()))?;
    let overlays = overlays(&disks, &folder, &plain);
    let mut rows = Vec::new();
    for (name, depth) in CASES {
        let load = Load { depth, ..SMALL };
        for what in [What::Rate, What::Processor] {
            let write = |overlay: &Overlay<'_>| {
                // The one before has to go first: its files have the same names.
                overlay.server.borrow_mut().take();
                *overlay.server.borrow_mut() = Some((overlay.fresh)());
                overlay.ask(bench, &client, (load.writing(), what))
            };
            let read = |overlay: &Overlay<'_>| overlay.ask(bench, &client, (load, what));
            let case = format!("random writes, {name}{}", what.words());
            rows.push(row(bench, &case, (&overlays, what), write)?);
            let case = format!("random reads, {name}{}", what.words());
            rows.push(row(bench, &case, (&overlays, what), read)?);
        }
    }
    Ok(rows)
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
enum What {
    /// Requests in a second.
    Rate,
    /// Processor time of a server for a request: says more where others use the machine, too.
    Processor,
}

impl What {
    fn words(self) -> &'static str {
        match self {
            What::Rate => "",
            What::Processor => ": server's processor time",
        }
    }
}

fn row(
    bench: &Bench,
    case: &str,
    (overlays, what): (&[Overlay<'_>], What),
    measure: impl Fn(&Overlay<'_>) -> Result<f64, String>,
) -> Result<Row, String> {
    let measure = &measure;
    let contestant = |overlay| Contestant::new(Overlay::name(overlay), move || measure(overlay));
    let contestants = overlays.iter().map(contestant).collect();
    let (unit, goal) = match what {
        What::Rate => (Unit::PerSecond, Goal::RatioAtLeast(1.0)),
        What::Processor => (Unit::Seconds, Goal::RatioAtMost(1.0)),
    };
    let rounds = bench.effort.rounds(ROUNDS);
    let row = contest(&format!("tmpfs, 4 KiB {case}"), unit, rounds, contestants)?;
    Ok(row.meant(goal))
}

impl Overlay<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ask(&self, bench: &Bench, client: &Path, (load, what): (Load, What)) -> Result<f64, String> {
        let server = self.server.borrow();
        let server = server.as_ref().ok_or("nothing was written yet")?;
        let before = server.processor_seconds()?;
        let rate = load.by_own(bench.effort, client, &server.uri)?;
        let used = server.processor_seconds()? - before;
        Ok(match what {
            What::Rate => rate,
            // A smoke run is over within one tick.
            What::Processor => used.max(0.01) / (rate * SECONDS as f64),
        })
    }
}

/// Ours first.
fn overlays<'a>(disks: &'a Disks, folder: &'a Scratch, plain: &'a Path) -> Vec<Overlay<'a>> {
    let overlay = |name, fresh| Overlay {
        name,
        fresh,
        server: RefCell::new(None),
    };
    let ours = || {
        if disks.tool("lvs").arg("made/snap").run().code == Some(0) {
            disks.tool("lvremove").args(["-y", "made/snap"]).succeed();
        }
        // Room for all of it, and for the exceptions.
        let size = format!("{}b", disks.size + disks.size / 4);
        let create = disks
            .tool("lvcreate")
            .args(["-y", "-s", "-n", "snap", "-L", &size]);
        create.arg(format!("made/{EXPORT}")).succeed();
        disks.serve(&["snap"])
    };
    let mut all = vec![overlay("ashlar", Box::new(ours) as Box<dyn Fn() -> Server>)];
    if is_there("qemu-storage-daemon") && is_there("qemu-img") {
        all.push(overlay("qcow2", Box::new(|| qcow2(folder, plain))));
    }
    if is_there("nbdkit") {
        all.push(overlay(
            "nbdkit cow",
            Box::new(|| nbdkit_cow(folder, plain)),
        ));
    }
    all
}

fn qcow2(folder: &Scratch, plain: &Path) -> Server {
    let files = Scratch::new("qcow2");
    let (socket, image) = (files.join("socket"), folder.join("overlay.qcow2"));
    let _ = fs::remove_file(&image);
    let create = Tool::new("qemu-img").args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"]);
    create.arg(plain).arg(&image).succeed();
    let node = format!(
        "driver=qcow2,node-name=node,file.driver=file,file.aio=io_uring,file.filename={}",
        image.display()
    );
    let address = format!("addr.type=unix,addr.path={}", socket.display());
    let export = format!("type=nbd,id=export,node-name=node,name={EXPORT},writable=on");
    let tool = Tool::new("qemu-storage-daemon").args([
        "--blockdev",
        &node,
        "--nbd-server",
        &address,
        "--export",
        &export,
    ]);
    serving("qcow2", EXPORT, tool, files, &socket)
}

fn nbdkit_cow(folder: &Scratch, plain: &Path) -> Server {
    let files = Scratch::new("nbdkit");
    let socket = files.join("socket");
    let tool = Tool::new("nbdkit")
        .env("TMPDIR", folder.path())
        .args(["--foreground", "--filter=cow", "--unix"])
        .arg(&socket)
        .arg("file")
        .arg(plain);
    serving("nbdkit cow", EXPORT, tool, files, &socket)
}

fn noise(path: &PathBuf, size: u64) -> std::io::Result<()> {
    let mut noise = File::open("/dev/urandom")?.take(size);
    copy(&mut noise, &mut File::create(path)?)?;
    Ok(())
}
