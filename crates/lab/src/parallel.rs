//! The same work on many items, on all processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `make` makes of each item, in the order of the items.
///
/// # Panics
/// When `make` does.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return made;
            };
            made.push((index, make(item)));
        }
    };
    let mut made: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(items.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.flatten().collect()
    });
    made.sort_unstable_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests;
