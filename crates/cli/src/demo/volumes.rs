//! Opens volumes, and compares what they hold with what the kernel saw.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use ashlar::activate::{Activator, Options};
use block::{Device, Holes, Piece, Range, read_stream};
use dm::volume::Volume;
use sha2::{Digest, Sha256};

use super::disks::{self, GROUP, Known};
use super::interrupt::Interrupt;
use super::story::Story;
use crate::args::Error;
use crate::commands::Disks;

/// Zeros are hashed in pieces of this many bytes, and files are read in them.
const CHUNK: usize = 64 << 10;
const MIB: u64 = 1 << 20;
/// Characters of a checksum that are shown.
const SUM_SHOWN: usize = 16;

/// Opens the volume of this name.
pub(super) fn open(disks: &Disks, name: &str) -> ashlar::Result<Volume> {
    let (group, lv) = disks.scan.find_volume(&format!("{GROUP}/{name}"))?;
    let activated =
        Activator::new(&disks.scan, &disks.host).activate(group, lv, Options::default())?;
    Ok(activated.volume)
}

/// Compares every volume that can be served, and says which types cannot be yet.
pub(super) fn compare_all(
    story: &mut Story<'_>,
    disks: &Disks,
    interrupt: &Interrupt,
) -> Result<(), Error> {
    story.say(
        "The kernel that filled these volumes also wrote down the SHA-256 of each.\n\
         The command for one of them, and what Ashlar reads of all:",
    )?;
    story.command(&format!("ashlar cat {GROUP}/stripe2x | sha256sum"))?;
    let mut waiting = Vec::new();
    let mut count = 0;
    for known in disks::known() {
        let volume = match open(disks, known.name) {
            Ok(volume) => volume,
            Err(error) if error.kind() == ashlar::Kind::Unsupported => {
                waiting.push(known.name);
                continue;
            }
            Err(error) => return Err(Error::failed(error.to_string())),
        };
        compare(known, &hash(&volume, interrupt)?, "it")?;
        let (name, size) = (known.name, known.size / MIB);
        let sum = &known.sha256[..SUM_SHOWN];
        story.good(&format!("{name:10} {size:>3} MiB  {sum}…  same"))?;
        count += 1;
    }
    if count == 0 {
        return Err(Error::failed("Not one volume could be served"));
    }
    if !waiting.is_empty() {
        story.left_out(&format!(
            "{count} volumes compared. Not served yet, only listed: the types of\n{}",
            wrapped(&waiting)
        ))?;
    }
    Ok(())
}

/// Fails unless `sum`, read in this way, is what is known of a volume.
pub(super) fn compare(known: Known, sum: &str, way: &str) -> Result<(), Error> {
    if sum == known.sha256 {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{GROUP}/{} does not hold what the kernel saw: {way} reads as SHA-256 {sum}, not {}; \
         please report this",
        known.name, known.sha256
    )))
}

/// SHA-256, in hexadecimal, of all that `device` holds.
pub(super) fn hash(device: &dyn Device, interrupt: &Interrupt) -> Result<String, Error> {
    let mut hasher = Sha256::new();
    let zeros = vec![0; CHUNK];
    let whole = Range::new(0, device.info().size);
    let outcome = read_stream(device, whole, Holes::Skip, |_, piece| {
        interrupt.check().map_err(Stop::Told)?;
        match piece {
            Piece::Data(bytes) => hasher.update(bytes),
            Piece::Zeroes(len) => {
                let mut left = len;
                while left > 0 {
                    let len = left.min(CHUNK as u64);
                    hasher.update(&zeros[..len as usize]);
                    left -= len;
                }
            }
        }
        Ok(())
    });
    outcome.map_err(|stop| match stop {
        Stop::Told(error) => error,
        Stop::Device(error) => Error::failed(error.to_string()),
    })?;
    Ok(hexadecimal(hasher))
}

/// SHA-256, in hexadecimal, of a file.
pub(super) fn hash_file(path: &Path, interrupt: &Interrupt) -> Result<String, Error> {
    let failed = |error| Error::failed(format!("Cannot read {}", path.display())).because(error);
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        interrupt.check()?;
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hexadecimal(hasher)),
            len => hasher.update(&buffer[..len]),
        }
    }
}

/// Why reading ended early.
enum Stop {
    Told(Error),
    Device(block::Error),
}

impl From<block::Error> for Stop {
    fn from(error: block::Error) -> Self {
        Self::Device(error)
    }
}

fn hexadecimal(hasher: Sha256) -> String {
    let mut text = String::new();
    for byte in hasher.finalize() {
        write!(text, "{byte:02x}").expect("a string takes all");
    }
    text
}

/// Names with commas, on lines that fit.
fn wrapped(names: &[&str]) -> String {
    names
        .chunks(8)
        .map(|line| line.join(", "))
        .collect::<Vec<_>>()
        .join(",\n")
}
