//! Flash disks, as branches of the network.
//!
//! A page is on unit `page mod n`, so which units a request needs is known from where it lies; the
//! unit that most of them need sets the limit. Answers leave over the bus in the order of the
//! commands, so that a read that waits for a program holds back all that came after it:
//!
//! ```text
//!   closed   b = t + r (W + R)          from one command to the next: the transfer, and for
//!                                       the share r of reads what their unit has still to do
//!            w P + r R = n (busy) b     work comes to the units and goes with the time
//!   open     each unit as M/G/1; the bus with what reads hold it for
//! ```
//!
//! Where writes are reported from a cache, its pages limit the programs under way, as the
//! customers of a closed network do, and a burst that is larger waits for the first to end.

mod units;

pub(super) use units::hottest;

use super::explain::Account;
use super::footprint::Part;
use super::queue::{Branch, Station};
use crate::disk::flash::FlashProfile;
use crate::stats::real::{exp, ln};

/// Rounds of the equation of reads that wait for programs.
const ROUNDS: usize = 60;

/// What a load asks of a flash disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) parts: &'a [Part],
    /// Parts of a request on this disk; it serves them at the same time.
    pub(super) repeats: f64,
    /// The share of reads.
    pub(super) reads: f64,
    /// The share of commands whose page is not in the cache because it was just written.
    pub(super) stale: f64,
    /// How many times the mean work the busiest unit has.
    pub(super) hottest: f64,
    /// Whether commands follow each other.
    pub(super) streams: bool,
    /// How commands come.
    pub(super) come: Come,
}

/// How commands come to a disk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Come {
    /// So many are under way at this disk, each of which spends a time elsewhere.
    Closed { depth: f64, aside: f64 },
    /// At a mean gap.
    Open { gap: f64 },
}

/// An average command on a flash disk.
#[derive(Debug, Clone, Copy)]
struct Command {
    pages: f64,
    /// Services that follow each other on a unit.
    serial: f64,
    /// Services on a unit, beyond what the cache holds of one command.
    over: f64,
    reads: f64,
    /// The share of reads that need a unit.
    stale: f64,
    /// To read what a unit has of it.
    read: f64,
    /// To program it, erasing aside.
    program: f64,
    /// The chance of an erase with a program, and its time.
    erases: f64,
    erase: f64,
    transfer: f64,
    /// Units in groups that a command needs at the same time.
    groups: f64,
    cached: bool,
}

impl Command {
    fn new(flash: &FlashProfile, asked: &Asked<'_>) -> Self {
        let size = u64::from(flash.page_blocks);
        let units = flash.units as f64;
        let (mut pages, mut cut, mut count) = (0.0, 0.0, 0.0);
        let (mut serial, mut over) = (0.0, 0.0);
        for part in asked.parts {
            let end = part.start + part.count;
            let all = (end.div_ceil(size) - part.start / size) as f64;
            let whole = (end / size).saturating_sub(part.start.div_ceil(size)) as f64;
            let all_parts = all * asked.repeats;
            pages += all_parts;
            serial += (all_parts / units).ceil();
            over += ((all_parts - flash.cache_pages as f64).max(0.0) / units).ceil();
            cut += (all - whole) / all;
            count += part.count as f64 * asked.repeats;
        }
        let parts = asked.parts.len() as f64;
        let [pages, cut, count, serial, over] =
            [pages, cut, count, serial, over].map(|sum| sum / parts);
        let grown = flash.amplification_thousandths as f64 / 1000.0;
        let stale = asked.stale;
        Self {
            pages,
            serial,
            over,
            reads: asked.reads,
            stale,
            read: serial * flash.read_ns as f64,
            program: serial
                * (flash.program_ns as f64 * grown + cut * stale * flash.read_ns as f64),
            erases: grown / flash.erase_pages as f64,
            erase: flash.erase_ns as f64,
            transfer: count * flash.block_ns as f64,
            groups: (units * serial / pages).clamp(1.0, units),
            cached: flash.cache_pages > 0,
        }
    }

    fn writes(&self) -> f64 {
        1.0 - self.reads
    }

    /// To program, erasing and all.
    fn written(&self) -> f64 {
        self.program + self.serial * self.erases * self.erase
    }

    /// How much longer than the mean the last of the units takes, since one of them erases.
    fn last(&self) -> f64 {
        let none = exp(self.pages * ln(1.0 - self.erases.min(0.999)));
        let any = 1.0 - none;
        (any - self.serial * self.erases).max(0.0) * self.erase
    }

    /// The squared coefficient of variation of a program.
    fn variation(&self) -> f64 {
        let chance = self.erases.min(1.0);
        self.serial * chance * (1.0 - chance) * (self.erase / self.written()).powi(2)
    }

    /// The work of a command, for each unit that it needs.
    fn work(&self) -> f64 {
        self.writes() * self.written() + self.reads * self.stale * self.read
    }

    /// From one command to the next where each holds the bus for `transfer`, `aside` and all, and
    /// reads wait for what `units` groups of units have still to program. In that time a unit gets
    /// its share of the work, and does as much of it as the others give it time for; it is busy as
    /// one with exponential services that the reads on it clear (an M/M/1 queue with disasters).
    fn chain(&self, transfer: f64, units: f64) -> f64 {
        let reads = self.reads * self.stale;
        let each = self.work() / units;
        let mut gap = transfer + each;
        for _ in 0..ROUNDS {
            let come = self.writes() / (units * gap);
            let clear = reads / (units * gap);
            let done = 1.0 / self.written();
            let sum = come + clear + done;
            let busy = (sum - (sum * sum - 4.0 * come * done).max(0.0).sqrt()) / (2.0 * done);
            let left = (each - busy * transfer).max(0.0);
            let held = left / (1.0 / units + busy * (1.0 - 1.0 / units)).max(1e-9);
            gap = f64::midpoint(gap, transfer + held.max(reads * self.read));
        }
        gap
    }
}

/// A flash disk: units beside each other, and one bus that answers in order.
pub(super) fn flashed(flash: &FlashProfile, asked: &Asked<'_>) -> Branch {
    let command = Command::new(flash, asked);
    let overhead = flash.overhead_ns as f64;
    let mut branch = match asked.come {
        Come::Closed { depth, aside } => {
            let aside = aside + overhead;
            let window = window(flash, asked, &command, depth);
            if command.reads > 0.0 && command.reads < 1.0 {
                mixed(&command, (depth, aside), window, asked)
            } else {
                alike(flash, &command, depth, window, asked.hottest)
            }
        }
        Come::Open { gap } => coming(flash, asked, &command, gap),
    };
    branch.delay += overhead;
    branch.block = flash.block_ns as f64;
    branch.account = Account {
        overhead,
        transfer: command.work() + command.transfer,
        ..Account::default()
    };
    branch
}

/// Groups of units that the commands under way can need: those of a stream lie side by side.
fn window(flash: &FlashProfile, asked: &Asked<'_>, command: &Command, depth: f64) -> f64 {
    if !asked.streams {
        return command.groups;
    }
    let count = asked.parts.iter().map(|part| part.count).sum::<u64>() as f64;
    let count = count / asked.parts.len() as f64 * asked.repeats;
    let pages = f64::from(flash.page_blocks) * command.pages;
    let cached = flash.cache_pages as f64 / command.pages * command.writes().ceil();
    (1.0 + (depth + cached - 1.0).max(0.0) * count / pages).clamp(1.0, command.groups)
}

/// Reads and writes, closed.
fn mixed(command: &Command, (depth, aside): (f64, f64), units: f64, asked: &Asked<'_>) -> Branch {
    let limit = command.work() * asked.hottest / units;
    let own = command.transfer + command.reads * command.stale * command.read;
    let (service, delay) = if command.cached {
        let apart = aside / depth;
        let over = command.over * command.written() / command.serial;
        let gap = if asked.streams {
            // It comes back to a unit when all others had their turn, and waits for none.
            let reads = command.reads * command.stale * command.read;
            (command.transfer + apart).max(limit) + reads
        } else {
            // What a command waited for itself is done.
            let left = Command {
                program: (command.program - over / depth.max(1.0)).max(0.0),
                ..*command
            };
            left.chain(command.transfer + apart, units)
        };
        (gap - apart, command.writes() * over)
    } else {
        // What others have left: nothing where there are no others.
        let held = (command.chain(command.transfer, units) - own).max(0.0);
        let others = (depth - 1.0).max(0.0) / depth.max(1.0);
        let written = command.written() + command.last();
        (own + held * others, command.writes() * written)
    };
    Branch {
        delay,
        stations: vec![Station {
            background: (limit - service).max(0.0),
            ..Station::once(service, 1.0)
        }],
        ..Branch::default()
    }
}

/// Reads alone, or writes alone, closed.
fn alike(flash: &FlashProfile, command: &Command, depth: f64, units: f64, hottest: f64) -> Branch {
    let bus = Station::once(command.transfer, 0.0);
    let unit = |service: f64, variation: f64| Station {
        copies: (units / hottest).max(1.0),
        ..Station::once(service, variation)
    };
    if command.reads > 0.0 {
        // A read that is answered late holds back what came after it.
        let together = (depth / flash.units as f64).min(1.0) * (depth - 1.0).clamp(0.0, 1.0);
        return Branch {
            delay: 0.55 * command.read * together,
            stations: vec![unit(command.read, 0.0), bus],
            ..Branch::default()
        };
    }
    if !command.cached {
        return Branch {
            delay: command.last(),
            stations: vec![unit(command.written(), command.variation()), bus],
            ..Branch::default()
        };
    }
    // The cache's places go round as the customers of a closed network.
    let places = flash.cache_pages as f64 / command.pages * command.serial;
    let idle = (units - 1.0) * f64::midpoint(1.0, command.variation()) / places.max(1.0);
    let station = Station {
        background: command.written() * (1.0 + idle),
        ..unit(0.0, 0.0)
    };
    Branch {
        delay: command.over * command.written() / command.serial,
        stations: vec![station, bus],
        ..Branch::default()
    }
}

/// Commands that come of themselves.
fn coming(flash: &FlashProfile, asked: &Asked<'_>, command: &Command, gap: f64) -> Branch {
    let flow = 1.0 / (gap * command.groups);
    let busy = (flow * command.work()).min(0.98);
    let (read, written) = (command.read, command.written());
    let reads = command.reads * command.stale;
    // Commands that need any of the same units.
    let needs = command.pages / command.serial;
    let meets = ((2.0 * needs - 1.0) / flash.units as f64).min(1.0) / gap;
    let moment = |power: i32| {
        let erases = needs * flow * command.writes() * command.erases;
        meets * (command.writes() * command.program.powi(power) + reads * read.powi(power))
            + erases * ((command.program + command.erase).powi(power) - command.program.powi(power))
    };
    let wait = moment(2) / (2.0 * (1.0 - busy));
    let wait = match (asked.streams, command.reads < 1.0) {
        (true, false) if command.groups >= 2.0 => {
            same_page(flash, asked, command, gap).unwrap_or(0.0)
        }
        // But for what shares a page, a stream comes back to a unit when all had their turn.
        (true, true) if command.cached && command.groups >= 2.0 => 0.0,
        _ => wait,
    };
    let square = moment(3) / (3.0 * (1.0 - busy)) + 2.0 * wait * wait;
    // A read holds the bus from writes until it is there, from reads if it waits.
    let hold = command.writes() * read + wait;
    let held = command.writes() * (2.0 * read * wait + read * read) + square;
    let bus = Station {
        background: reads * hold,
        piece: held / hold.max(1.0),
        own: 1.0,
        ..Station::once(command.transfer, 0.0)
    };
    // The first of several parts is on the bus while the next one is read.
    let beside = (1.0 - 1.0 / asked.repeats) * read.min(command.transfer);
    let write = if command.cached {
        overflow(flash, command, gap)
    } else {
        wait + written + command.last()
    };
    let waits = reads
        + if command.cached {
            0.0
        } else {
            command.writes()
        };
    Branch {
        delay: reads * (wait + read - beside) + command.writes() * write,
        stations: vec![bus],
        deviation: (waits * (square - wait * wait).max(0.0)).sqrt(),
        ..Branch::default()
    }
}

/// The wait of a stream's reads for those before them in the same page, if there are some: that of
/// the second follows from the gap, the further ones go towards that of an endless queue.
fn same_page(flash: &FlashProfile, asked: &Asked<'_>, command: &Command, gap: f64) -> Option<f64> {
    let count = asked.parts.iter().map(|part| part.count).sum::<u64>() as f64;
    let together = f64::from(flash.page_blocks) * asked.parts.len() as f64 / count;
    if together < 2.0 {
        return None;
    }
    let busy = (command.read / gap).min(0.98);
    let endless = busy * command.read / (2.0 * (1.0 - busy));
    let second = command.read - gap * (1.0 - exp(-command.read / gap));
    let stays = 1.0 - (second / endless.max(1.0)).min(1.0);
    let sum: f64 = (0..together as i32)
        .map(|before| 1.0 - stays.powi(before))
        .sum();
    Some(endless * sum / together.floor())
}

/// What a write waits for a place in the cache: what the units have still to do beyond what fits,
/// the tail of the work in hand taken for exponential.
fn overflow(flash: &FlashProfile, command: &Command, gap: f64) -> f64 {
    let units = flash.units as f64;
    let each = command.written() / command.serial;
    let own = command.pages * each / units;
    let busy = (command.writes() * own / gap).clamp(1e-9, 0.98);
    let mean = busy * own / (2.0 * (1.0 - busy));
    let room = (flash.cache_pages as f64 - command.pages) * each / units;
    if room >= 0.0 {
        mean * exp(-room * busy / mean.max(1e-9))
    } else {
        mean + command.over * each
    }
}

#[cfg(test)]
mod tests;
