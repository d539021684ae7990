//! A mirror loses the disk of one of its copies while it is written, and goes on.
//!
//! The disk is an NBD export of this process, so that it can vanish as a disk of a network does:
//! its server ends. The mirror's own server knows it by its address.

use std::sync::Arc;
use std::time::Duration;

use block::file::{Access as FileAccess, FileDevice};
use nbd::server::{Access, Export, Exports, Listener, Server};

use super::load::Load;
use super::served::Served;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::story::Story;

const NAME: &str = "safe";
/// The disk of the second copy, from 0.
const LOST: usize = 4;
/// Seconds that the mirror waits for the disk to come back.
const TIMEOUT: &str = "1";

/// A disk behind a server of its own, and its address: it is gone when the server is stopped.
pub(super) fn behind_server(world: &World<'_>, disk: &str) -> Result<(Server, String), Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let device = FileDevice::open(world.disks.join(disk), FileAccess::ReadWrite);
    let exports = Exports::new();
    exports
        .add(Export {
            name: disk.to_owned(),
            description: String::new(),
            access: Access::ReadWrite,
            device: Arc::new(device.map_err(failed)?),
        })
        .map_err(failed)?;
    let server = Server::new(exports).map_err(failed)?;
    let socket = world.private.join(format!("{disk}.sock"));
    let listener = Listener::unix(socket).map_err(failed)?;
    let uri = listener.uri(disk);
    server.listen(listener).map_err(failed)?;
    Ok((server, uri))
}

/// Serves a volume on these disks, and on the one with this address.
pub(super) fn serve_beside(
    world: &World<'_>,
    (left, uri): (&[String], &str),
    name: &str,
) -> Result<Served, Error> {
    let left = left.join(",");
    let options = [
        "--devices",
        &left,
        "--devices",
        uri,
        "--assume-exclusive",
        "--pv-timeout",
        TIMEOUT,
    ];
    Served::start(world, &options, name)
}

/// Serves, writes, and takes the disk away.
pub(super) fn lose(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let volume = format!("{GROUP}/{NAME}");
    let lost = World::disk(LOST);
    let (disk, uri) = behind_server(world, &lost)?;
    let left: Vec<String> = (World::disk_names().into_iter())
        .filter(|name| *name != lost)
        .collect();
    story.say(&format!(
        "{lost} holds the second copy. For this step it is behind an NBD server, so that it can \
         vanish:\n{uri}"
    ))?;
    let (address, _) = Served::address(world, NAME);
    story.command(&format!(
        "ashlar serve {volume} --nbd {address} --devices {} \\\n    --devices '{uri}' \
         --assume-exclusive --pv-timeout {TIMEOUT} &",
        left.join(",")
    ))?;
    let served = serve_beside(world, (&left, &uri), NAME)?;
    let load = Load::start(served.uri())?;
    let blocks = world.choose(500, 50);
    load.wait(blocks, world.interrupt)?;
    disk.stop(Duration::ZERO);
    drop(disk);
    story.say(&format!(
        "Its server ends in the middle of writes: {lost} is gone."
    ))?;
    load.wait(blocks, world.interrupt)?;
    let written = load.end()?;
    served.end()?;
    written.compare(&*world.open(&left, NAME)?, &volume)?;
    story.good(&format!(
        "{} writes answered before and after; the slowest waited {:.1} s for the disk; all of \
         them are\non the disks that are left",
        written.count,
        written.slowest.as_secs_f64()
    ))?;
    written.compare(&*world.open(&World::disk_names(), NAME)?, &volume)?;
    story.good(&format!(
        "and with {lost} back its old image is not read: the volume reads the same"
    ))
}
