//! A profile: all that tells one disk from another, as plain data.
//!
//! Times are integer nanoseconds, amounts are blocks of 512 bytes. The parameters are those that
//! `DiskSim` 4 describes a drive with, since they were measured for many real ones, plus what
//! later drives have: a queue, and a volatile write cache that fills while the arm is busy.
//! [`super::import`] reads profiles from parameter files, [`super::catalog`] holds known drives.

use super::geometry::Layout;
use super::rotation::RPM_MAX;
use super::seek::{Arm, SeekCurve};
use crate::error::{Error, Kind, Result};

/// Segments that a cache may have.
const SEGMENTS_MAX: usize = 4096;

/// One model of disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// What people call it.
    pub name: String,
    /// Where its numbers come from, and what they are worth.
    pub source: String,
    /// Where blocks are.
    pub layout: Layout,
    /// How the arm moves.
    pub mechanics: Mechanics,
    /// What each command costs in the controller.
    pub overheads: Overheads,
    /// The buffer.
    pub cache: Cache,
    /// How data goes to the host.
    pub bus: Bus,
    /// In which order commands are served.
    pub queue: Queue,
}

/// The moving parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanics {
    /// Revolutions per minute.
    pub rpm: u32,
    /// Seek times.
    pub seek: SeekCurve,
    /// To use another head of the cylinder.
    pub head_switch_ns: u64,
    /// To settle on the track after a head switch, or where the head waited on it; within a
    /// transfer that goes on, the head need not.
    pub settle_ns: u64,
    /// What a write waits longer than a read after a seek to its begin; may be negative.
    pub write_settle_ns: i64,
    /// What a write waits longer than a read on its way to the next track of a transfer; may be
    /// negative. Where it is measured it is mostly the same; data sheets that add milliseconds to
    /// the average seek of a write add nothing, or little, to the one from track to track.
    pub write_switch_ns: i64,
    /// A seek for a write that does not continue the last one takes at least this.
    pub write_seek_min_ns: u64,
}

/// Times that depend on what the command before was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AfterEach {
    /// After a read.
    pub after_read_ns: u64,
    /// After a write.
    pub after_write_ns: u64,
}

/// What the controller spends on each command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overheads {
    /// A read that finds its first block in the cache.
    pub read_hit: AfterEach,
    /// A read that does not.
    pub read_miss: AfterEach,
    /// A write that is reported when it is in the cache.
    pub write_hit: AfterEach,
    /// A write that is reported when it is on the medium.
    pub write_miss: AfterEach,
    /// To report a read.
    pub complete_read_ns: u64,
    /// To report a write.
    pub complete_write_ns: u64,
    /// To make data ready for the bus.
    pub data_preparation_ns: u64,
    /// To get the bus back, the first time in a command.
    pub reselect_first_ns: u64,
    /// To get the bus back again.
    pub reselect_other_ns: u64,
    /// To leave the bus while a read is positioned.
    pub disconnect_read: AfterEach,
    /// To leave the bus while a write is positioned.
    pub disconnect_write_ns: u64,
    /// Of drives that leave the bus before they take the data of a write that follows a write
    /// elsewhere.
    pub extra_disconnect: Option<ExtraDisconnect>,
}

/// The times of an extra disconnection of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtraDisconnect {
    /// Instead of the usual command overhead.
    pub command_ns: u64,
    /// To leave the bus the first time.
    pub disconnect_ns: u64,
    /// Off the bus.
    pub away_ns: u64,
    /// To leave the bus the second time.
    pub second_disconnect_ns: u64,
    /// From the command overhead until the arm starts.
    pub seek_delta_ns: u64,
    /// Blocks that must be there before the medium is written, fewer if the write is shorter.
    pub least_blocks: u32,
    /// The same for large writes.
    pub least_blocks_large: u32,
    /// The size of a large write.
    pub large_blocks: u32,
}

/// How far a read goes on after the last block that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// To the end of the track.
    TrackEnd,
    /// To the end of the cylinder.
    CylinderEnd,
    /// Until the segment is full, or the most blocks are read ahead.
    Segment,
    /// To the end of the track; over the next one too where the segment began before this one; and
    /// over each further one that fits the segment as a whole.
    WholeTracks,
}

/// When a write is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WritePolicy {
    /// When it is on the medium.
    #[default]
    Through,
    /// When it is in the cache, which takes it only while the arm is idle or writes what is just
    /// before it.
    BehindWhenIdle,
    /// When it is in the cache, which also fills while the arm is busy.
    Behind,
}

/// Whether a transfer may begin in its middle when the head lands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZeroLatency {
    /// It begins at its first block.
    #[default]
    No,
    /// It begins at any block.
    Yes,
}

/// Something that a drive does or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Habit {
    /// It does not.
    #[default]
    No,
    /// It does.
    Yes,
}

impl Habit {
    /// Whether it does.
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }
}

/// The buffer between medium and bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// Segments; 0 is a drive without a cache of what was read.
    pub segments: usize,
    /// Blocks of a segment.
    pub segment_blocks: u32,
    /// Writes that may wait for the medium at a time, under [`WritePolicy::Behind`].
    pub write_segments: usize,
    /// One segment is for writes only.
    pub separate_write_segment: Habit,
    /// How far reads go on.
    pub read_ahead: ReadAhead,
    /// The most blocks read ahead under [`ReadAhead::Segment`]; 0 is a whole segment.
    pub read_ahead_max: u32,
    /// Blocks that are read ahead before another command may interrupt.
    pub read_ahead_min: u32,
    /// Reading ahead goes on after a hit on data that is not being read any more.
    pub resume_on_hit: Habit,
    /// What passes under the head before the first block is kept too.
    pub keep_free_blocks: Habit,
    /// Reads may begin in their middle.
    pub zero_latency_read: ZeroLatency,
    /// Writes may begin in their middle.
    pub zero_latency_write: ZeroLatency,
    /// What the host was given is not kept; only what was read beside it answers later reads.
    pub discard_delivered: Habit,
    /// Reads may be answered from data that was written.
    pub read_hits_on_written: Habit,
    /// A read of the very block that is being read ahead is a hit.
    pub almost_hits: Habit,
    /// When writes are reported.
    pub write_policy: WritePolicy,
    /// Writes that continue one another are written in one go.
    pub combine_writes: Habit,
    /// Reading ahead may stop within a sector.
    pub stop_in_sector: Habit,
    /// The share of a read, in thousandths, that must be there before its transfer begins.
    pub read_watermark_thousandths: u32,
}

/// The way to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bus {
    /// To transfer one block to the host.
    pub read_block_ns: u64,
    /// To transfer one block to the disk.
    pub write_block_ns: u64,
    /// A read keeps the bus from its first to its last block.
    pub hold_for_read: Habit,
}

/// The order of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Who is next.
    pub scheduler: Scheduler,
    /// Commands that the drive takes; more wait outside, in order of arrival.
    pub depth: usize,
    /// A command that waited this long goes first; `None` lets it wait.
    pub age_limit_ns: Option<u64>,
    /// When the arm may leave for the next command.
    pub release: Release,
}

/// Who is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheduler {
    /// In order of arrival.
    #[default]
    Fcfs,
    /// The nearest in the direction of the arm, which turns where none is left.
    Look,
    /// The one that the head can reach first, rotation included.
    Sptf,
}

/// When the arm may leave for the next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// When the command is reported.
    #[default]
    AtCompletion,
    /// When the medium is done, while data still goes over the bus.
    AtMediumDone,
}

impl Mechanics {
    /// The arm over `cylinders`; fails if one of its times is longer than a second.
    pub fn arm(&self, cylinders: u32) -> Result<Arm> {
        let (switch_ns, settle_ns) = (self.head_switch_ns, self.settle_ns);
        Arm::new(&self.seek, cylinders, switch_ns, settle_ns)?
            .writing(self.write_settle_ns, self.write_switch_ns)
    }
}

impl ExtraDisconnect {
    /// Blocks of a write of `count` that must be there before the medium is written.
    pub fn least_of(&self, count: u64) -> u64 {
        let least = if count < u64::from(self.large_blocks) {
            self.least_blocks
        } else {
            self.least_blocks_large
        };
        u64::from(least).clamp(1, count)
    }
}

impl AfterEach {
    /// The same time after reads and writes.
    pub fn both(ns: u64) -> Self {
        Self {
            after_read_ns: ns,
            after_write_ns: ns,
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_blocks: 256,
            write_segments: 1,
            separate_write_segment: Habit::No,
            read_ahead: ReadAhead::None,
            read_ahead_max: 0,
            read_ahead_min: 0,
            resume_on_hit: Habit::No,
            keep_free_blocks: Habit::No,
            zero_latency_read: ZeroLatency::No,
            zero_latency_write: ZeroLatency::No,
            discard_delivered: Habit::No,
            read_hits_on_written: Habit::Yes,
            almost_hits: Habit::No,
            write_policy: WritePolicy::Through,
            combine_writes: Habit::Yes,
            stop_in_sector: Habit::No,
            read_watermark_thousandths: 0,
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::Fcfs,
            depth: 32,
            age_limit_ns: None,
            release: Release::AtCompletion,
        }
    }
}

impl Profile {
    /// Fails, naming the field, if no disk can be so. The layout and the seek curve are checked
    /// where they are built.
    pub fn validate(&self) -> Result<()> {
        let wrong = |what: String| {
            Err(Error::new(
                Kind::Impossible,
                format!("{}: {what}", self.name),
            ))
        };
        if !(1..=RPM_MAX).contains(&self.mechanics.rpm) {
            return wrong(format!(
                "{} rpm, but 1 to {RPM_MAX} exist",
                self.mechanics.rpm
            ));
        }
        if self.cache.segments > SEGMENTS_MAX {
            return wrong(format!(
                "{} cache segments, over {SEGMENTS_MAX}",
                self.cache.segments
            ));
        }
        if self.cache.segments > 0 && self.cache.segment_blocks == 0 {
            return wrong("cache segments of 0 blocks".into());
        }
        if self.cache.write_policy != WritePolicy::Through && self.cache.write_segments == 0 {
            return wrong("a write cache without write segments".into());
        }
        if self.cache.separate_write_segment.is_yes() && self.cache.segments < 2 {
            return wrong("one segment cannot be for writes only and for reads".into());
        }
        if self.cache.read_watermark_thousandths > 1000 {
            return wrong("a read watermark over the whole read".into());
        }
        if self.queue.depth == 0 {
            return wrong("a queue of no commands".into());
        }
        Ok(())
    }
}
