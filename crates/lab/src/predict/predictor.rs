//! The prediction of a volume under a load.
//!
//! Every disk becomes a branch of a network of queues; what a drive's service takes depends on how
//! many commands it can choose from, and that on how busy it is, so branches and network are solved
//! in turns until they agree.

use super::explain::Account;
use super::flash::{Asked, Come, flashed, hottest};
use super::footprint::Footprint;
use super::mechanics::Mechanics;
use super::others::{above, capped, linked, served};
use super::queue::{Branch, Solution, Spread, State, closed, open};
use super::random::Ways;
use super::subject::{Above, Arrivals, Load, Medium, Pattern, Shape, Volume};
use crate::disk::flash::FlashProfile;
use crate::disk::profile::WritePolicy;
use crate::error::Result;

/// Rounds between service laws and queues; they agree to a per cent after four.
const ROUNDS: usize = 8;

/// Blocks of a stream that are read from one leg of a mirror before another is chosen: 4 MiB, as
/// the mirror that serves users does.
pub(super) const READ_RUN: u64 = 8192;

/// What a volume will do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Requests answered per second.
    pub per_second: f64,
    /// The mean time from arrival to answer, in nanoseconds.
    pub response_ns: f64,
}

/// Predicts what `volume` does under `load`.
pub fn predict(volume: &Volume, load: &Load) -> Result<Prediction> {
    Ok(Model::new(volume, &Above::default(), load)?.predict().0)
}

/// A disk, as far as it is prepared for a load.
enum Prepared<'a> {
    Drive(Box<Mechanics<'a>>, Box<Option<Ways>>),
    /// How many times the mean of all units the busiest one has to do.
    Flash(f64),
    Other,
}

/// The parts of a request that come to a leg of a mirror, and the share of reads among them: of all
/// requests, of which a `share` are reads, it answers the reads `mine`, and all writes.
fn leg_of(mine: f64, share: f64) -> (f64, f64) {
    let visits = mine + (1.0 - share);
    (visits, mine / visits.max(1e-9))
}

pub(super) struct Model<'a> {
    pub(super) volume: &'a Volume,
    above: &'a Above,
    pub(super) load: &'a Load,
    pub(super) footprint: Footprint,
    /// Of each disk: the share of reads among its parts.
    reads: Vec<f64>,
    prepared: Vec<Prepared<'a>>,
}

impl<'a> Model<'a> {
    pub(super) fn new(volume: &'a Volume, above: &'a Above, load: &'a Load) -> Result<Self> {
        let mut footprint = Footprint::of(volume, load);
        let share = load.reads as f64 / 1000.0;
        let mut reads = vec![share; volume.disks.len()];
        let streams = load.pattern == Pattern::Sequential;
        if volume.shape == Shape::Mirror {
            let legs = volume.pieces.len() as f64;
            footprint.width = vec![0.0; volume.disks.len()];
            footprint.width[0] += share;
            *footprint.width.last_mut().expect("a mirror has legs") += 1.0 - share;
            // A stream stays where it is as long as nothing waits there when its run ends.
            let alone = match load.arrivals {
                Arrivals::Closed { depth } => depth == 1,
                // Of few requests in a run one often waits.
                _ => streams && READ_RUN > 8 * load.blocks,
            };
            for (leg, reads) in reads.iter_mut().enumerate() {
                let mine = match (alone, leg) {
                    (true, 0) => share,
                    (true, _) => 0.0,
                    _ => share / legs,
                };
                (footprint.visits[leg], *reads) = leg_of(mine, share);
            }
        }
        let mut prepared = Vec::new();
        let used = footprint.disks.iter().zip(&reads);
        for (number, (disk, (parts, reads))) in volume.disks.iter().zip(used).enumerate() {
            prepared.push(match &disk.medium {
                Medium::Flash(flash) if !parts.is_empty() => {
                    Prepared::Flash(hottest(volume, load, number, flash))
                }
                Medium::Drive(profile) if !parts.is_empty() => {
                    let mechanics = Mechanics::new(profile)?;
                    let ways = (load.pattern != Pattern::Sequential)
                        .then(|| Ways::new(&mechanics, parts, *reads));
                    Prepared::Drive(Box::new(mechanics), Box::new(ways))
                }
                _ => Prepared::Other,
            });
        }
        let mut model = Self {
            volume,
            above,
            load,
            footprint,
            reads,
            prepared,
        };
        model.lean();
        Ok(model)
    }

    /// Where requests are always outstanding, the legs of a mirror have as many reads each, so that
    /// a faster one answers more of them.
    fn lean(&mut self) {
        let Some(depth) = self.depth().filter(|depth| *depth > 1) else {
            return;
        };
        let streams = self.load.pattern == Pattern::Sequential;
        let share = self.load.reads as f64 / 1000.0;
        if self.volume.shape != Shape::Mirror || streams || share == 0.0 {
            return;
        }
        let legs = self.volume.pieces.len();
        let state = State {
            queue: depth as f64 / legs as f64,
            utilisation: 1.0,
            response: 0.0,
        };
        let speed = |leg| 1.0 / self.branch(leg, &state, 0.0).undisturbed().max(1.0);
        let speeds: Vec<f64> = (0..legs).map(speed).collect();
        let all: f64 = speeds.iter().sum();
        for (leg, speed) in speeds.iter().enumerate() {
            let mine = share * speed / all;
            (self.footprint.visits[leg], self.reads[leg]) = leg_of(mine, share);
        }
    }

    /// Blocks of a stream that go to one disk before the next has its turn.
    pub(super) fn turn(&self) -> Option<u64> {
        match self.volume.shape {
            Shape::Striped { chunk } => Some(chunk),
            Shape::Mirror if self.load.reads == 1000 => Some(READ_RUN),
            _ => None,
        }
    }

    pub(super) fn depth(&self) -> Option<usize> {
        match self.load.arrivals {
            Arrivals::Closed { depth } => Some(depth),
            _ => None,
        }
    }

    /// The prediction, and where the time of a request goes.
    pub(super) fn predict(&self) -> (Prediction, Account) {
        let (solution, branches) = self.solve();
        let (front, disks) = branches.split_last().expect("what lies above is a branch");
        let parts: f64 = disks.iter().map(|branch| branch.visits).sum();
        let mut account = front.account;
        for branch in disks {
            let weight = branch.visits / parts.max(1e-12) * self.repeats();
            account.add(&branch.account, weight);
        }
        account.slowest += solution.fork.max(0.0);
        account.complete(solution.response);
        let prediction = Prediction {
            per_second: solution.rate * 1e9,
            response_ns: solution.response,
        };
        (prediction, account)
    }

    /// The network, and its branches: the disks, and what lies above them.
    fn solve(&self) -> (Solution, Vec<Branch>) {
        let disks = self.volume.disks.len() as f64;
        let start = self.depth().map_or(0.5, |depth| depth as f64 / disks);
        let mut states = vec![
            State {
                queue: start,
                utilisation: start.min(1.0),
                response: 0.0,
            };
            self.volume.disks.len()
        ];
        let mut rate = 0.0;
        let mut found = None;
        for _ in 0..ROUNDS {
            let mut branches: Vec<Branch> = (0..self.volume.disks.len())
                .map(|disk| self.branch(disk, &states[disk], rate))
                .collect();
            branches.push(above(self.above, self.load));
            let next = self.network(&branches);
            for (state, new) in states.iter_mut().zip(&next.branches) {
                state.queue = f64::midpoint(state.queue, new.queue);
                state.utilisation = f64::midpoint(state.utilisation, new.utilisation);
            }
            rate = next.rate;
            found = Some((next, branches));
        }
        found.expect("there are rounds")
    }

    fn network(&self, branches: &[Branch]) -> Solution {
        let spread = Spread {
            width: &self.footprint.width,
            excess: &self.footprint.excess,
        };
        let streams = self.load.pattern == Pattern::Sequential;
        match self.load.arrivals {
            Arrivals::Closed { depth } if streams => self.stream(branches, depth),
            Arrivals::Closed { depth } => closed(branches, spread, depth),
            Arrivals::Even { gap_ns } => open(branches, spread, 1.0 / gap_ns as f64, 0.0),
            Arrivals::Poisson { gap_ns } => open(branches, spread, 1.0 / gap_ns as f64, 1.0),
            Arrivals::Bursty { gap_ns, together } => {
                let together = together.min(999) as f64 / 1000.0;
                let gaps = (1.0 + together) / (1.0 - together);
                open(branches, spread, 1.0 / gap_ns as f64, gaps)
            }
        }
    }

    /// A sequential stream with `depth` requests under way: they follow each other over the disks,
    /// so that nothing is left to chance.
    fn stream(&self, branches: &[Branch], depth: usize) -> Solution {
        let active = self.active(depth as f64);
        let (front, branches) = branches.split_last().expect("what lies above is a branch");
        let mut limit = f64::MAX;
        let mut work = 0.0;
        let mut slowest: f64 = 0.0;
        let mut mean = 0.0;
        let parts: f64 = branches.iter().map(|branch| branch.visits).sum();
        for branch in branches.iter().filter(|branch| branch.visits > 0.0) {
            limit = limit.min(branch.limit());
            work += 1.0 / branch.limit();
            slowest = slowest.max(branch.undisturbed());
            mean += branch.visits / parts * branch.undisturbed();
        }
        let wide = self.wide() > 1.5;
        let alone = if wide {
            slowest
        } else {
            mean * parts.max(1.0).min(self.repeats())
        };
        let shared = match (self.volume.shape, self.turn()) {
            (Shape::Linear, _) => 1.0 / work.max(1e-9),
            (_, Some(_)) => limit.min(active / work.max(1e-9)),
            (_, None) => limit,
        };
        let shared = shared
            .min(front.limit())
            .min(self.handed(branches, depth as f64));
        let alone = alone + front.undisturbed();
        let rate = (depth as f64 / alone.max(1.0)).min(shared);
        Solution {
            rate,
            response: depth as f64 / rate,
            branches: branches
                .iter()
                .map(|branch| State {
                    queue: depth as f64 / active,
                    utilisation: (rate * branch.visits * alone).min(1.0),
                    response: alone,
                })
                .collect(),
            fork: 0.0,
        }
    }

    /// The rate at which the controllers of a stripe can hand over the parts of a stream, whatever
    /// their heads do. The next disk's first part comes when as many of this one's are left as
    /// requests are under way, and takes all of its overhead; so n parts of a chunk take the time
    /// of n - depth and that of a first one.
    fn handed(&self, branches: &[Branch], depth: f64) -> f64 {
        let Shape::Striped { chunk } = self.volume.shape else {
            return f64::MAX;
        };
        let parts = chunk as f64 / self.load.blocks as f64;
        let cached = self.load.reads == 1000 || self.held() > 0.0;
        if !cached || depth < 2.0 || parts < depth {
            return f64::MAX;
        }
        let mean = |of: &dyn Fn(&Branch) -> f64| -> f64 {
            let all: f64 = branches.iter().map(|branch| branch.visits).sum();
            branches.iter().map(|at| at.visits * of(at)).sum::<f64>() / all.max(1e-12)
        };
        let (found, first) = (mean(&|at| at.found), mean(&|at| at.first));
        parts / ((parts - depth) * found + first).max(1.0)
    }

    /// Disks that a request uses at a time, on average.
    pub(super) fn wide(&self) -> f64 {
        let width = self.footprint.width.iter();
        width
            .zip(1..)
            .map(|(share, count)| share * f64::from(count))
            .sum()
    }

    /// Parts of a request on the same disk.
    fn repeats(&self) -> f64 {
        (self.footprint.visits.iter().sum::<f64>() / self.wide()).max(1.0)
    }

    /// Disks that work at a time on a sequential stream.
    pub(super) fn active(&self, depth: f64) -> f64 {
        let disks = self.volume.disks.len() as f64;
        match (self.volume.shape, self.turn()) {
            (Shape::Linear, _) => 1.0,
            (_, None) => disks.min(depth.max(self.wide())),
            (_, Some(chunk)) => {
                // All that is answered goes to one disk until its chunk is full, which then works
                // that off while the next ones get theirs.
                let chunk = (chunk as f64 / self.load.blocks as f64).max(1.0);
                let held = self.held();
                if held > 0.0 {
                    // What a cache takes at once, its disk writes while others have their turn.
                    let left = (chunk - held - depth).max(chunk / disks);
                    return (chunk / left).max(self.wide()).clamp(1.0, disks);
                }
                (1.0 + (depth - 1.0) * 2.0 / (chunk + 1.0))
                    .max(self.wide())
                    .clamp(1.0, disks)
            }
        }
    }

    /// Writes of a stream that the cache of each disk holds.
    fn held(&self) -> f64 {
        let held = self.volume.disks.iter().map(|disk| match &disk.medium {
            Medium::Drive(profile) if profile.cache.write_policy == WritePolicy::Behind => {
                profile.cache.write_segments as f64
            }
            _ => 0.0,
        });
        if self.load.reads == 0 {
            held.fold(f64::MAX, f64::min)
        } else {
            0.0
        }
    }

    /// The share of a stream's requests whose page was not written by one before it in the page,
    /// and is not in the cache of a flash disk therefore.
    fn stale(&self, flash: &FlashProfile) -> f64 {
        let page = f64::from(flash.page_blocks) / self.load.blocks as f64;
        let reads = self.load.reads as f64 / 1000.0;
        let streams = self.load.pattern == Pattern::Sequential;
        if !streams || flash.cache_pages == 0 || page <= 1.0 || reads >= 1.0 {
            return 1.0;
        }
        (1.0 - reads.powi(page as i32)) / (page * (1.0 - reads))
    }

    /// A flash disk, which serves all parts of a request at the same time.
    fn flash(&self, disk: usize, flash: &FlashProfile, hottest: f64) -> Branch {
        let repeats = self.repeats();
        let visits = self.footprint.visits[disk] / repeats;
        let streams = self.load.pattern == Pattern::Sequential;
        let reads = self.reads[disk];
        let come = match self.load.arrivals {
            Arrivals::Closed { depth } if streams => Come::Closed {
                depth: (depth as f64 * self.wide() / self.active(depth as f64)).max(1.0),
                aside: self.aside(disk),
            },
            Arrivals::Closed { depth } => Come::Closed {
                depth: depth as f64 * visits,
                aside: self.aside(disk),
            },
            Arrivals::Even { gap_ns }
            | Arrivals::Poisson { gap_ns }
            | Arrivals::Bursty { gap_ns, .. } => Come::Open {
                gap: gap_ns as f64 / visits,
            },
        };
        let asked = Asked {
            parts: &self.footprint.disks[disk],
            repeats,
            reads,
            stale: self.stale(flash),
            hottest,
            streams,
            come,
        };
        flashed(flash, &asked)
    }

    /// What a command of a disk spends on the network.
    pub(super) fn aside(&self, disk: usize) -> f64 {
        let mut branch = Branch::default();
        linked(
            &self.volume.disks[disk],
            &mut branch,
            self.reads[disk],
            self.load.blocks as f64,
        );
        branch.undisturbed()
    }

    fn branch(&self, disk: usize, state: &State, rate: f64) -> Branch {
        let parts = &self.footprint.disks[disk];
        if parts.is_empty() || self.footprint.visits[disk] <= 0.0 {
            return Branch::default();
        }
        let reads = self.reads[disk];
        let count = parts.iter().map(|part| part.count).sum::<u64>() as f64 / parts.len() as f64;
        let subject = &self.volume.disks[disk];
        let share = self.load.reads as f64 / 1000.0;
        // Parts of a request that the disk serves at the same time are one.
        let together = match subject.medium {
            Medium::Flash(_) | Medium::Capped(_) => self.repeats(),
            _ => 1.0,
        };
        let mut branch = match (&subject.medium, &self.prepared[disk]) {
            (Medium::Drive(_), Prepared::Drive(mechanics, ways)) => match ways.as_ref() {
                Some(ways) => self.random(mechanics, ways, (reads, count), state),
                None => self.sequential(disk, mechanics, reads, rate),
            },
            (Medium::Capped(cap), _) => capped(cap, count, together),
            (Medium::Flash(flash), Prepared::Flash(hottest)) => self.flash(disk, flash, *hottest),
            (Medium::Server(server), _) => served(server),
            _ => Branch::default(),
        };
        branch.visits = self.footprint.visits[disk];
        branch.visits /= together;
        let spreads = self
            .footprint
            .visits
            .last()
            .is_some_and(|visits| *visits > 1.0 - share);
        if self.volume.shape == Shape::Mirror && spreads {
            branch.chosen = reads;
        }
        linked(subject, &mut branch, reads, count * together);
        branch
    }
}

#[cfg(test)]
mod tests;
