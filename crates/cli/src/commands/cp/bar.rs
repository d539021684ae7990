//! How far a copy is, on a terminal: a bar, the rate of the last seconds, and the time left at it.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressStyle};

/// How many seconds a rate is of: long enough for disks that stop now and then.
const WINDOW: Duration = Duration::from_secs(5);
/// How often the bar changes.
const PERIOD: Duration = Duration::from_millis(200);

/// A bar on standard error; hidden where that is no terminal.
pub(in crate::commands) struct Bar {
    shown: ProgressBar,
    rate: Rate,
    begin: Instant,
    due: Duration,
}

impl Bar {
    /// One for `size` bytes.
    pub(in crate::commands) fn new(size: u64) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::new(size);
        // The template is a constant; should it not be one, the bar's own style does.
        if let Ok(style) = ProgressStyle::with_template("  {bar:30} {bytes} of {total_bytes}{msg}")
        {
            bar.set_style(style);
        }
        Self::of(bar)
    }

    /// One that nobody sees.
    pub(in crate::commands) fn hidden() -> Self {
        Self::of(ProgressBar::hidden())
    }

    fn of(bar: ProgressBar) -> Self {
        Self {
            shown: bar,
            rate: Rate::default(),
            begin: Instant::now(),
            due: Duration::ZERO,
        }
    }

    /// Shows that `done` bytes are there and `left` are to be read; `what` is done besides.
    pub(in crate::commands) fn show(
        &mut self,
        done: u64,
        left: u64,
        what: impl FnOnce() -> String,
    ) {
        if self.shown.is_hidden() {
            return;
        }
        let now = self.begin.elapsed();
        if now < self.due {
            return;
        }
        self.due = now + PERIOD;
        self.rate.note(now, done);
        self.shown.set_position(done);
        let pace = self.rate.pace(left).map_or_else(String::new, |pace| {
            let rate = HumanBytes(pace.per_second);
            match pace.left {
                Some(left) => format!(", {rate}/s, {} left", HumanDuration(left)),
                None => format!(", {rate}/s"),
            }
        });
        self.shown.set_message(format!("{pace}{}", what()));
    }

    /// Does `work`, which prints, without the bar in between.
    pub(in crate::commands) fn aside<R>(&self, work: impl FnOnce() -> R) -> R {
        self.shown.suspend(work)
    }

    /// Takes it away.
    pub(in crate::commands) fn clear(&self) {
        self.shown.finish_and_clear();
    }
}

/// What was done in the last seconds.
#[derive(Debug, Default)]
struct Rate {
    /// When so many bytes were there; the first is [`WINDOW`] old, or the oldest there is.
    notes: VecDeque<(Duration, u64)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Pace {
    /// Bytes a second.
    per_second: u64,
    /// How long the rest takes at this pace; `None`: nothing moves, or nothing is left.
    left: Option<Duration>,
}

impl Rate {
    /// `done` bytes are there `now`.
    fn note(&mut self, now: Duration, done: u64) {
        self.notes.push_back((now, done));
        let is_old =
            |note: Option<&(Duration, u64)>| note.is_some_and(|(at, _)| *at + WINDOW <= now);
        while is_old(self.notes.get(1)) {
            self.notes.pop_front();
        }
    }

    /// The pace now, with `left` bytes to do. `None` before there is one.
    fn pace(&self, left: u64) -> Option<Pace> {
        let ((began, first), (now, last)) = (self.notes.front()?, self.notes.back()?);
        let seconds = now.saturating_sub(*began).as_secs_f64();
        if seconds < PERIOD.as_secs_f64() {
            return None;
        }
        let per_second = last.saturating_sub(*first) as f64 / seconds;
        let time = Duration::try_from_secs_f64(left as f64 / per_second).ok();
        Some(Pace {
            per_second: per_second as u64,
            left: time.filter(|_| left > 0),
        })
    }
}

#[cfg(test)]
mod tests;
