//! What volumes and files hold while they are compared: noise, and the same in all of them.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tests::Made;

/// Fills the plain file and the volume with the same noise.
pub(super) fn fill(plain: &Path, made: &Made, bytes: u64) -> std::io::Result<()> {
    let mut noise = fs::File::open("/dev/urandom")?.take(bytes);
    let mut file = fs::File::create(plain)?;
    std::io::copy(&mut noise, &mut file)?;
    file.sync_all()?;
    let mut volume = fs::OpenOptions::new().write(true).open(made.image())?;
    volume.seek(SeekFrom::Start(made.data_start()))?;
    std::io::copy(&mut fs::File::open(plain)?, &mut volume)?;
    volume.sync_all()
}

/// Fills `size` bytes of an image, from byte `start`, with noise.
pub(super) fn fill_image(image: &Path, start: u64, size: u64) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(image)?;
    file.seek(SeekFrom::Start(start))?;
    let mut noise = fs::File::open("/dev/urandom")?.take(size);
    std::io::copy(&mut noise, &mut file)?;
    file.sync_all()
}
