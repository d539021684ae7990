//! What a volume says of itself, by what its devices say, and what a flush covers.

use std::sync::Arc;

use block::{Device, Driver, Info, Queue};

use super::{Access, Generation, Leg};
use crate::table::{Area, Layout, Piece, Table};

const SIZE: u64 = 1 << 20;

/// A device that only says what it is.
struct Said(Info);

impl Device for Said {
    fn info(&self) -> Info {
        self.0.clone()
    }

    fn open_queue(&self, _: &Driver) -> block::Result<Box<dyn Queue>> {
        unreachable!("nobody asks more")
    }
}

fn said(change: impl FnOnce(&mut Info)) -> Arc<dyn Device> {
    let mut info = Info::new("said", SIZE);
    (info.fua, info.durable) = (true, true);
    change(&mut info);
    Arc::new(Said(info))
}

fn info(access: Access, pieces: Vec<Piece>) -> Info {
    let layout = Layout::new("volume", pieces).expect("a layout");
    let table = Table::compile(&layout).expect("a table");
    Generation::new(1, "volume", access, table, &[]).info
}

fn two(change: impl FnOnce(&mut Info)) -> Info {
    let devices = [said(|_| {}), said(change)];
    let pieces = devices.map(|device| Piece::linear(4096, device, 0));
    info(Access::ReadWrite, pieces.into())
}

/// What one device does not do, the volume does not; what one wants, it wants.
#[test]
fn one_device_is_enough() {
    let plain = two(|_| {});
    assert_eq!((plain.fua, plain.durable), (true, true));
    assert_eq!((plain.read_only, plain.rotational), (false, false));
    assert_eq!(
        (plain.discard_granularity, plain.discard_zeroes),
        (0, false)
    );
    assert!(!two(|info| info.fua = false).fua);
    assert!(!two(|info| info.durable = false).durable);
    assert!(two(|info| info.read_only = true).read_only);
    assert!(two(|info| info.rotational = true).rotational);
    let discards = two(|info| (info.discard_granularity, info.discard_zeroes) = (512, true));
    assert_eq!(
        (discards.discard_granularity, discards.discard_zeroes),
        (512, false)
    );
    let sizes = two(|info| {
        (info.physical_block, info.minimum_io, info.optimal_io) = (8192, 16384, 65536);
    });
    assert_eq!(sizes.physical_block, 8192);
    assert_eq!((sizes.minimum_io, sizes.optimal_io), (16384, 65536));
}

/// A device discards with zeros if it discards at all, and all do.
#[test]
fn zeros_after_discards_are_for_all() {
    for (granularity, zeroes, wanted) in [(512, true, true), (512, false, false), (0, true, false)]
    {
        let device = said(|info| {
            (info.discard_granularity, info.discard_zeroes) = (granularity, zeroes);
        });
        let info = info(Access::ReadWrite, vec![Piece::linear(4096, device, 0)]);
        assert_eq!(info.discard_zeroes, wanted, "{granularity} {zeroes}");
    }
}

/// A volume is read-only if it is opened so, whatever its devices are.
#[test]
fn access_counts() {
    for (access, wanted) in [(Access::ReadOnly, true), (Access::ReadWrite, false)] {
        let pieces = vec![Piece::linear(4096, said(|_| {}), 0)];
        assert_eq!(info(access, pieces).read_only, wanted);
    }
}

/// Stripes say their chunk and their width, whatever the devices want.
#[test]
fn stripes_are_told() {
    let area = || Area::device(said(|info| info.optimal_io = 3 << 20), 0);
    let piece = Piece::striped(3 * 8192 * 2, 8192, vec![area(), area(), area()]);
    let info = info(Access::ReadWrite, vec![piece]);
    assert_eq!((info.minimum_io, info.optimal_io), (8192, 3 * 8192));
}

/// The first physical block of a volume begins where the device's next one does.
#[test]
fn alignment_follows_the_place() {
    for (begins, offset, wanted) in [
        (0, 0, 0),
        (512, 0, 512),
        (0, 512, 3584),
        (512, 512, 0),
        (512, 1024, 3584),
        (3584, 512, 3072),
        (4096, 0, 0),
        (512, 4096, 512),
        (512, 8192 + 2048, 2560),
    ] {
        let device = said(|info| {
            (info.physical_block, info.alignment_offset) = (4096, begins);
        });
        let info = info(Access::ReadWrite, vec![Piece::linear(4096, device, offset)]);
        assert_eq!(info.alignment_offset, wanted, "{begins} {offset}");
    }
}

/// A flush covers what was written before it began, and nothing later; one that ends late takes
/// nothing back.
#[test]
fn flushes_cover_what_was_before() {
    let leg = Leg::new(&said(|_| {}));
    let first = leg.unflushed().expect("nobody knows what was before");
    leg.wrote();
    leg.flushed(first);
    let second = leg.unflushed().expect("it was written since");
    assert!(second > first);
    leg.flushed(second);
    assert_eq!(leg.unflushed(), None);
    leg.flushed(first);
    assert_eq!(leg.unflushed(), None);
    assert!(!leg.discards);
    assert!(Leg::new(&said(|info| info.discard_granularity = 1)).discards);
}
