//! What happens to the volume beside its requests: a piece counts as moved, or the move is aborted.
//!
//! ```text
//!   hold requests ─▸ all are answered ─▸ Finish ─▸ Suspend ─▸ written down ─▸ the next piece
//!                                           ╲ refused: all goes on, and it is tried again
//!   hold requests ─▸ all are answered ───────────▸ Suspend ─▸ written down ─▸ no more pieces
//!                                                                   ╲ cannot be: all goes on
//! ```

use block::sim::Random;

use super::fault::SeededFault;
use super::run::{Run, STEPS_MAX};
use super::shape::{SOURCE, TARGET};
use super::window::{Window, reuse};
use crate::explore::SECTOR;
use crate::machine::Event;
use crate::mirror::Control;

/// What is about to happen, and how far that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    goal: Goal,
    stage: Stage,
}

/// What the metadata will say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// The piece that runs is moved.
    Moved,
    /// What is not moved stays where it is.
    Aborted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Holding,
    Finishing,
    Suspending,
    /// What is being written down may be durable or not.
    Committing,
}

impl Run {
    /// Begins a change, if there is reason to; now and then if there is none.
    pub(super) fn consider(&mut self, random: &mut Random) {
        if self.change.is_some() || self.world.is_none() {
            return;
        }
        if random.chance(
            1,
            if self.is_copied {
                self.shape.patience
            } else {
                60
            },
        ) {
            self.change(Goal::Moved);
        }
    }

    /// Requests are held from now on.
    pub(super) fn change(&mut self, goal: Goal) {
        if self.change.is_none() && self.world.is_some() {
            let stage = Stage::Holding;
            self.change = Some(Change { goal, stage });
        }
    }

    /// Goes on with a change, where that is possible.
    pub(super) fn advance(&mut self, random: &mut Random) -> Result<(), String> {
        let change = self.change.expect("there is one");
        let fault = self.shape.fault;
        match change.stage {
            Stage::Holding if !self.open.is_empty() => {}
            Stage::Holding if change.goal == Goal::Aborted => self.suspend(),
            Stage::Holding if fault == Some(SeededFault::NotFinished) && self.is_copied => {
                self.suspend();
            }
            Stage::Holding => {
                self.stage(Stage::Finishing);
                self.activity.finishing.set(true);
                let control = Control::Finish;
                self.machine().tell(Event::Control { id: 1, control });
            }
            Stage::Finishing => {
                let obeyed = std::mem::take(&mut self.machine().obeyed);
                let Some((_, result)) = obeyed.into_iter().next() else {
                    return Ok(());
                };
                self.activity.finishing.set(false);
                if result.is_ok() || fault == Some(SeededFault::RefusalIgnored) {
                    self.suspend();
                } else {
                    self.change = None;
                    self.count("refused", 1);
                }
            }
            Stage::Suspending if !self.machine().suspended => {}
            Stage::Suspending => {
                self.stage(Stage::Committing);
                let mut described = self.described;
                match change.goal {
                    Goal::Moved => described.moved += 1,
                    Goal::Aborted => described.is_aborted = true,
                }
                self.pending = Some(described);
                if fault == Some(SeededFault::SourceReusedEarly) && change.goal == Goal::Moved {
                    let first = self.shape.piece(self.described.moved).start() / SECTOR;
                    reuse(&mut self.machine().disks[SOURCE], first);
                }
            }
            Stage::Committing if random.chance(2, 3) => {}
            Stage::Committing if random.chance(1, 8) => {
                self.pending = None;
                self.change = None;
                self.machine().tell(Event::Resume);
                self.count("not written down", 1);
            }
            Stage::Committing => self.commit(change.goal, random)?,
        }
        Ok(())
    }

    fn stage(&mut self, stage: Stage) {
        self.change.as_mut().expect("there is one").stage = stage;
    }

    fn suspend(&mut self) {
        self.stage(Stage::Suspending);
        self.machine().tell(Event::Suspend);
    }

    /// The metadata say something else from now on: the machine ends without another request, and
    /// others use what is free.
    fn commit(&mut self, goal: Goal, random: &mut Random) -> Result<(), String> {
        let piece = self.described.moved;
        self.described = self.pending.take().expect("it was to be written down");
        if self.shape.fault == Some(SeededFault::AbortedOnTarget) && goal == Goal::Aborted {
            self.described.moved += 1;
        }
        self.change = None;
        let begun = |run: &Self| [SOURCE, TARGET].map(|side| run.disk(piece, side).begun());
        let before = begun(self);
        self.machine().tell(Event::Stop);
        for _ in 0..STEPS_MAX {
            if self.machine().stopped {
                break;
            }
            self.machine().step(random, 8);
        }
        if !self.machine().stopped {
            return Err("the copy of a piece does not end".into());
        }
        if begun(self) != before {
            return Err("a machine asks for what is not its own any more".into());
        }
        self.look()?;
        let world = self.world.take().expect("it ran until now");
        let [reads, writes] = world.asked_directly();
        self.count("reads without the home", reads);
        self.count("writes without the home", writes);
        let latched = self.latched.into_iter().zip(world.failed);
        let latched = latched.map(|(before, failed)| before || failed);
        let mut windows = world.disks.into_iter().zip(latched);
        self.windows[piece] = std::array::from_fn(|_| {
            let (disk, latched) = windows.next().expect("there are two");
            Some(Window::new(disk, latched))
        });
        self.count(
            match goal {
                Goal::Moved => "pieces moved",
                Goal::Aborted => "moves aborted",
            },
            1,
        );
        self.reuse_free();
        self.begin_piece()
    }

    /// Others use what is free: sources of what is moved, and targets of what will not be.
    pub(super) fn reuse_free(&mut self) {
        let described = self.described;
        for piece in 0..self.shape.count {
            let first = self.shape.piece(piece).start() / SECTOR;
            if piece < described.moved {
                reuse(&mut self.window(piece, SOURCE).disk, first);
            } else if described.is_aborted {
                reuse(&mut self.window(piece, TARGET).disk, first);
            }
        }
    }
}
