//! Each part against a naive one.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

use crate::disk::capped::{Cap, Capped};
use crate::disk::drive::{Answer, Command, Model, Operation};
use crate::filesystem::Elevator;
use crate::filesystem::allocator::{Allocator, Window};
use crate::filesystem::cache::Cache;
use crate::filesystem::directory::Directory;
use crate::filesystem::geometry::Geometry;
use crate::filesystem::options::{Index, Options};
use crate::filesystem::readahead::{Fetch, ReadAhead};

/// The layout is that of mke2fs: numbers that `dumpe2fs` printed for 20 GiB.
#[test]
fn layout_is_that_of_mke2fs() {
    let geometry = Geometry::new(20 << 30, &Options::default()).unwrap();
    assert_eq!(geometry.blocks, 5_242_880);
    assert_eq!(geometry.inodes(), 1_310_720);
    assert_eq!(
        (geometry.descriptor_blocks, geometry.reserved_blocks),
        (2, 1022)
    );
    assert_eq!(geometry.table_blocks, 512);
    let bitmaps = [0, 1, 2, 3, 80, 81].map(|group| geometry.block_bitmap(group));
    assert_eq!(
        bitmaps,
        [1025, 33_793, 65_536, 99_329, 2_621_440, 2_655_233]
    );
    assert_eq!(geometry.inode_bitmap(1), 33_794);
    assert_eq!(geometry.table_block(1), 1027);
    assert_eq!(geometry.table_block(8193), 33_795);
}

/// With a stride mke2fs puts the tables in front and the bitmaps g strides behind: numbers that
/// `dumpe2fs` printed for 3 GiB with `-E stride=16`.
#[test]
fn a_stride_spreads_bitmaps_as_mke2fs_does() {
    let options = Options {
        stride: 16,
        ..Options::default()
    };
    let geometry = Geometry::new(3 << 30, &options).unwrap();
    let printed = [
        (0, 705, 193),
        (1, 33_489, 32_961),
        (2, 66_080, 65_536),
        (3, 99_057, 98_497),
        (9, 295_761, 295_105),
        (16, 525_056, 524_288),
        (18, 590_624, 589_824),
    ];
    for (group, bitmap, table) in printed {
        assert_eq!(geometry.block_bitmap(group), bitmap, "group {group}");
        assert_eq!(geometry.inode_bitmap(group), bitmap + 1, "group {group}");
        let inode = group * geometry.inodes_per_group + 1;
        assert_eq!(geometry.table_block(inode), table, "group {group}");
    }
}

/// Whatever the stride, what is fixed is as much as without, each block once, and none of it free;
/// also where the last group has little room, or the strides end at its last block.
#[test]
fn what_is_fixed_is_the_same_with_any_stride() {
    for (bytes, stride) in [
        (1 << 30, 0),
        (1 << 30, 16),
        (1 << 30, 16_384),
        ((1 << 30) + (4 << 20), 32),
        ((1 << 30) + (5 << 20), 31),
    ] {
        let options = Options {
            stride,
            ..Options::default()
        };
        let geometry = Geometry::new(bytes, &options).unwrap();
        let allocator = Allocator::new(&geometry);
        let is_fixed = |block: &u32| geometry.class_of(*block).is_some();
        for group in 0..geometry.groups {
            let fixed: BTreeSet<u32> = geometry.fixed(group).collect();
            assert_eq!(fixed.len(), geometry.fixed(group).count(), "each once");
            assert_eq!(
                fixed.len() as u32,
                geometry.overhead(group),
                "stride {stride}"
            );
            let all = geometry.start(group)..geometry.end(group);
            let named: BTreeSet<u32> = all.filter(is_fixed).collect();
            assert_eq!(fixed, named, "group {group}, stride {stride}");
            assert!(fixed.iter().all(|block| allocator.is_used(*block)));
        }
    }
}

/// Too small, too many inodes: refused, not a panic.
#[test]
fn impossible_layouts_are_refused() {
    let options = Options::default();
    for bytes in [0, 4096, 8 << 20, 9 << 20, 130 << 20, 1 << 45] {
        let _ = Geometry::new(bytes, &options);
    }
    assert!(Geometry::new(1 << 20, &options).is_err());
    assert!(Geometry::new(1 << 50, &options).is_err());
    let many = Options {
        inode_ratio: 512,
        ..options
    };
    assert!(Geometry::new(1 << 30, &many).is_err());
}

proptest! {
    /// Blocks: never two owners, never one that a transaction withholds, all come back.
    #[test]
    fn allocator_against_a_set(
        steps in prop::collection::vec((0_u32..12, 0_u32..300_000, any::<bool>()), 1..400),
        is_striped in any::<bool>(),
    ) {
        let stride = if is_striped { 16 } else { 0 };
        let options = Options { stride, ..Options::default() };
        let geometry = Geometry::new(1 << 30, &options).unwrap();
        let mut allocator = Allocator::new(&geometry);
        let whole = allocator.free_blocks();
        let mut windows = [Window::default(); 4];
        let (mut owned, mut withheld) = (BTreeSet::new(), BTreeSet::new());
        for (what, number, flag) in steps {
            match what {
                0..=7 => {
                    let window = &mut windows[what as usize % 4];
                    let goal = number % geometry.blocks;
                    let block = allocator.allocate(&geometry, goal, window).unwrap();
                    prop_assert!(owned.insert(block));
                    prop_assert!(!withheld.contains(&block));
                    prop_assert!(geometry.class_of(block).is_none());
                }
                8 | 9 => {
                    let some = owned.range(number % geometry.blocks..).next().copied();
                    if let Some(block) = some {
                        owned.remove(&block);
                        allocator.free(&geometry, block, flag);
                        if flag {
                            withheld.insert(block);
                        }
                    }
                }
                10 => allocator.discard(&mut windows[number as usize % 4]),
                _ => {
                    for block in std::mem::take(&mut withheld) {
                        allocator.release(block);
                    }
                }
            }
            prop_assert_eq!(allocator.free_blocks() + owned.len() as u64, whole);
        }
    }

    /// Names: those of a map, each where a search finds it.
    #[test]
    fn directory_against_a_map(
        steps in prop::collection::vec((any::<bool>(), 0_u32..900, 1_usize..40), 1..900),
        linear in any::<bool>(),
    ) {
        let index = if linear { Index::Linear } else { Index::Tree };
        let mut directory = Directory::new(1, index);
        let mut names = BTreeMap::new();
        for (insert, number, len) in steps {
            let name = format!("{number:0len$}");
            if insert && !names.contains_key(&name) {
                let inode = number * 64 + len as u32 + 100;
                let before = directory.blocks();
                let changed = directory.insert(&name, inode).unwrap();
                prop_assert_eq!(before + changed.added, directory.blocks());
                names.insert(name, inode);
            } else if let Some(inode) = names.remove(&name) {
                prop_assert_eq!(directory.find(&name), Some(inode));
                let searched = directory.search(&name);
                let changed = directory.remove(&name).unwrap();
                prop_assert!(searched.contains(&changed.touched[0]));
            } else {
                prop_assert_eq!(directory.find(&name), None);
            }
        }
        directory.check();
        let all: Vec<_> = directory.names().map(|(name, inode)| (name.to_owned(), inode)).collect();
        prop_assert_eq!(all, names.into_iter().collect::<Vec<_>>());
    }

    /// Pages: never more than there is memory for; what is held stays.
    #[test]
    fn cache_against_a_set(steps in prop::collection::vec((0_u32..5, 0_u32..200), 1..600)) {
        let mut cache = Cache::new(200, 32);
        let mut dirty = BTreeSet::new();
        for (what, block) in steps {
            match (what, cache.get(block).is_some()) {
                (0..=2, false) if cache.has_room() || cache.evict() => {
                    cache.insert(block, 5, block);
                }
                (0..=2, true) => cache.touch(block),
                (3, true) => {
                    cache.set_dirty(block, true);
                    dirty.insert(block);
                }
                (4, true) => {
                    cache.set_dirty(block, false);
                    dirty.remove(&block);
                }
                _ => {}
            }
            prop_assert!(dirty.iter().all(|&block| cache.get(block).is_some()));
        }
        cache.check();
    }

    /// The elevator answers each command once, and asks the drive for every block once.
    #[test]
    fn elevator_against_a_list(
        commands in prop::collection::vec((0_u64..4000, 1_u32..5, any::<bool>(), 0_u64..3), 1..300),
    ) {
        let (recorder, seen) = Recorder::new();
        let mut elevator = Elevator::new(Box::new(recorder), 1);
        let mut wanted = BTreeMap::new();
        let mut answered = BTreeSet::new();
        let mut now_ns = 0;
        for (tag, &(start, count, read, pause)) in (0..).zip(&commands) {
            let operation = if read { Operation::Read } else { Operation::Write };
            elevator.submit(now_ns, Command { tag, operation, start: start * 8, count: count * 8 });
            for block in start * 8..start * 8 + u64::from(count) * 8 {
                *wanted.entry((read, block)).or_insert(0) += 1;
            }
            for _ in 0..pause {
                if let Some(next_ns) = elevator.wake() {
                    now_ns = next_ns.max(now_ns);
                    while let Some(answer) = elevator.answer(now_ns) {
                        prop_assert!(answered.insert(answer.tag));
                    }
                }
            }
        }
        while let Some(next_ns) = elevator.wake() {
            now_ns = next_ns.max(now_ns);
            while let Some(answer) = elevator.answer(now_ns) {
                prop_assert!(answered.insert(answer.tag));
            }
        }
        prop_assert_eq!(answered.len(), commands.len());
        let mut got = BTreeMap::new();
        for command in seen.lock().unwrap().iter() {
            for block in command.start..command.start + u64::from(command.count) {
                *got.entry((command.operation == Operation::Read, block)).or_insert(0) += 1;
            }
        }
        prop_assert_eq!(got, wanted);
    }
}

/// A volume that notes what it is asked for.
#[derive(Debug)]
pub(super) struct Recorder {
    inner: Capped,
    seen: Seen,
}

type Seen = std::sync::Arc<std::sync::Mutex<Vec<Command>>>;

impl Recorder {
    pub(super) fn new() -> (Self, Seen) {
        let cap = Cap {
            blocks: 1 << 22,
            operations: Some(1000),
            bytes: Some(50 << 20),
            burst_ns: 0,
            latency_ns: 100_000,
        };
        let seen = Seen::default();
        let inner = Capped::new(cap).unwrap();
        (
            Self {
                inner,
                seen: seen.clone(),
            },
            seen,
        )
    }
}

impl Model for Recorder {
    fn blocks(&self) -> u64 {
        self.inner.blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        self.seen.lock().unwrap().push(command);
        self.inner.submit(now_ns, command);
    }

    fn wake(&self) -> Option<u64> {
        self.inner.wake()
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.inner.answer(now_ns)
    }
}

/// Read-ahead grows as the kernel's: 4, 8, 16, 32 pages of 4 KiB, and stays there.
#[test]
fn read_ahead_grows() {
    let mut ahead = ReadAhead::default();
    let mut fetched = vec![ahead.miss(0, 1, 32)];
    for page in 0..100 {
        fetched.extend(ahead.hit(page, 32));
        ahead.read(page);
    }
    let counts: Vec<u32> = fetched.iter().map(|fetch| fetch.count).collect();
    assert_eq!(counts, [4, 8, 16, 32, 32, 32, 32]);
    let mut next = 0;
    for Fetch { page, count } in fetched {
        assert_eq!(page, next, "windows follow each other");
        next += count;
    }
    assert_eq!(
        ahead.miss(5000, 2, 32).count,
        2,
        "a jump reads what was asked for"
    );
    assert_eq!(ReadAhead::default().miss(0, 1, 0).count, 1, "switched off");
    // A request of more than the most: the next window is fetched beside the first.
    let mut ahead = ReadAhead::default();
    let both = [Some(ahead.miss(0, 256, 32)), ahead.hit(0, 32)];
    let window = |page| Some(Fetch { page, count: 32 });
    assert_eq!(both, [window(0), window(32)]);
    assert_eq!([1, 32].map(|page| ahead.hit(page, 32)), [None, window(64)]);
}
