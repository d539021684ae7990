//! Serves a volume over NBD until its own input ends, read-only: `serve VG LV SOCKET DISK …`.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use nbd::server::{Access, Export, Exports, Listener, Server};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, name, socket, disks @ ..] = arguments.as_slice() else {
        return Err("usage: serve VG LV SOCKET DISK …".into());
    };
    let volume = ashlar::open(disks)?.group(group)?.volume(name)?;
    let exports = Exports::new();
    exports.add(Export {
        name: name.clone(),
        description: format!("{group}/{name}"),
        access: Access::ReadOnly,
        device: Arc::clone(volume.device()),
    })?;
    let listener = Listener::unix(socket)?;
    println!("{}", listener.uri(name));
    let server = Server::new(exports)?;
    server.listen(listener)?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    server.stop(Duration::from_secs(5));
    Ok(())
}
