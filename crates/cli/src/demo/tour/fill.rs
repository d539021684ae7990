//! Fills the volumes with patterns, and reads them back.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::load::pattern;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::story::Story;
use crate::demo::volumes::{hash, hash_file};

const CHUNK: usize = 64 << 10;
/// Characters of a checksum that are shown.
const SUM_SHOWN: usize = 16;

/// The volumes, by name.
pub(super) const VOLUMES: [&str; 3] = ["plain", "fast", "safe"];

/// Writes and compares each volume.
pub(super) fn fill(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    story.say("A file of noise for each volume, so that nothing is right by accident:")?;
    let disks = World::disk_names();
    for (number, name) in VOLUMES.into_iter().enumerate() {
        let size = world.open(&disks, name)?.info().size;
        let path = world.private.join(format!("{name}.noise"));
        write_noise(&path, size, number as u64 + 1)
            .map_err(|error| Error::failed("Cannot write a file of noise").because(error))?;
        let file = path.display().to_string();
        let volume = format!("{GROUP}/{name}");
        world.show(story, &["cp", &file, &volume])?;
        story.command(&format!("ashlar cat {volume} | sha256sum"))?;
        let wanted = hash_file(&path, world.interrupt)?;
        let found = hash(&*world.open(&disks, name)?, world.interrupt)?;
        if wanted != found {
            return Err(Error::failed(format!(
                "{volume} reads as SHA-256 {found} after {wanted} was written; please report this"
            )));
        }
        std::fs::remove_file(&path)?;
        let size = size >> 20;
        story.good(&format!(
            "{name:6} {size:>3} MiB  {}…  same",
            &found[..SUM_SHOWN]
        ))?;
    }
    Ok(())
}

/// A new file of noise.
pub(super) fn write_noise(path: &std::path::Path, size: u64, seed: u64) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(CHUNK, File::create_new(path)?);
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < size {
        let len = (size - at).min(CHUNK as u64) as usize;
        pattern(seed, at, &mut buffer[..len]);
        file.write_all(&buffer[..len])?;
        at += len as u64;
    }
    file.flush()
}
