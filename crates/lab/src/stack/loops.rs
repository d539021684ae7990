//! A loop device: one thread that hands requests on, each at a cost.

use std::collections::VecDeque;

use crate::disk::drive::{Answer, Command, Model, Spent};
use crate::layout::Loop;

/// A model behind a loop device.
#[derive(Debug)]
pub(super) struct Looped<M> {
    cost: Loop,
    model: M,
    /// When the thread is free.
    free_ns: u64,
    /// Commands that the thread works on, and when they go on.
    coming: VecDeque<(u64, Command)>,
    spent_ns: u64,
}

impl<M: Model> Looped<M> {
    pub(super) fn new(model: M, cost: Loop) -> Self {
        Self {
            cost,
            model,
            free_ns: 0,
            coming: VecDeque::new(),
            spent_ns: 0,
        }
    }

    fn advance(&mut self, now_ns: u64) {
        while let Some(&(at, command)) = self.coming.front()
            && at <= now_ns
        {
            self.coming.pop_front();
            self.model.submit(at, command);
        }
    }
}

impl<M: Model> Model for Looped<M> {
    fn blocks(&self) -> u64 {
        self.model.blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        self.advance(now_ns);
        let bytes = u64::from(command.count) * 512;
        let time = self.cost.request_ns + self.cost.kib_ns * bytes / 1024;
        self.free_ns = self.free_ns.max(now_ns) + time;
        self.spent_ns += self.free_ns - now_ns;
        self.coming.push_back((self.free_ns, command));
    }

    fn wake(&self) -> Option<u64> {
        let coming = self.coming.front().map(|&(at, _)| at);
        match (coming, self.model.wake()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        loop {
            // What goes on may not overtake what the model answers before.
            let next = self
                .coming
                .front()
                .map(|&(at, _)| at)
                .filter(|at| *at <= now_ns);
            let until = next.unwrap_or(now_ns);
            if self.model.wake().is_some_and(|wake| wake <= until)
                && let Some(answer) = self.model.answer(until)
            {
                return Some(answer);
            }
            next?;
            self.advance(until);
        }
    }

    fn account(&self, spent: &mut Spent) {
        spent.loop_ns += self.spent_ns;
        self.model.account(spent);
    }
}
