//! Copies a file system out of a volume: `extract VG LV FILE DISK …`.

use std::error::Error;
use std::fs::File;
use std::io;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, volume, file, disks @ ..] = arguments.as_slice() else {
        return Err("usage: extract VG LV FILE DISK …".into());
    };
    let mut volume = ashlar::open(disks)?.group(group)?.volume(volume)?;
    let count = io::copy(&mut volume, &mut File::create(file)?)?;
    println!("{count} bytes");
    Ok(())
}
