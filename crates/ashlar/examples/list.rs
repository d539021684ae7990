//! Lists groups and their volumes: `list [DISK …]`.
//!
//! Disks are images, block devices, folders or `nbd://` addresses; none means those of this
//! machine, as LVM2 is configured.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let disks: Vec<String> = std::env::args().skip(1).collect();
    let storage = ashlar::open(&disks)?;
    for warning in storage.warnings() {
        eprintln!("warning: {warning}");
    }
    for group in storage.groups() {
        for name in group.volumes() {
            match group.volume(&name) {
                Ok(volume) => println!("{}/{name}  {} bytes", group.name(), volume.size()),
                Err(error) => println!("{}/{name}  {error}", group.name()),
            }
        }
    }
    Ok(())
}
