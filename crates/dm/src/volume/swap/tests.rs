//! What a queue shows for a moment does not count.

use std::sync::Arc;
use std::time::Duration;

use block::memory::MemoryDevice;
use block::{Device, Driver};

use super::{Access, Generation, Shared, Suspension};
use crate::gate::{Gate, Pass};
use crate::table::{Layout, Piece, Table};

const SIZE: u64 = 1 << 16;

fn table() -> Table {
    let device: Arc<dyn Device> = Arc::new(MemoryDevice::new("disk", SIZE));
    let layout = Layout::new("volume", vec![Piece::linear(SIZE, device, 0)]).expect("a layout");
    Table::compile(&layout).expect("a table")
}

#[test]
fn a_queue_that_looks_busy_for_a_moment_stops_no_exchange() {
    // Proves: between the wait and the publication a queue may show that it is busy, until it sees
    // that requests are held; that is no request in flight. One that is stops the publication.
    let first = Generation::new(1, "volume", Access::ReadWrite, table(), &[]);
    let shared = Arc::new(Shared::new("volume".to_owned(), Access::ReadWrite, first));
    let driver = Driver::new().expect("a driver");
    let mut gate = Gate::new(&shared.gateway, driver.waker());
    let suspension = Suspension::begin(&shared).expect("nobody else suspends it");
    suspension
        .wait(Duration::ZERO)
        .expect("nothing is in flight");
    gate.look_busy(true);
    suspension.publish(table()).expect("it is drained");
    gate.look_busy(false);
    assert_eq!(gate.pass(2), Pass::Open, "the second generation is current");
    let suspension = Suspension::begin(&shared).expect("nobody else suspends it");
    assert!(
        suspension.wait(Duration::ZERO).is_err(),
        "the queue is busy"
    );
    assert!(suspension.publish(table()).is_err(), "it is in flight");
    gate.idle();
}
