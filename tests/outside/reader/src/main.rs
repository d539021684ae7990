//! Prints the content of a volume: `reader VG LV DISK …`.

use std::error::Error;
use std::io;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, volume, disks @ ..] = arguments.as_slice() else {
        return Err("usage: reader VG LV DISK …".into());
    };
    let mut volume = ashlar::open(disks)?.group(group)?.volume(volume)?;
    io::copy(&mut volume, &mut io::stdout().lock())?;
    Ok(())
}
