//! Streams of writes: through to the medium, or into a cache that is written back.
//!
//! ```text
//!   through          the next command comes after its first sector has passed: whole turns
//!   when idle        the head goes on while what comes is next to it; a segment takes the rest
//!   behind           the head comes round for what the cache holds, and goes on until it has
//!                    caught up with the host
//! ```

use super::{Pace, Place, Stream};
use crate::disk::profile::WritePolicy;
use crate::disk::seek::Direction;
use crate::predict::mechanics::Came;
use crate::predict::random::{host_write, queued_write};

impl Place<'_> {
    pub(super) fn writes(&self, stream: Stream) -> Pace {
        let profile = self.mechanics.profile;
        let turn = self.mechanics.turn;
        let settle = self.settle(Direction::Write);
        let cold = (0..8)
            .map(|eighth| {
                let wait = (f64::from(eighth) + 0.5) * turn / 8.0;
                self.mechanics
                    .write(
                        &self.write,
                        settle + stream.jump,
                        wait,
                        self.came,
                        stream.reads,
                    )
                    .response
            })
            .sum::<f64>()
            / 8.0;
        match profile.cache.write_policy {
            WritePolicy::Through => self.through(stream, cold),
            WritePolicy::BehindWhenIdle => {
                let host = self.taken(stream);
                let combines = profile.cache.combine_writes.is_yes();
                // What comes while the head is on its way is written with the rest.
                let period = if combines {
                    host.max(self.media)
                } else {
                    self.turns((host - self.media).max(0.0) + settle, self.media)
                };
                Pace {
                    period: period + stream.jumps * (cold - period).max(0.0),
                    host,
                    media: self.media,
                    cold: host,
                    colds: 0.0,
                    passed: 0.0,
                }
            }
            WritePolicy::Behind => self.behind(stream, cold),
        }
    }

    /// The time of a write into the cache. What the controller needs for a command is only hidden
    /// while it takes others.
    fn taken(&self, stream: Stream) -> f64 {
        let taken = host_write(self.mechanics, self.count, self.came, stream.reads);
        match self.came {
            Came::Idle => taken,
            Came::Busy => {
                let queued = queued_write(self.mechanics, self.count, stream.reads);
                taken.max(queued / stream.depth)
            }
        }
    }

    /// Writes into a cache that is written back meanwhile.
    fn behind(&self, stream: Stream, cold: f64) -> Pace {
        let profile = self.mechanics.profile;
        let turn = self.mechanics.turn;
        let settle = self.settle(Direction::Write);
        let host = self.taken(stream);
        let full = profile.cache.write_segments as f64;
        let window = (full - 1.0).max(1.0);
        let taken = host_write(self.mechanics, self.count, Came::Busy, stream.reads);
        let period = if !profile.cache.combine_writes.is_yes() {
            // Nothing is written back while the next write comes in.
            self.wave(settle + taken, window * stream.near)
        } else if stream.jumps > 0.0 {
            // The head goes on in one piece until all of the cache is the other's. As half of what
            // comes is for this one, that is twice what the cache holds.
            let run = (2.0 * window).max(1.0 / stream.jumps);
            self.media + (cold - self.media).max(0.0) / run
        } else if host + stream.aside <= self.media {
            self.media
        } else {
            // The head comes round again for what came meanwhile, which fills the cache at most,
            // and writes it with what comes while it does that, until there is no more.
            self.media + turn * (1.0 - self.media / (host + stream.aside)) / full
        };
        // When others have had their turn, the head waits for the first part of a run; what fits
        // the cache comes meanwhile.
        let waits = (settle + turn / 2.0 - full * host).max(0.0);
        let period = period + waits * (self.count / stream.run).min(1.0);
        Pace {
            period: period.max(host),
            host,
            media: self.media,
            cold: host,
            colds: 0.0,
            passed: 0.0,
        }
    }

    /// A write that follows another command on the medium: a whole number of turns.
    pub(super) fn turned_write(&self, stream: Stream) -> f64 {
        let settle = self.settle(Direction::Write);
        self.turned(settle + stream.aside, |wait| {
            self.mechanics
                .write(&self.write, settle, wait, self.came, stream.reads)
        })
    }

    /// Writes that go to the medium at once.
    fn through(&self, stream: Stream, cold: f64) -> Pace {
        let settle = self.settle(Direction::Write);
        let first = self
            .mechanics
            .write(&self.write, settle, 0.0, self.came, stream.reads);
        let extra = first.busy - first.medium + first.overhead + settle;
        let turned = self.turned_write(stream);
        let period = if stream.away > extra {
            self.round(cold, stream)
        } else {
            let chosen = self.chosen(extra, stream);
            chosen.map_or(turned, |time| time.min(turned))
        };
        Pace {
            period: period + stream.jumps * (cold - period).max(0.0),
            host: cold,
            media: self.media,
            cold,
            colds: 1.0,
            passed: 0.0,
        }
    }

    /// A part of one request at a time that goes to each disk in its turn. The platters' phases do
    /// not change, so that a round of all disks takes whole turns: on average half a turn more than
    /// what the last of the disks of a request needs each time.
    fn round(&self, cold: f64, stream: Stream) -> f64 {
        let turn = self.mechanics.turn;
        let last = stream.wide / (stream.wide + 1.0) - 0.5;
        cold + turn * last.max(0.0) + turn / (2.0 * stream.turns.max(1.0))
    }
}
