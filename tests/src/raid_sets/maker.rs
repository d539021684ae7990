//! Makes a set anew: a stock kernel makes it, and another boot of it says what there is to read.
//!
//! ```text
//!   first boot    tests/fixtures/raid/make/NAME.sh on blank disks          power cut, or stopped
//!   second boot   make/judge.sh on copies of what was left                 nothing is changed
//! ```
//!
//! The script tells what it leaves in lines of its output: `VOLUME GROUP/NAME TYPE STATE SECTORS`
//! for each volume (no sectors are all of it), `LOST NUMBER` for a disk that it took away,
//! `VIEW …` for people, `READY` at last. What it collected of a volume under way is what must be
//! there; of a volume that was being written when all ended, what the judge finds.
//!
//! The judge reads each volume twice, as soon as it is active and when all is copied or moved, with
//! the lost disks and without them. A set on which all of these are not the same is no fixture: it
//! is refused. Two states are excepted. `blind` volumes are not asked for with the lost disks:
//! nothing says that what they have is old, and the kernel believes it. `split` mirrors, of which
//! it reads now one leg and now another, are read only when they were repaired.
//!
//! It takes three boots at most, of some minutes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::set::fixture;
use crate::kernel::{Collected, Kernel, Outcome};
use crate::scratch::Scratch;
use crate::tool::Tool;

/// Disks of every set.
const DISKS: usize = 8;
/// What a set may need of space in the repository.
const ARCHIVE_MAX: u64 = 1 << 20;

/// The state in which a lost disk cannot be told from one that was there to the end.
const BLIND: &str = "blind";

/// A volume, as the script that made it tells.
#[derive(Debug)]
struct Made {
    name: String,
    segment_type: String,
    state: String,
    /// How many of its sectors have a meaning; 0 is all.
    sectors: u64,
}

/// Makes the set of this name, and puts it in the place of what is there; what it is, in words.
///
/// # Panics
/// When the kernel refuses any of it, or does not read the same each time.
pub fn make(name: &str) -> String {
    let scratch = Scratch::new("raid-made");
    let disk = |number: usize| scratch.sparse(&disk_name(number), disk_mib(name) << 20);
    let disks: Vec<PathBuf> = (0..DISKS).map(disk).collect();
    let script = script(name);
    let outcome = Kernel::new(&format!("raid-{name}"))
        .disks(&disks)
        .run(&script);
    assert!(outcome.text().ends_with("READY"), "{name}: {outcome}");
    let lost = lost(&outcome.output);
    let volumes: Vec<Made> = lines(&outcome.output, "VOLUME ").map(volume).collect();
    assert!(!volumes.is_empty(), "{name}: {outcome}");
    let mut found: Vec<(&str, BTreeMap<String, Collected>)> = Vec::new();
    found.push(("made", outcome.collected.clone()));
    let seeing: Vec<&Made> = volumes
        .iter()
        .filter(|volume| volume.state != BLIND)
        .collect();
    found.extend(judge(&format!("{name}-judged"), &disks, &seeing));
    if !lost.is_empty() {
        let present = disks.iter().enumerate();
        let present = present.filter(|(number, _)| !lost.contains(number));
        let present: Vec<PathBuf> = present.map(|(_, disk)| disk.clone()).collect();
        let all: Vec<&Made> = volumes.iter().collect();
        found.extend(judge(&format!("{name}-judged-without"), &present, &all));
    }
    let mut manifest = String::new();
    for number in 0..DISKS {
        let state = if lost.contains(&number) {
            "lost"
        } else {
            "present"
        };
        writeln!(manifest, "disk {} {state}", disk_name(number)).expect("a string takes all");
    }
    for volume in &volumes {
        let line = agreed(volume, &found);
        writeln!(manifest, "{line}").expect("a string takes all");
    }
    let mut view = String::new();
    for line in lines(&outcome.output, "VIEW ") {
        writeln!(view, "{line}").expect("a string takes all");
    }
    pack(&scratch, &fixture(&format!("{name}.tar.zst")));
    fs::write(fixture(&format!("{name}.txt")), &manifest).expect("there is space for it");
    fs::write(fixture(&format!("{name}.view.txt")), view).expect("there is space for it");
    manifest
}

/// How large the disks of a set are.
fn disk_mib(set: &str) -> u64 {
    // A reshape goes on in steps of some MiB: there must be several. Checksums of an image take
    // 8 MiB, however small it is.
    if matches!(set, "reshape" | "integrity") {
        64
    } else {
        32
    }
}

fn disk_name(number: usize) -> String {
    format!("d{number}.img")
}

/// A script of `make`, with what all of them share.
fn script(name: &str) -> String {
    ["lib", name]
        .map(|name| read(&fixture(&format!("make/{name}.sh"))))
        .concat()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rest of each line that begins so.
fn lines<'a>(output: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    output
        .lines()
        .filter_map(move |line| line.strip_prefix(start))
}

fn lost(output: &str) -> Vec<usize> {
    let number = |text: &str| text.parse().expect("the number of a disk");
    let lost: Vec<usize> = lines(output, "LOST ").map(number).collect();
    assert!(lost.iter().all(|number| *number < DISKS), "{lost:?}");
    lost
}

fn volume(line: &str) -> Made {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, segment_type, state, sectors] = words[..] else {
        panic!("a volume has a name, a type, a state and sectors: {line}");
    };
    Made {
        name: name.to_owned(),
        segment_type: segment_type.to_owned(),
        state: state.to_owned(),
        sectors: sectors.parse().expect("a number of sectors"),
    }
}

/// What another boot finds on copies of these disks: as soon as volumes are active, and when there
/// is nothing left to do.
fn judge(
    name: &str,
    disks: &[PathBuf],
    volumes: &[&Made],
) -> [(&'static str, BTreeMap<String, Collected>); 2] {
    let mut list = String::new();
    for made in volumes {
        let Made {
            name,
            sectors,
            state,
            ..
        } = made;
        write!(list, "{name}:{sectors}:{state} ").expect("a string takes all");
    }
    let script = script("judge").replace("VOLUMES", list.trim_end());
    let kernel = Kernel::new(&format!("raid-{name}"));
    let kernel = disks.iter().fold(kernel, Kernel::copy);
    let outcome: Outcome = kernel.succeed(&script);
    let at = |moment: &str| -> BTreeMap<String, Collected> {
        let collected = outcome.collected.iter();
        let at = collected.filter_map(|(name, content)| {
            Some((name.strip_prefix(moment)?.to_owned(), content.clone()))
        });
        at.collect()
    };
    let found = [("begun", at("begun ")), ("done", at("done "))];
    assert_eq!(found[1].1.len(), volumes.len(), "{outcome}");
    found
}

/// A volume's line of the manifest, when everything that was found is the same.
fn agreed(volume: &Made, found: &[(&str, BTreeMap<String, Collected>)]) -> String {
    let Made {
        name,
        segment_type,
        state,
        ..
    } = volume;
    let all: Vec<(&str, &Collected)> = found
        .iter()
        .filter_map(|(moment, collected)| Some((*moment, collected.get(name)?)))
        .collect();
    let (_, first) = all.first().expect("it was read");
    assert!(
        all.iter().all(|(_, other)| other == first),
        "{name}: {all:#?}"
    );
    let Collected { size, sha256 } = first;
    format!("volume {sha256} {size} {name} {segment_type} {state}")
}

/// Puts all that is in a folder into an archive, as sparse as it is.
fn pack(scratch: &Scratch, archive: &Path) {
    let tar = scratch.join("tar");
    let names = (0..DISKS).map(disk_name);
    Tool::new("tar")
        .args(["--sparse", "--owner=0", "--group=0", "--mtime=@0", "-C"])
        .arg(scratch.path())
        .arg("-cf")
        .arg(&tar)
        .args(names)
        .succeed();
    let zstd = Tool::new("zstd").args(["-q", "-f", "-19", "--long=25", "-o"]);
    zstd.args([archive, &tar]).succeed();
    let size = fs::metadata(archive).expect("it was made").len();
    assert!(
        size <= ARCHIVE_MAX,
        "{} has {size} bytes",
        archive.display()
    );
}
