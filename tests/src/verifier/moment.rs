//! Whether what a snapshot shows was all there at one moment of a load.
//!
//! ```text
//!   block 7    version 12 ├──────────────┤           from its submission until the answer to the
//!              version 31        ├─────────────▶     next one
//!   block 8    version 20    ├─────┤
//!   snapshot   12, 20            ║                   a moment in each of what the snapshot holds
//! ```
//!
//! Moments are lines of the journal: one is in the file before the run goes on.

use std::ops::RangeInclusive;
use std::path::Path;

use super::history::Event;
use super::journal::Journal;
use super::pattern::{BLOCK, Content, describe, fill};

/// A version of a block, and when the block may have held it.
#[derive(Debug, Clone, Copy)]
struct Version {
    id: u64,
    content: Content,
    /// When it was submitted.
    from: usize,
    /// When it was answered, or seen.
    done: usize,
}

/// How many events a journal has by now: the moment.
pub fn moment(journal: &Path) -> usize {
    Journal::events(journal).1.len()
}

/// Requires that the blocks of `bytes` were those of the load at one moment of `window`.
///
/// # Errors
/// What does not fit.
pub fn shows_a_moment(
    journal: &Path,
    window: &RangeInclusive<usize>,
    bytes: &[u8],
) -> Result<(), String> {
    let (history, events) = Journal::events(journal);
    let mut blocks = vec![vec![Version::before()]; history.len() as usize];
    for (index, event) in events.iter().enumerate() {
        note(&mut blocks, index + 1, *event);
    }
    let mut spans: Vec<Vec<RangeInclusive<usize>>> = Vec::new();
    let mut wanted = vec![0; BLOCK];
    for (block, (versions, bytes)) in blocks.iter().zip(bytes.chunks_exact(BLOCK)).enumerate() {
        let mut fits = Vec::new();
        for (index, version) in versions.iter().enumerate() {
            let block = block as u64;
            fill(
                &mut wanted,
                history.seed(),
                block,
                version.id,
                version.content,
            );
            let end = versions.get(index + 1).map_or(usize::MAX, |next| next.done);
            let (start, end) = (version.from.max(*window.start()), end.min(*window.end()));
            if wanted == bytes && start <= end {
                fits.push(start..=end);
            }
        }
        if fits.is_empty() {
            let found = describe(bytes);
            return Err(format!("block {block} is {found}, in {window:?} of none"));
        }
        spans.push(fits);
    }
    let mut starts: Vec<usize> = spans.iter().flatten().map(|span| *span.start()).collect();
    starts.sort_unstable();
    starts.dedup();
    let is_at = |moment: &usize| {
        let holds = |fits: &Vec<RangeInclusive<usize>>| fits.iter().any(|fit| fit.contains(moment));
        spans.iter().all(holds)
    };
    if starts.iter().any(is_at) {
        return Ok(());
    }
    let last = spans.iter().max_by_key(|fits| fits[0].start());
    let first = spans
        .iter()
        .min_by_key(|fits| fits.iter().map(RangeInclusive::end).max());
    Err(format!("no one moment in {window:?}: {last:?}, {first:?}"))
}

impl Version {
    /// What was there before the load.
    fn before() -> Self {
        Self {
            id: 0,
            content: Content::Zeros,
            from: 0,
            done: 0,
        }
    }
}

fn note(blocks: &mut [Vec<Version>], now: usize, event: Event) {
    match event {
        Event::Write {
            id,
            first,
            count,
            content,
            ..
        } => {
            for versions in &mut blocks[first as usize..(first + count) as usize] {
                versions.push(Version {
                    id,
                    content,
                    from: now,
                    done: usize::MAX,
                });
            }
        }
        Event::Answered { id } => {
            // Few versions of a block are not answered, and they are the last ones.
            for versions in blocks.iter_mut() {
                let last = versions.last_mut().expect("there is one from the start");
                if last.id == id {
                    last.done = now;
                }
            }
        }
        Event::Read { block, version } => {
            // Those behind it were never there, and never will be.
            let versions = &mut blocks[block as usize];
            let at = versions.iter().position(|known| known.id == version);
            versions.truncate(at.expect("it was written") + 1);
            let last = versions.last_mut().expect("what was read");
            last.done = last.done.min(now);
        }
        Event::Flush { .. } | Event::Cut => {}
    }
}
