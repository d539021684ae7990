//! Creates a volume as large as a file and fills it: `fill VG LV FILE DISK …`.

use std::error::Error;
use std::fs::File;
use std::io;

use lvm2::Bytes;
use lvm2::plan::logical::{NewVolume, create_volume};
use lvm2::plan::size::{Amount, Sign, SizeArgument};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, name, file, disks @ ..] = arguments.as_slice() else {
        return Err("usage: fill VG LV FILE DISK …".into());
    };
    let mut file = File::open(file)?;
    let amount = Amount::Size(Bytes(file.metadata()?.len()));
    let sign = Sign::Absolute;
    let new = NewVolume {
        name: Some(name),
        ..NewVolume::linear(SizeArgument { sign, amount })
    };
    let mut storage = ashlar::open(disks)?;
    storage.change("fill, an example", group, |vg, who| {
        create_volume(vg, &new, who)
    })?;

    let owned = storage.group(group)?.writable()?;
    let mut volume = owned.volume(name)?;
    io::copy(&mut file, &mut volume)?;
    volume.close()?;
    Ok(())
}
