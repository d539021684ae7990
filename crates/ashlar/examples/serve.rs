//! Serves a volume over NBD until its own input ends, read-only: `serve VG LV SOCKET DISK …`.

use std::error::Error;
use std::io;
use std::time::Duration;

use nbd::server::Listener;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, name, socket, disks @ ..] = arguments.as_slice() else {
        return Err("usage: serve VG LV SOCKET DISK …".into());
    };
    let volume = ashlar::open(disks)?.group(group)?.volume(name)?;
    let serving = volume.serve(Listener::unix(socket)?)?;
    println!("{}", serving.uri());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    serving.stop(Duration::from_secs(5))?;
    Ok(())
}
