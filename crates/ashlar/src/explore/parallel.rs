//! Work on two threads whose results come in the order of the work, whichever thread was faster.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use crate::Result;

/// More would take the machine away from whoever works on it.
const THREADS: usize = 2;

/// Does `work` on each of `items`, and hands the results to `take` in the order of the items, until
/// it says that no more are wanted.
pub(super) fn in_order<I: Sync, R: Send>(
    items: &[I],
    work: impl Fn(&I) -> R + Sync,
    mut take: impl FnMut(R) -> Result<bool>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    if sender.send((index, work(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut wanted = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&wanted) {
                wanted += 1;
                let goes_on = take(result);
                if !matches!(goes_on, Ok(true)) {
                    next.store(items.len(), Ordering::Relaxed);
                    return goes_on.map(|_| ());
                }
            }
        }
        Ok(())
    })
}
