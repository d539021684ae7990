//! A volume is served, written without a pause, and extended meanwhile.

use block::{BlockingDevice, Device};
use nbd::client::NbdDevice;

use super::load::{BLOCK, Load, pattern};
use super::served::Served;
use super::world::{GROUP, World};
use crate::args::Error;
use crate::demo::story::Story;

const NAME: &str = "fast";
const MIB: u64 = 1 << 20;

/// Serves, writes and extends.
pub(super) fn grow(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    let failed = |error: block::Error| Error::failed(error.to_string());
    let volume = format!("{GROUP}/{NAME}");
    let (address, _) = Served::address(world, NAME);
    story.command(&format!("ashlar serve {volume} --nbd {address} &"))?;
    let served = Served::start(world, &[], NAME)?;
    story.say(served.uri())?;
    let before = NbdDevice::open(served.uri()).map_err(failed)?.info().size;
    let load = Load::start(served.uri())?;
    let blocks = world.choose(1000, 100);
    load.wait(blocks, world.interrupt)?;
    story.say(&format!(
        "A client writes {} KiB after {} KiB to it, and goes on while another process types:",
        BLOCK >> 10,
        BLOCK >> 10
    ))?;
    let more = world.choose("+24m", "+6m");
    world.show(story, &["lvextend", "-L", more, &volume])?;
    load.wait(blocks, world.interrupt)?;
    let grown = NbdDevice::open(served.uri()).map_err(failed)?;
    let after = grown.info().size;
    if after <= before {
        let what = format!("{volume} is served with {before} bytes still; please report this");
        return Err(Error::failed(what));
    }
    let mut io = BlockingDevice::open(&grown).map_err(failed)?;
    let (mut wanted, mut found) = (vec![0; BLOCK], vec![0; BLOCK]);
    let place = after - BLOCK as u64;
    pattern(u64::from(u16::MAX), place, &mut wanted);
    io.write_at(&wanted, place).map_err(failed)?;
    let written = load.end()?;
    written.compare(&grown, &volume)?;
    io.read_at(&mut found, place).map_err(failed)?;
    if found != wanted {
        let what = format!("{volume} does not hold what was written to its new end");
        return Err(Error::failed(what));
    }
    story.good(&format!(
        "{} MiB became {} MiB during {} answered writes; the slowest took {:.0} ms; all of them \
         are there,\nand the new space holds data",
        before / MIB,
        after / MIB,
        written.count,
        written.slowest.as_secs_f64() * 1000.0
    ))?;
    drop(io);
    drop(grown);
    served.end()
}
