//! The question that a prediction answers: disks, a volume on them, and a load.
//!
//! Plain data, so that predictor and emulation get exactly the same question. Amounts are blocks
//! of 512 bytes, times nanoseconds; shares are thousandths where they are drawn at random, so that
//! a case is the same on every machine.

use crate::disk::capped::Cap;
use crate::disk::flash::FlashProfile;
use crate::disk::link::Network;
use crate::disk::profile::Profile;
use crate::disk::server::ServerProfile;
use crate::layout::Loop;

/// What a disk is.
#[derive(Debug, Clone, PartialEq)]
pub enum Medium {
    /// Platters and an arm.
    Drive(Box<Profile>),
    /// A volume with limits.
    Capped(Cap),
    /// Flash.
    Flash(FlashProfile),
    /// A server of queueing theory.
    Server(ServerProfile),
}

/// A disk, and the network before it, if any.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// What it is.
    pub medium: Medium,
    /// What lies between; `None` is a local disk.
    pub link: Option<Network>,
}

/// A range of one disk that belongs to a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Which disk.
    pub disk: usize,
    /// First block.
    pub start: u64,
    /// How many blocks.
    pub blocks: u64,
}

/// How a volume uses its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One after the other.
    Linear,
    /// In turns, a chunk of each; every piece gives as much as the smallest.
    Striped {
        /// Blocks of a chunk.
        chunk: u64,
    },
    /// Each holds all of it. A read that goes on where one ended goes to the same leg, for 4 MiB;
    /// else to the leg with the fewest reads under way, the first of equals. A write goes to all.
    Mirror,
}

/// A volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// The disks.
    pub disks: Vec<Disk>,
    /// The pieces, in the order of the shape.
    pub pieces: Vec<Piece>,
    /// How they are used.
    pub shape: Shape,
}

/// What lies above a volume.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Above {
    /// What a lookup costs, one request after the other.
    pub mapping_ns: u64,
    /// Nested loop devices, each one request after the other.
    pub loops: Vec<Loop>,
    /// The network between the volume and whoever uses it.
    pub link: Option<Network>,
}

/// Where requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Anywhere in the region, but for the share that goes to the hot part of it.
    Random {
        /// The share of requests that goes to the hot part, in thousandths.
        hot_share: u64,
        /// Blocks of the hot part, which begins where the region does.
        hot_blocks: u64,
    },
    /// One after the other through the region, and again.
    Sequential,
}

/// When requests come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// So many are always outstanding: the next comes when one is answered.
    Closed {
        /// How many.
        depth: usize,
    },
    /// One every so often, whatever was answered.
    Even {
        /// The gap in nanoseconds.
        gap_ns: u64,
    },
    /// With exponential gaps, whatever was answered.
    Poisson {
        /// The mean gap in nanoseconds.
        gap_ns: u64,
    },
    /// In bursts: gaps are exponential, but a share of them is 0.
    Bursty {
        /// The mean gap in nanoseconds, over all.
        gap_ns: u64,
        /// The share of gaps that are 0, in thousandths.
        together: u64,
    },
}

/// What is asked of a volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Where requests go.
    pub pattern: Pattern,
    /// First block of the region of the volume that is used.
    pub region_start: u64,
    /// Blocks of the region.
    pub region_blocks: u64,
    /// Reads, in thousandths of all requests; the others are writes.
    pub reads: u64,
    /// Blocks of each request.
    pub blocks: u64,
    /// Requests begin at multiples of this from the begin of the region.
    pub grain: u64,
    /// When they come.
    pub arrivals: Arrivals,
    /// Answers that are not counted, at the begin.
    pub warm_up: u64,
    /// Answers that are counted.
    pub counted: u64,
}

impl Medium {
    /// Blocks that it offers, where it can be built.
    pub fn blocks(&self) -> crate::error::Result<u64> {
        Ok(match self {
            Self::Drive(profile) => profile.layout.clone().build()?.blocks(),
            Self::Capped(cap) => cap.blocks,
            Self::Flash(profile) => profile.blocks,
            Self::Server(server) => server.blocks,
        })
    }
}

impl Volume {
    /// Blocks that it offers.
    pub fn blocks(&self) -> u64 {
        let all = self.pieces.iter().map(|piece| piece.blocks);
        match self.shape {
            Shape::Linear => all.sum(),
            Shape::Striped { chunk } => {
                let least = all.min().unwrap_or(0);
                least / chunk.max(1) * chunk * self.pieces.len() as u64
            }
            Shape::Mirror => all.min().unwrap_or(0),
        }
    }

    /// The parts of `count` blocks from `start` of a linear or striped volume, or of one leg: the
    /// number of the piece, the first block within it, and how many.
    pub fn parts(&self, start: u64, count: u64) -> Vec<(usize, u64, u64)> {
        let mut parts: Vec<(usize, u64, u64)> = Vec::new();
        let (mut at, end) = (start, start + count);
        while at < end {
            let (piece, inside, run) = self.locate(at);
            let length = run.min(end - at);
            // Chunks that follow each other on one piece are one request.
            match parts
                .iter_mut()
                .find(|part| part.0 == piece && part.1 + part.2 == inside)
            {
                Some(part) => part.2 += length,
                None => parts.push((piece, inside, length)),
            }
            at += length;
        }
        parts
    }

    /// Where a block lies: the piece, the block within it, and how many follow there.
    fn locate(&self, block: u64) -> (usize, u64, u64) {
        match self.shape {
            Shape::Linear => {
                let mut inside = block;
                for (number, piece) in self.pieces.iter().enumerate() {
                    if inside < piece.blocks {
                        return (number, inside, piece.blocks - inside);
                    }
                    inside -= piece.blocks;
                }
                unreachable!("a block of the volume")
            }
            Shape::Striped { chunk } => {
                let width = self.pieces.len() as u64;
                let (number, inside) = (block / chunk, block % chunk);
                let piece = (number % width) as usize;
                (piece, number / width * chunk + inside, chunk - inside)
            }
            Shape::Mirror => (0, block, self.blocks() - block),
        }
    }
}
