//! A volume gets a snapshot while it is served, is overwritten, and gets back what it held.

use block::BlockingDevice;
use nbd::client::NbdDevice;

use super::load::{BLOCK, pattern};
use super::served::Served;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::story::Story;
use crate::demo::volumes::hash;

const NAME: &str = "fast";
const SNAPSHOT: &str = "monday";
const MIB: u64 = 1 << 20;
/// Where the client writes.
const PLACES: [u64; 2] = [MIB, 4 * MIB];

/// Takes a snapshot, writes, and merges.
pub(super) fn back(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let (volume, snapshot) = (format!("{GROUP}/{NAME}"), format!("{GROUP}/{SNAPSHOT}"));
    let (address, _) = Served::address(world, NAME);
    let serve = format!("ashlar serve {volume} --nbd {address} &");
    story.command(&serve)?;
    let served = Served::start(world, &[], NAME)?;
    let before = sum(&served, world)?;
    let size = world.choose("24m", "6m");
    world.show(
        story,
        &["lvcreate", "-s", "-L", size, "-n", SNAPSHOT, &volume],
    )?;
    overwrite(&served)?;
    if sum(&served, world)? == before {
        let what = format!("{volume} does not hold what was written to it; please report this");
        return Err(Error::failed(what));
    }
    story.say("A client writes to it in two places. Its server ends; which bytes differ now?")?;
    served.end()?;
    world.show(story, &["snapshot", "diff", &snapshot])?;
    story.say("Back to how it was, while it is served again:")?;
    story.command(&serve)?;
    let served = Served::start(world, &[], NAME)?;
    world.show(story, &["lvconvert", "--merge", &snapshot])?;
    if sum(&served, world)? != before {
        let what = format!("{volume} is not what its snapshot was; please report this");
        return Err(Error::failed(what));
    }
    story.good(&format!(
        "{volume} holds, byte for byte, what it held before, and the snapshot is gone"
    ))?;
    served.end()
}

/// SHA-256 of what is served.
fn sum(served: &Served, world: &World<'_>) -> Result<String, Error> {
    hash(&open(served)?, world.interrupt)
}

fn open(served: &Served) -> Result<NbdDevice, Error> {
    NbdDevice::open(served.uri()).map_err(|error| failed(&error))
}

/// Writes a block in each place.
fn overwrite(served: &Served) -> Result<(), Error> {
    let device = open(served)?;
    let mut io = BlockingDevice::open(&device).map_err(|error| failed(&error))?;
    let mut bytes = vec![0; BLOCK];
    for place in PLACES {
        pattern(u64::from(u16::MAX) + 1, place, &mut bytes);
        io.write_at(&bytes, place).map_err(|error| failed(&error))?;
    }
    io.flush().map_err(|error| failed(&error))
}

fn failed(error: &block::Error) -> Error {
    Error::failed(error.to_string())
}
