//! Prints the content of an NBD server's export: `network nbd://HOST/EXPORT`.

use std::error::Error;
use std::io::{self, Write};

use ashlar_nbd::block::{BlockingDevice, Range};
use ashlar_nbd::client::NbdDevice;

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: network nbd://…")?;
    let mut export = BlockingDevice::open(&NbdDevice::open(&address)?)?;
    let all = Range::new(0, export.info().size);
    io::stdout().write_all(&export.read(all)?)?;
    Ok(())
}
