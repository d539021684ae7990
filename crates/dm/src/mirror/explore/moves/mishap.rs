//! What goes wrong, besides the power.

use block::sim::Random;

use super::change::Goal;
use super::run::Run;
use super::shape::{SOURCE, TARGET};
use crate::explore::{SECTOR, Sort};

/// A failure, or somebody's order.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mishap {
    /// The move is aborted.
    Abort,
    /// The disk that is moved to vanishes.
    TargetGone,
    /// One request to what is being copied to fails.
    TargetFails(Sort),
    SourceGone,
    /// One request to some piece of the source fails.
    SourceFails(Sort),
    /// A sector of the source cannot be read.
    Unreadable,
}

impl Mishap {
    pub(super) fn chosen(random: &mut Random) -> Self {
        let sort = [Sort::Read, Sort::Write, Sort::Flush][random.index(3)];
        match random.below(16) {
            0..=3 => Self::Abort,
            4..=6 => Self::TargetGone,
            7..=10 => Self::TargetFails(sort),
            11 => Self::SourceGone,
            12 | 13 => Self::Unreadable,
            _ => Self::SourceFails(sort),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Abort => "aborts",
            Self::TargetGone => "targets gone",
            Self::TargetFails(_) => "failures of targets",
            Self::SourceGone => "sources gone",
            Self::SourceFails(_) => "failures of sources",
            Self::Unreadable => "unreadable sectors",
        }
    }
}

impl Run {
    /// Something goes wrong.
    pub(super) fn suffer(&mut self, mishap: Mishap, random: &mut Random) {
        let one_disk = self.shape.one_disk;
        match mishap {
            Mishap::Abort => self.change(Goal::Aborted),
            Mishap::TargetGone | Mishap::SourceGone if one_disk => {
                self.vanish(SOURCE);
                self.vanish(TARGET);
            }
            Mishap::TargetGone => self.vanish(TARGET),
            Mishap::SourceGone => self.vanish(SOURCE),
            Mishap::TargetFails(sort) => {
                if let Some(world) = &mut self.world {
                    world.arrange(TARGET, sort);
                    if one_disk && sort == Sort::Flush {
                        world.arrange(SOURCE, sort);
                        self.source_ills(sort);
                    }
                }
            }
            Mishap::SourceFails(sort) => {
                let Some(piece) = self.piece_of_source(random) else {
                    return;
                };
                match &mut self.world {
                    Some(world) if piece == self.described.moved => world.arrange(SOURCE, sort),
                    _ => self.window(piece, SOURCE).arranged.push(sort),
                }
                self.source_ills(sort);
            }
            Mishap::Unreadable => {
                let Some(piece) = self.piece_of_source(random) else {
                    return;
                };
                let block = random.below(self.shape.piece(piece).len() / SECTOR);
                let disk = match (&mut self.windows[piece][SOURCE], &mut self.world) {
                    (Some(window), _) => &mut window.disk,
                    (None, world) => &mut world.as_mut().expect("it has it").disks[SOURCE],
                };
                disk.faults_mut().unreadable.insert(block);
                self.source_ills(Sort::Read);
            }
        }
    }

    /// A piece that is on the source.
    fn piece_of_source(&self, random: &mut Random) -> Option<usize> {
        let rest = self.shape.count - self.described.moved;
        (rest > 0).then(|| self.described.moved + random.index(rest))
    }

    /// Where it fails reads, what is being written may be read from the target, and then not.
    fn source_ills(&mut self, sort: Sort) {
        self.source_fails = true;
        self.model.is_monotone &= sort != Sort::Read;
    }

    fn vanish(&mut self, side: usize) {
        for pair in &mut self.windows {
            if let Some(window) = &mut pair[side] {
                window.disk.vanish();
            }
        }
        if let Some(world) = &mut self.world {
            world.disks[side].vanish();
        }
        match side {
            SOURCE => self.source_ills(Sort::Read),
            _ => self.target_gone = true,
        }
    }
}
