//! The table against a map that follows the tree byte by byte.

use std::sync::Arc;

use block::memory::MemoryDevice;
use block::{Device, Driver, Info, Queue, Range};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{Area, Hint, Layout, Leaf, PIECES_MAX, Piece, PieceKind, Table};
use crate::Kind;

pub(crate) const SECTOR: u64 = 512;
const DISK: u64 = 1 << 20;

/// What the tree says about one byte.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Byte {
    On(String, u64),
    Zero,
    Error(String),
}

pub(crate) fn byte_of(layout: &Layout, mut at: u64) -> Byte {
    for piece in layout.pieces() {
        if at >= piece.len {
            at -= piece.len;
            continue;
        }
        return match &piece.kind {
            PieceKind::Linear(area) => byte_of_area(area, at),
            PieceKind::Striped { chunk, areas } => {
                let mut turn = 0;
                while at >= *chunk {
                    at -= chunk;
                    turn += 1;
                }
                let row = turn / areas.len() as u64;
                byte_of_area(&areas[turn as usize % areas.len()], row * chunk + at)
            }
            PieceKind::Zero => Byte::Zero,
            PieceKind::Error(why) => Byte::Error(why.to_string()),
        };
    }
    panic!("the byte lies inside");
}

fn byte_of_area(area: &Area, at: u64) -> Byte {
    match area {
        Area::Device { device, start } => Byte::On(device.info().name, start + at),
        Area::Layout { layout, start } => byte_of(layout, start + at),
        Area::Missing(what) => Byte::Error(format!("missing device {what}")),
    }
}

fn byte_of_leaf(table: &Table, leaf: Leaf, further: u64) -> Byte {
    match leaf {
        Leaf::Device { device, offset } => {
            Byte::On(table.devices()[device].info().name, offset + further)
        }
        Leaf::Zero => Byte::Zero,
        Leaf::Error { reason } => Byte::Error(table.reason(reason).to_string()),
    }
}

fn disks() -> Vec<Arc<dyn Device>> {
    let disk = |name: &str| Arc::new(MemoryDevice::new(name, DISK)) as Arc<dyn Device>;
    ["a", "b", "c"].into_iter().map(disk).collect()
}

/// A source of choices: proptest shrinks the numbers, the tree follows.
struct Choices<'a>(std::slice::Iter<'a, u16>);

impl Choices<'_> {
    fn below(&mut self, limit: u64) -> u64 {
        u64::from(self.0.next().copied().unwrap_or(0)) % limit
    }

    fn area(&mut self, len: u64, disks: &[Arc<dyn Device>], below: &[Arc<Layout>]) -> Area {
        let room = |size: u64| (size - len) / SECTOR + 1;
        let nested = below.iter().filter(|layout| layout.size() >= len).count() as u64;
        match self.below(8) {
            0 => Area::missing("gone"),
            1..=4 if nested > 0 => {
                let fits = below.iter().filter(|layout| layout.size() >= len);
                let layout = fits.into_iter().nth(self.below(nested) as usize);
                let layout = Arc::clone(layout.expect("counted"));
                let start = self.below(room(layout.size())) * SECTOR;
                Area::layout(layout, start)
            }
            _ => {
                let disk = Arc::clone(&disks[self.below(disks.len() as u64) as usize]);
                let start = self.below(room(DISK)) * SECTOR;
                Area::device(disk, start)
            }
        }
    }

    fn layout(&mut self, name: &str, disks: &[Arc<dyn Device>], below: &[Arc<Layout>]) -> Layout {
        let mut pieces = Vec::new();
        for _ in 0..=self.below(5) {
            let share = (1 + self.below(24)) * SECTOR;
            pieces.push(match self.below(6) {
                0 => Piece::zero(share),
                1 => Piece::error(share, "bad"),
                2 | 3 => {
                    let (count, chunk) = (1 + self.below(4), (1 + self.below(5)) * SECTOR);
                    let leg = chunk * (1 + self.below(6));
                    let areas = (0..count).map(|_| self.area(leg, disks, below));
                    Piece::striped(leg * count, chunk, areas.collect())
                }
                _ => Piece::of(share, self.area(share, disks, below)),
            });
        }
        Arc::into_inner(Layout::new(name, pieces).expect("well formed")).expect("unshared")
    }

    fn tree(&mut self) -> Arc<Layout> {
        let disks = disks();
        let mut layouts: Vec<Arc<Layout>> = Vec::new();
        for level in 0..=self.below(4) {
            let layout = self.layout(&format!("level {level}"), &disks, &layouts);
            layouts.push(Arc::new(layout));
        }
        layouts.pop().expect("one at least")
    }
}

/// Any tree over three disks of zeros, called a, b and c.
pub(crate) fn trees() -> impl Strategy<Value = Arc<Layout>> {
    prop::collection::vec(any::<u16>(), 0..120).prop_map(|numbers| Choices(numbers.iter()).tree())
}

proptest! {
    /// Each byte is where the tree says, whichever way the hint points.
    #[test]
    fn lookup_agrees_with_the_tree(tree in trees(), seed in any::<u64>()) {
        let table = Table::compile(&tree).expect("compiles");
        prop_assert_eq!(table.size(), tree.size());
        let mut hint = Hint::default();
        let sectors = tree.size() / SECTOR;
        for step in 0..sectors {
            let within = seed.wrapping_mul(step + 1) % SECTOR;
            for at in [step, (step.wrapping_mul(7919) ^ seed) % sectors] {
                let at = at * SECTOR + within;
                let mapped = table.lookup(at, &mut hint);
                prop_assert_eq!(byte_of_leaf(&table, mapped.leaf, 0), byte_of(&tree, at));
                let last = mapped.len - 1;
                prop_assert_eq!(byte_of_leaf(&table, mapped.leaf, last), byte_of(&tree, at + last));
            }
        }
    }

    /// Runs without order hold exactly the sectors of the range.
    #[test]
    fn runs_hold_the_range(tree in trees(), from in any::<u64>(), to in any::<u64>()) {
        let table = Table::compile(&tree).expect("compiles");
        let sectors = tree.size() / SECTOR;
        let (from, to) = (from % (sectors + 1), to % (sectors + 1));
        let (from, to) = (from.min(to), from.max(to));
        let mut runs = Vec::new();
        let range = Range::new(from * SECTOR, (to - from) * SECTOR);
        table.runs(range, &mut Hint::default(), &mut runs);
        let mut found: Vec<Byte> = (runs.iter())
            .flat_map(|run| (0..run.len / SECTOR).map(|at| (run.leaf, at * SECTOR)))
            .map(|(leaf, at)| byte_of_leaf(&table, leaf, at))
            .collect();
        let mut wanted: Vec<Byte> = (from..to).map(|at| byte_of(&tree, at * SECTOR)).collect();
        found.sort();
        wanted.sort();
        prop_assert_eq!(found, wanted);
    }

    /// A table extends its own beginning, and nothing that differs from it.
    #[test]
    fn extends_is_about_places(tree in trees(), cut in any::<u64>(), other in trees()) {
        let len = (1 + cut % (tree.size() / SECTOR)) * SECTOR;
        let whole = Table::compile(&tree).expect("compiles");
        let area = Area::layout(Arc::clone(&tree), 0);
        let head = Layout::new("head", vec![Piece::of(len, area)]).expect("fits");
        let head = Table::compile(&head).expect("compiles");
        prop_assert_eq!(whole.extends(&head), true);
        prop_assert_eq!(head.extends(&whole), len == whole.size());
        let other = Table::compile(&other).expect("compiles");
        // Disks of different trees are different, so only what has no disk can be equal.
        let stateless = |table: &Table| table.devices().is_empty();
        if whole.extends(&other) {
            prop_assert_eq!(stateless(&other), true);
        }
    }

    /// Any chunk and count: the closed form of a leg's share counts what `locate` finds.
    #[test]
    fn shares_count_chunks(
        chunk in prop_oneof![1_u64..9, Just(16), Just(12)],
        count in 1_usize..6,
        at in 0_u64..300,
    ) {
        use super::place::{Place, Stripe};
        let stripe = Stripe::new(chunk, vec![Place::Zero; count].into(), &[]);
        for leg in 0..count {
            let counted = (0..at).filter(|at| stripe.locate(*at).leg == leg).count();
            prop_assert_eq!(stripe.share(at, leg), counted as u64);
        }
    }
}

/// Pieces that follow each other on a device become one segment, also through other layouts.
#[test]
fn adjacent_pieces_merge() {
    let disk = &disks()[0];
    let halves = vec![
        Piece::linear(4096, Arc::clone(disk), 0),
        Piece::linear(4096, Arc::clone(disk), 4096),
    ];
    let inner = Layout::new("inner", halves).unwrap();
    let outer = vec![
        Piece::of(8192, Area::layout(inner, 0)),
        Piece::linear(4096, Arc::clone(disk), 8192),
        Piece::zero(512),
        Piece::zero(512),
    ];
    let table = Table::compile(&Layout::new("outer", outer).unwrap()).unwrap();
    assert_eq!(table.segment_count(), 2);
}

/// A striped volume that was extended on the same disks stays one segment.
#[test]
fn stripes_that_go_on_merge() {
    let disks = disks();
    let legs = |start: u64| -> Vec<Area> {
        let legs = disks.iter();
        legs.map(|disk| Area::device(Arc::clone(disk), start))
            .collect()
    };
    let pieces = vec![
        Piece::striped(3 * 8192, 4096, legs(0)),
        Piece::striped(3 * 4096, 4096, legs(8192)),
        Piece::striped(3 * 4096, 4096, legs(12288)),
        Piece::striped(3 * 4096, 2048, legs(16384)),
    ];
    let table = Table::compile(&Layout::new("s", pieces).unwrap()).unwrap();
    assert_eq!((table.segment_count(), table.stripes.len()), (2, 2));
    assert_eq!(table.stripe_limits(), Some((4096, 3 * 4096)));
}

/// What a slice leaves out of a layout is not in the table: no device is opened for it.
#[test]
fn slices_bring_only_what_they_use() {
    let disks = disks();
    let linear = |disk: usize| Piece::linear(4096, Arc::clone(&disks[disk]), 0);
    let legs = [0, 1].map(|disk| Area::device(Arc::clone(&disks[disk]), 8192));
    let striped = Piece::striped(8192, 4096, legs.to_vec());
    let pieces = vec![linear(0), striped, Piece::error(512, "bad"), linear(2)];
    let inner = Layout::new("inner", pieces).unwrap();
    let slice = Piece::of(4096, Area::layout(inner, 12288 + 512));
    let table = Table::compile(&Layout::new("outer", vec![slice]).unwrap()).unwrap();
    let names: Vec<String> = (table.devices().iter())
        .map(|disk| disk.info().name)
        .collect();
    assert_eq!(names, ["c"]);
    assert_eq!((table.stripes.len(), table.reasons.len()), (0, 0));
}

/// A tree that doubles itself thirty times is refused in no time, not expanded.
#[test]
fn doubling_layouts_are_bounded() {
    let disk = &disks()[0];
    let grain = vec![Piece::linear(512, Arc::clone(disk), 0), Piece::zero(512)];
    let mut layout = Layout::new("grain", grain).unwrap();
    for _ in 0..30 {
        let half = Piece::of(layout.size(), Area::layout(Arc::clone(&layout), 0));
        layout = Layout::new("twice", vec![half.clone(), half]).unwrap();
    }
    let error = Table::compile(&layout).unwrap_err();
    assert_eq!(error.kind(), Kind::TooComplex);
    assert!(error.to_string().contains(&PIECES_MAX.to_string()));
}

/// Stripes over stripes multiply; that is counted too.
#[test]
fn stripes_of_stripes_are_bounded() {
    let disk = &disks()[0];
    let mut layout = Layout::new("leg", vec![Piece::linear(512, Arc::clone(disk), 0)]).unwrap();
    for _ in 0..5 {
        let legs = vec![Area::layout(Arc::clone(&layout), 0); 64];
        let striped = Piece::striped(layout.size() * 64, 512, legs);
        layout = Layout::new("striped", vec![striped]).unwrap();
    }
    let error = Table::compile(&layout).unwrap_err();
    assert_eq!(error.kind(), Kind::TooComplex);
}

/// What does not fit is refused where it is described.
#[test]
fn bad_layouts_are_refused() {
    let disk = &disks()[0];
    let area = || Area::device(Arc::clone(disk), 0);
    let small = Layout::new("small", vec![Piece::zero(1024)]).unwrap();
    let bad = [
        vec![Piece::zero(0)],
        vec![Piece::zero(u64::MAX), Piece::zero(1)],
        vec![Piece::striped(4096, 0, vec![area()])],
        vec![Piece::striped(4096, 4096, vec![])],
        vec![Piece::striped(4096, 4096, vec![area(), area()])],
        vec![Piece::striped(4096, u64::MAX, vec![area(), area()])],
        vec![Piece::linear(2, Arc::clone(disk), u64::MAX - 1)],
        vec![Piece::of(1024, Area::layout(small, 512))],
    ];
    for pieces in bad {
        let error = Layout::new("bad", pieces).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidLayout, "{error}");
    }
    let mut deep = Layout::new("deep", vec![Piece::zero(512)]).unwrap();
    let error = loop {
        match Layout::new("deep", vec![Piece::of(512, Area::layout(deep, 0))]) {
            Ok(layout) => deep = layout,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), Kind::TooComplex);
}

/// A device that ends too early, or has larger blocks, is named.
#[test]
fn unfit_devices_are_refused() {
    let disk = &disks()[0];
    let long = Layout::new("long", vec![Piece::linear(DISK, Arc::clone(disk), 512)]).unwrap();
    let error = Table::compile(&long).unwrap_err();
    assert_eq!(error.kind(), Kind::DeviceTooSmall);
    assert!(
        error.to_string().contains("long uses a up to byte"),
        "{error}"
    );

    let large: Arc<dyn Device> = Arc::new(LargeBlocks);
    for (len, start) in [(8192, 512), (512, 0)] {
        let cut = Layout::new("cut", vec![Piece::linear(len, Arc::clone(&large), start)]).unwrap();
        let error = Table::compile(&cut).unwrap_err();
        assert_eq!(error.kind(), Kind::Misaligned, "{error}");
    }
}

struct LargeBlocks;

impl Device for LargeBlocks {
    fn info(&self) -> Info {
        let mut info = Info::new("large", DISK);
        info.logical_block = 4096;
        info
    }

    fn open_queue(&self, _driver: &Driver) -> block::Result<Box<dyn Queue>> {
        unreachable!("only its description is used")
    }
}
