//! Serves memory over NBD, to try clients and to measure: `nbd_memory MIB unix:PATH|HOST:PORT`.
//! Ends when its input does.

use std::sync::Arc;
use std::time::Duration;

use block::memory::MemoryDevice;
use export::nbd::{Access, Export, Exports, Listener, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(mib), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: nbd_memory MIB unix:PATH|HOST:PORT".into());
    };
    let device = MemoryDevice::new("memory", mib.parse::<u64>()? << 20);
    let exports = Exports::new();
    exports.add(Export {
        name: "memory".to_owned(),
        description: format!("{mib} MiB of memory"),
        access: Access::ReadWrite,
        device: Arc::new(device),
    })?;
    let server = Server::new(exports)?;
    let listener = match address.strip_prefix("unix:") {
        Some(path) => Listener::unix(path)?,
        None => Listener::tcp(&address)?,
    };
    println!("{}", listener.address());
    server.listen(listener)?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    server.stop(Duration::from_secs(5));
    Ok(())
}
