//! Gates that are closed under queues that come and go.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use block::Driver;

use super::{Closed, Gate, Gateway, Pass};

const LIMIT: Duration = Duration::from_secs(10);

/// Whoever waits for a closed gate to be drained finds nobody behind it until it opens; the keeper
/// is woken; and all go on with what was published meanwhile.
#[test]
fn nobody_is_behind_a_closed_gate() {
    let gateway = Arc::new(Gateway::new(0, 0_u64));
    let driver = Driver::new().expect("a driver opens");
    gateway.keep(driver.waker());
    let (inside, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let driver = Driver::new().expect("a driver opens");
                let mut gate = Gate::new(&gateway, driver.waker());
                let mut known = gateway.current();
                while !stop.load(Ordering::SeqCst) {
                    match gate.pass(known.0) {
                        Pass::Closed => {
                            driver.wait(&mut [], Some(LIMIT)).expect("it is woken");
                            continue;
                        }
                        Pass::Newer => known = gateway.current(),
                        Pass::Open => {}
                    }
                    inside.fetch_add(1, Ordering::SeqCst);
                    std::hint::spin_loop();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    gate.idle();
                }
            });
        }
        for round in 0..500 {
            let closed = Closed::begin(&gateway).expect("nobody else closes it");
            assert!(Closed::begin(&gateway).is_none(), "it is closed");
            while !closed.is_drained() {
                driver.wait(&mut [], Some(LIMIT)).expect("it is woken");
            }
            for _ in 0..50 {
                assert_eq!(inside.load(Ordering::SeqCst), 0, "nobody is there");
            }
            let Ok(()) = gateway.publish(|_, before| Ok::<_, Infallible>(before + 1));
            assert_eq!(*gateway.current().1, round + 1);
        }
        stop.store(true, Ordering::SeqCst);
        // Who sleeps is woken once more.
        drop(Closed::begin(&gateway));
    });
}
