//! Histories in which stock LVM2 on a stock kernel and Ashlar change the same group in turn.
//!
//! ```text
//!   stock    step step step ─▶ judge ─▶ give ╮         ╭▶ take ─▶ judge ─▶ step …
//!                                            ╰ disks ─╮│
//!   Ashlar   … give ◀─ judge ◀─ step ◀─ judge ◀─ take ◀╯
//! ```
//!
//! Each step is a write at a random place, a flush, or a command: volumes of all layouts are made,
//! get snapshots, change their sizes and names, are merged, split off, joined and removed; their
//! extents move. A model knows what every volume holds and how full every store is. Who takes the
//! disks first reads everything, in the middle of a merge or a move too, and ends that; both must
//! find what the model says, and `lvs` of both must say the same, at rest and in use.
//!
//! The machine waits while it is not its turn; it boots again where its power was cut in a move.
//! `ASHLAR_HISTORY_SEED` chooses another history, `ASHLAR_HISTORY_HANDOVERS` how often the disks go
//! from one side to the other and `ASHLAR_HISTORY_STEPS` how many steps each side takes between: 24
//! and 30 are the long run.

mod chooser;
mod model;
mod moves;
mod ours;
mod rows;
mod step;
mod stock;

use std::time::{Duration, Instant};

use block::sim::Random;
use tests::{Kernel, Scratch};

use super::group::images;
use chooser::{Chooser, NOISE};
use model::Model;
use ours::Ours;
use rows::Rows;
use step::{Merge, Step};
use stock::Stock;

/// Disks, and their size.
const DISKS: usize = 4;
const DISK_MIB: u64 = 72;
/// How often the disks go from one side to the other, where nobody asks for more.
const HANDOVERS: u64 = 6;
/// Steps between.
const STEPS: u64 = 14;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number, and not {text}")),
        Err(_) => default,
    }
}

/// Both sides, and what they should find.
struct History {
    chooser: Chooser,
    model: Model,
    noise: Vec<u8>,
    stock: Stock,
    ours: Ours,
    steps: u64,
    done: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Stock,
    Ours,
}

impl History {
    /// One side takes its steps, and gives the disks to the other.
    fn turn(&mut self, side: Side) {
        let end = self.done + self.steps;
        if side == Side::Ours {
            self.ours.begin(&self.model, &mut self.chooser.random);
        }
        while self.done < end {
            for step in self.chooser.next(&mut self.model) {
                self.step(side, &step);
            }
        }
        // What is merged is not what it was a moment later.
        let is_still = self.model.merging().is_empty();
        let before = is_still.then(|| self.judge(side));
        let cut = match self.chooser.random.below(4) {
            0 => self.chooser.cut(&self.model),
            1 | 2 => self.chooser.cut_move(&self.model, side == Side::Ours),
            _ => None,
        };
        if let Some(step) = &cut {
            self.step(side, step);
        }
        println!("     {side:?} gives");
        let ending = self.chooser.ending();
        let (gives, takes, other) = match side {
            Side::Stock => {
                let gives = self.stock.give();
                let takes = self.ours.rest();
                self.ours.take(&mut self.model, ending);
                (gives, takes, Side::Ours)
            }
            Side::Ours => {
                self.ours.give();
                let gives = Some(self.ours.rest());
                let takes = self.stock.rest();
                self.stock.take(&mut self.model, ending);
                (gives, takes, Side::Stock)
            }
        };
        if let Some(gives) = gives {
            assert_eq!(gives, takes, "at rest, of {side:?}, and of {other:?}");
        }
        let after = self.judge(other);
        if let Some(before) = before.filter(|_| cut.is_none()) {
            for (before, after) in before.values().zip(after.values()) {
                assert_eq!(before, after, "of {side:?}, and of {other:?}");
            }
        }
    }

    fn judge(&mut self, side: Side) -> Rows {
        match side {
            Side::Stock => self.stock.judge(&self.model),
            Side::Ours => self.ours.judge(&self.model),
        }
    }

    fn step(&mut self, side: Side, step: &Step) {
        println!("{:>4} {side:?} {step}", self.done);
        self.done += 1;
        let size = match side {
            Side::Stock => self.stock.step(step, &self.model),
            Side::Ours => self.ours.step(step, &self.model, &self.noise),
        };
        let full = self.model.full();
        step.apply(&mut self.model, &self.noise, size);
        for name in self.model.full() {
            if !full.contains(&name) {
                println!("     {name} overflows");
            }
        }
        let Step::Merge { origin, how, .. } = step else {
            return;
        };
        let is_over = match side {
            Side::Stock => *how == Merge::Closed,
            Side::Ours => *how != Merge::Cut && self.ours.serves(origin),
        };
        if is_over {
            self.model.end_merges_into(origin);
        } else if side == Side::Ours || *how == Merge::Cut {
            // The kernel shows it with the next activation of an origin that was open.
            self.model.begin_merges();
        }
    }
}

#[test]
fn stock_and_ashlar_take_turns() {
    // Proves: whatever stock LVM2 and the kernel did to a group, Ashlar finds it as it
    // is, goes on with it, and the other way round.
    let seed = setting("ASHLAR_HISTORY_SEED", 1);
    let handovers = setting("ASHLAR_HISTORY_HANDOVERS", HANDOVERS);
    let steps = setting("ASHLAR_HISTORY_STEPS", STEPS);
    let start = Instant::now();
    println!("ASHLAR_HISTORY_SEED={seed} repeats this history");
    let mut random = Random::new(seed);
    let noise: Vec<u8> = (0..NOISE / 8)
        .flat_map(|_| random.number().to_le_bytes())
        .collect();
    let scratch = Scratch::new("histories");
    let disks = images(&scratch, "disk", DISKS, DISK_MIB);
    let (images, file) = (disks.clone(), noise.clone());
    let kernel = move || {
        Kernel::new("histories")
            .disks(&images)
            .file("noise", &file)
            .program("flock")
            .limit(Duration::from_secs(600 + handovers * 120))
    };
    let ours = Ours::on(disks);
    ours.create("-s 1m");
    let mut history = History {
        chooser: Chooser { random },
        model: Model::default(),
        noise,
        stock: Stock::new(kernel),
        ours,
        steps,
        done: 0,
    };
    let anchor = history.chooser.anchor();
    history.step(Side::Ours, &anchor);
    for round in 0..handovers {
        history.turn([Side::Ours, Side::Stock][(round % 2) as usize]);
    }
    let Stock { boot, time, .. } = &history.stock;
    let (done, all) = (history.done, start.elapsed());
    println!("{done} steps, {handovers} hand-overs, {all:?}: {boot:?} to boot, {time:?} of stock");
}
