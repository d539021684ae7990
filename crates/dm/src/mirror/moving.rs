//! A mirror that moves extents: one image is the source, the others become copies of it.
//!
//! The source is right until its description names a copy instead, and nobody knows of the copies
//! before. So a source is never lost: what it does not do fails. A copy that fails is lost, and
//! with it the move. When all is copied a notice says so; whoever looks after the mirror then keeps
//! requests away and orders [`super::Control::Finish`]:
//!
//! ```text
//!   Copied ──▸ requests end ──▸ Finish: flush all ──▸ obeyed ──▸ the description names the copy
//! ```
//!
//! What was copied has been durable on the source for long, and must not become less durable by
//! moving; what was written meanwhile and not flushed may be lost with the power, on both.

use block::{Error, Kind, Range};

use super::Mirror;
use super::config::Primary;
use super::control::{Notice, Step, Steps};
use super::health::Verdict;
use super::operation::{Finishing, Gather, Operation};

/// What was said of a move.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// That all is copied, since it was so last.
    pub(super) copied: bool,
    stuck: bool,
}

impl Mirror {
    pub(super) fn is_move(&self) -> bool {
        self.config.primary == Primary::Source
    }

    /// All regions are in sync.
    pub(super) fn tell_copied(&mut self, steps: &mut Steps) {
        if self.is_move() && !std::mem::replace(&mut self.copies.told.copied, true) {
            steps.push(Step::Notice(Notice::Copied));
        }
    }

    /// `piece` can be read from no image.
    pub(super) fn tell_stuck(&mut self, piece: Range, steps: &mut Steps) {
        if self.is_move() && !std::mem::replace(&mut self.copies.told.stuck, true) {
            steps.push(Step::Notice(Notice::Stuck(piece)));
        }
    }

    /// Whether all images hold the same, durably or not.
    fn is_copied(&self) -> bool {
        self.all_live() && self.regions.all_in_sync()
    }

    /// Begins to make all images durable, for the order with this number.
    pub(super) fn finish(&mut self, order: u64, steps: &mut Steps) {
        let gather = Gather::default();
        let finishing = Operation::FinishFlush(Finishing { order, gather });
        if !self.is_running() || !self.is_move() || !self.is_copied() {
            return self.finished(order, false, steps);
        }
        let id = self.operations.insert(finishing);
        let out = self.flush_images(id, steps);
        let Operation::FinishFlush(finishing) = self.operations.get_mut(id) else {
            unreachable!("it was just made");
        };
        finishing.gather.out = out;
    }

    pub(super) fn finish_flush_answered(
        &mut self,
        id: usize,
        image: usize,
        result: block::Result<()>,
        steps: &mut Steps,
    ) {
        let Operation::FinishFlush(finishing) = self.operations.get_mut(id) else {
            unreachable!("it is such a flush");
        };
        if !finishing.gather.note(image, result) {
            return;
        }
        let Operation::FinishFlush(finishing) = self.operations.remove(id) else {
            unreachable!("it is such a flush");
        };
        let is_durable = matches!(self.judge(finishing.gather), Verdict::Done);
        self.finished(finishing.order, is_durable && self.is_copied(), steps);
    }

    fn finished(&self, id: u64, is_whole: bool, steps: &mut Steps) {
        let result = if is_whole {
            Ok(())
        } else {
            let what = format!("{}: the copy is not whole", self.config.name);
            Err(Error::new(Kind::Io, what))
        };
        steps.push(Step::Obeyed { id, result });
    }
}
