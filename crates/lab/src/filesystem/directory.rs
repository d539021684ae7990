//! Directories: which block a name is in, and which one a new name goes to.
//!
//! ```text
//!   linear   every block is searched in turn; a new name takes the first gap that is long enough
//!   tree     block 0 lists hashes; a name's hash says its block; a full block is split by hash
//! ```
//!
//! Records are as long as ext3's (8 bytes and the name, in fours), gaps are joined to the record
//! before as ext3 joins them, so blocks fill and overflow as the real ones. The hash is our own:
//! like the real one it spreads names evenly, and blocks come out as full, not with the same names.
//! A tree has one level: some 70,000 names of 5 letters.

use std::collections::BTreeMap;

use super::options::{BLOCK, Index};
use crate::error::{Error, Kind, Result};

/// Hashes that the first block of a tree lists.
const ROOT_ENTRIES: usize = (BLOCK as usize - 32) / 8;
/// Longest name, in bytes.
const NAME_MAX: usize = 255;

/// A record of a block.
#[derive(Debug, Clone, Copy)]
struct Record {
    /// 0 is a gap.
    inode: u32,
    hash: u32,
    /// Bytes that it needs, and that it has.
    need: u16,
    room: u16,
}

/// What an insertion did to the directory's blocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Changed {
    /// Blocks (pages of the directory) that were read to find the place, in order.
    pub(super) searched: Vec<u32>,
    /// Blocks that were changed.
    pub(super) touched: Vec<u32>,
    /// How many blocks of them are new; the directory ends with them.
    pub(super) added: u32,
}

/// A directory's contents.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    names: BTreeMap<Box<str>, u32>,
    /// The block of each inode's record.
    places: BTreeMap<u32, u32>,
    blocks: Vec<Vec<Record>>,
    /// Of a tree: the smallest hash of each block, in order.
    tree: Option<Vec<(u32, u32)>>,
    index: Index,
}

fn need(name: &str) -> u16 {
    (8 + name.len() as u16).next_multiple_of(4)
}

fn hash(name: &str) -> u32 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    state ^= state >> 33;
    state = state.wrapping_mul(0xff51_afd7_ed55_8ccd);
    (state >> 32) as u32
}

impl Directory {
    /// An empty directory of `blocks` blocks; the first holds the directory itself and its parent.
    pub(super) fn new(blocks: u32, index: Index) -> Self {
        let gap = |room: u16| Record {
            inode: 0,
            hash: 0,
            need: 0,
            room,
        };
        let dots = Record {
            inode: u32::MAX,
            need: 24,
            ..gap(BLOCK as u16)
        };
        let mut list = vec![vec![dots]];
        list.extend((1..blocks).map(|_| vec![gap(BLOCK as u16)]));
        Self {
            names: BTreeMap::new(),
            places: BTreeMap::new(),
            blocks: list,
            tree: None,
            index,
        }
    }

    /// The inode of a name.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    /// Names, in their order.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, u32)> {
        self.names.iter().map(|(name, inode)| (&**name, *inode))
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The blocks that are read to find a name, or to find that it is not there.
    pub(super) fn search(&self, name: &str) -> Vec<u32> {
        if let Some(tree) = &self.tree {
            return vec![0, Self::leaf(tree, hash(name)).1];
        }
        let place = self.find(name).map(|inode| self.places[&inode]);
        (0..=place.unwrap_or(self.blocks() - 1)).collect()
    }

    /// The entry of the tree for a hash.
    fn leaf(tree: &[(u32, u32)], hash: u32) -> (usize, u32) {
        let at = tree.partition_point(|&(least, _)| least <= hash) - 1;
        (at, tree[at].1)
    }

    /// Puts a name in, which is not there.
    pub(super) fn insert(&mut self, name: &str, inode: u32) -> Result<Changed> {
        if name.is_empty() || name.len() > NAME_MAX || name.contains('/') {
            let what = format!("'{name}' is no name of a file: 1 to {NAME_MAX} bytes without '/'");
            return Err(Error::new(Kind::Impossible, what));
        }
        let record = Record {
            inode,
            hash: hash(name),
            need: need(name),
            room: 0,
        };
        let changed = if self.tree.is_some() {
            self.insert_by_hash(record)?
        } else {
            self.insert_linear(record)?
        };
        self.names.insert(name.into(), inode);
        Ok(changed)
    }

    fn insert_linear(&mut self, record: Record) -> Result<Changed> {
        for block in 0..self.blocks() {
            if self.place(block, record) {
                return Ok(Changed {
                    searched: (0..=block).collect(),
                    touched: vec![block],
                    added: 0,
                });
            }
        }
        if self.index == Index::Tree && self.blocks() == 1 {
            return self.make_tree(record);
        }
        let searched = (0..self.blocks()).collect();
        let block = self.add_block();
        assert!(self.place(block, record), "a new block has room");
        Ok(Changed {
            searched,
            touched: vec![block],
            added: 1,
        })
    }

    fn add_block(&mut self) -> u32 {
        self.blocks.push(vec![Record {
            inode: 0,
            hash: 0,
            need: 0,
            room: BLOCK as u16,
        }]);
        self.blocks() - 1
    }

    /// The first block becomes the root; its names move to the second.
    fn make_tree(&mut self, record: Record) -> Result<Changed> {
        let moved = self.blocks[0].split_off(1);
        self.blocks[0][0].room = BLOCK as u16;
        let block = self.add_block();
        for record in moved {
            if record.inode != 0 {
                assert!(self.place(block, record), "it came from one block");
            }
        }
        self.tree = Some(vec![(0, block)]);
        let mut changed = self.insert_by_hash(record)?;
        changed.added += 1;
        changed.touched.extend([0, block]);
        changed.touched.sort_unstable();
        changed.touched.dedup();
        Ok(changed)
    }

    fn insert_by_hash(&mut self, record: Record) -> Result<Changed> {
        let tree = self.tree.as_ref().expect("a tree");
        let full = tree.len() == ROOT_ENTRIES;
        let (at, block) = Self::leaf(tree, record.hash);
        let searched = vec![0, block];
        if self.place(block, record) {
            return Ok(Changed {
                searched,
                touched: vec![block],
                added: 0,
            });
        }
        if full {
            let what = "a directory has more names than one level of a tree: use more directories";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let mut records: Vec<Record> = std::mem::take(&mut self.blocks[block as usize])
            .into_iter()
            .filter(|record| record.inode != 0)
            .collect();
        records.sort_unstable_by_key(|record| (record.hash, record.inode));
        let upper = records.split_off(records.len() / 2);
        let least = upper.first().expect("a full block has records").hash;
        self.blocks[block as usize] = vec![Record {
            inode: 0,
            hash: 0,
            need: 0,
            room: BLOCK as u16,
        }];
        let new = self.add_block();
        for (half, block) in [(records, block), (upper, new)] {
            for record in half {
                assert!(self.place(block, record), "half a block has room");
            }
        }
        self.tree
            .as_mut()
            .expect("a tree")
            .insert(at + 1, (least, new));
        let chosen = if record.hash >= least { new } else { block };
        assert!(self.place(chosen, record), "half a block has room");
        Ok(Changed {
            searched,
            touched: vec![0, block, new],
            added: 1,
        })
    }

    /// Puts a record into the first gap of a block that is long enough.
    fn place(&mut self, block: u32, record: Record) -> bool {
        let records = &mut self.blocks[block as usize];
        let fits = |old: &Record| {
            let used = if old.inode == 0 { 0 } else { old.need };
            old.room - used >= record.need
        };
        let Some(at) = records.iter().position(fits) else {
            return false;
        };
        let old = &mut records[at];
        if old.inode == 0 {
            *old = Record {
                room: old.room,
                ..record
            };
        } else {
            let room = old.room - old.need;
            old.room = old.need;
            records.insert(at + 1, Record { room, ..record });
        }
        self.places.insert(record.inode, block);
        true
    }

    /// Takes a name out; the blocks read to find it, and the one that was changed.
    pub(super) fn remove(&mut self, name: &str) -> Option<Changed> {
        let inode = self.find(name)?;
        let searched = self.search(name);
        self.names.remove(name);
        let block = self.places.remove(&inode).expect("a name has a place");
        let records = &mut self.blocks[block as usize];
        let at = records.iter().position(|record| record.inode == inode);
        let at = at.expect("a block has its records");
        if at == 0 {
            records[0].inode = 0;
        } else {
            let room = records.remove(at).room;
            records[at - 1].room += room;
        }
        Some(Changed {
            searched,
            touched: vec![block],
            added: 0,
        })
    }

    /// What must always hold.
    pub(super) fn check(&self) {
        let mut seen = 0;
        for (number, block) in (0..).zip(&self.blocks) {
            let room: u32 = block.iter().map(|record| u32::from(record.room)).sum();
            assert_eq!(u64::from(room), BLOCK, "records fill their block");
            for record in block {
                assert!(record.need <= record.room, "a record has the room it needs");
                if record.inode != 0 && record.inode != u32::MAX {
                    assert_eq!(
                        self.places[&record.inode], number,
                        "a record is where it is"
                    );
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, self.names.len(), "every name has a record");
    }
}
