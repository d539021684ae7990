//! Serves a file, or memory, over NBD, to try clients and to measure:
//! `nbd_serve FILE|memory:MIB unix:PATH|HOST:PORT`. Ends when its input does.

use std::sync::Arc;
use std::time::Duration;

use ashlar_nbd::server::{Access, Export, Exports, Limits, Listener, Server};
use block::Device;
use block::file::{Access as FileAccess, FileDevice};
use block::memory::MemoryDevice;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(what), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: nbd_serve FILE|memory:MIB unix:PATH|HOST:PORT".into());
    };
    let device: Arc<dyn Device> = match what.strip_prefix("memory:") {
        Some(mib) => Arc::new(MemoryDevice::new("memory", mib.parse::<u64>()? << 20)),
        None => Arc::new(FileDevice::open(&what, FileAccess::ReadWrite)?),
    };
    let exports = Exports::new();
    exports.add(Export {
        name: "disk".to_owned(),
        description: what,
        access: Access::ReadWrite,
        device,
    })?;
    let mut limits = Limits::default();
    if let Ok(spin) = std::env::var("NBD_SPIN_US") {
        limits.spin_max = Duration::from_micros(spin.parse()?);
    }
    let server = Server::with_limits(exports, limits)?;
    let listener = match address.strip_prefix("unix:") {
        Some(path) => Listener::unix(path)?,
        None => Listener::tcp(&address)?,
    };
    println!("{}", listener.uri("disk"));
    server.listen(listener)?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    server.stop(Duration::from_secs(5));
    Ok(())
}
