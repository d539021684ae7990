//! Whether what an array answers is true, and which failures are excused.

use block::{Completion, Range};

use super::ask::{Asked, What};
use super::fault::SeededFault;
use super::run::{Fit, Run};
use crate::explore::{Failure, SECTOR};

impl Run {
    /// Judges what was answered.
    pub(super) fn look(&mut self) -> Result<(), String> {
        self.world.broken()?;
        if self.world.machine.view.is_some() {
            self.follow_failures();
        }
        self.follow_journal();
        for answer in std::mem::take(&mut self.world.done) {
            let asked = self.open.iter().position(|asked| asked.tag == answer.tag);
            let Some(asked) = asked else {
                return Err("a request is answered twice".into());
            };
            let asked = self.open.swap_remove(asked);
            self.count(&asked.what, -1);
            self.judge(&asked, &answer)?;
        }
        Ok(())
    }

    /// Tells the model of legs that failed since the last look, and of what is in sync.
    fn follow_failures(&mut self) {
        let now = self.failures_now();
        let shape = self.shape;
        let view = self.world.machine.view.as_ref().expect("it has started");
        let in_sync = |sector| {
            let place = shape.place(sector) as u64;
            view.is_in_sync(Range::new(place * SECTOR, SECTOR))
        };
        if now.0 > self.failures.0 {
            self.known.model.failed(Failure::Lost, in_sync);
        }
        if now.1 > self.failures.1 {
            self.known.model.failed(Failure::Read, in_sync);
        }
        self.known.model.settle(in_sync);
        self.failures = now;
    }

    /// Whether a sector may hold anything, or nothing at all.
    pub(super) fn is_excused(&self, sector: u64) -> bool {
        if self.known.wild[sector as usize] {
            return true;
        }
        let is_weak = self.shape.holders(sector) & self.weak != 0;
        is_weak
            && match self.known.fits[self.shape.place(sector)] {
                Fit::Sure => false,
                Fit::Raw | Fit::Torn => true,
                Fit::Cut => self.shape.fault != Some(SeededFault::HoleNotExcused),
            }
    }

    /// Whether a write beside it in its row may have failed in parts, and is not answered: of more
    /// legs than may be lost something failed.
    fn is_being_torn(&self, sector: u64) -> bool {
        let place = self.shape.place(sector);
        let is_beside = |asked: &Asked| {
            let mut sectors = asked.range.start() / SECTOR..asked.range.end() / SECTOR;
            matches!(asked.what, What::Write(_))
                && sectors.any(|other| self.shape.place(other) == place)
        };
        self.shape.is_parity() && !self.shape.survives(self.weak) && self.open.iter().any(is_beside)
    }

    fn judge(&mut self, asked: &Asked, answer: &Completion) -> Result<(), String> {
        let sectors = asked.range.start() / SECTOR..asked.range.end() / SECTOR;
        if let Err(error) = &answer.result
            && self.shape.survives(self.weak)
            && !sectors.clone().any(|sector| self.is_excused(sector))
            && !self.is_beside_raw(&asked.what)
        {
            return Err(format!(
                "a request fails though enough legs are whole: {error}"
            ));
        }
        let done = answer.result.is_ok();
        match &asked.what {
            What::Read(since) if done => {
                let bytes = answer.buffer.chunks(SECTOR as usize);
                for (sector, bytes) in sectors.zip(bytes) {
                    if !self.is_excused(sector) && !self.is_being_torn(sector) {
                        let range = Range::new(sector * SECTOR, SECTOR);
                        self.known.model.judge(range, bytes, since)?;
                    }
                }
            }
            What::Flush(covered) if done => self.known.model.flushed(covered),
            What::Write(durability) => {
                let durable = *durability == block::Durability::Fua;
                self.known.model.written(asked.range, durable, done);
                if !done {
                    self.tear(sectors);
                }
            }
            What::Read(_) | What::Flush(_) | What::Advice => {}
        }
        Ok(())
    }

    /// Whether a write may have gone together with others of its row, which cannot be written.
    fn is_beside_raw(&self, what: &What) -> bool {
        matches!(what, What::Write(_)) && self.is_stuck()
    }

    /// Some of these sectors may have been written, and not the parity with them.
    pub(super) fn tear(&mut self, sectors: impl Iterator<Item = u64>) {
        if !self.shape.is_parity() {
            return;
        }
        for sector in sectors {
            let fit = &mut self.known.fits[self.shape.place(sector)];
            if matches!(*fit, Fit::Sure | Fit::Cut) {
                *fit = Fit::Torn;
            }
        }
    }
}
