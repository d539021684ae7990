//! Calls: what a program asks of the file system.
//!
//! Each call costs the processor's time, then does what ext3 does: finds the name, reads what is
//! not in memory, changes metadata in the running transaction, leaves data dirty in the cache.
//! Names that were used once are known without looking into the directory; inodes once read stay.

use super::directory::{Changed, Directory};
use super::engine::FileSystem;
use super::geometry::ROOT;
use super::inode::Inode;
use super::options::{BLOCK, SECOND_NS};
use crate::component::Component;
use crate::error::{Error, Kind, Result};

/// A file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// The root directory.
    pub const ROOT: Self = Self(ROOT);

    /// The number of its inode.
    pub fn number(self) -> u32 {
        self.0
    }
}

fn refused<T>(what: String) -> Result<T> {
    Err(Error::new(Kind::Impossible, what))
}

impl FileSystem {
    fn directory(&self, parent: Node) -> Result<&Directory> {
        match self.directories.get(&parent.0) {
            Some(directory) => Ok(directory),
            None => refused(format!("inode {} is no directory", parent.0)),
        }
    }

    /// Reads the blocks of a directory that are searched for a name.
    fn search(&mut self, parent: Node, pages: &[u32]) {
        for &page in pages {
            // A block that is about to be made is not read.
            if let Some(block) = self.inodes.get(parent.0).block(page) {
                self.read_metadata(block);
            }
            self.compute(self.options.costs.search_ns);
        }
    }

    fn lookup(&mut self, parent: Node, name: &str) -> Result<Option<Node>> {
        let found = self.directory(parent)?.find(name);
        if found.is_none_or(|number| !self.inodes.get(number).known) {
            let pages = self.directory(parent)?.search(name);
            self.search(parent, &pages);
        }
        if let Some(number) = found {
            if !self.inodes.get(number).known {
                self.read_metadata(self.geometry.table_block(number));
            }
            self.inodes.get_mut(number).known = true;
        }
        Ok(found.map(Node))
    }

    fn find(&mut self, parent: Node, name: &str) -> Result<Node> {
        match self.lookup(parent, name)? {
            Some(node) => Ok(node),
            None => refused(format!("there is no '{name}' in inode {}", parent.0)),
        }
    }

    /// Makes the blocks that a change of names changed part of the transaction.
    fn change_directory(&mut self, parent: Node, changed: &Changed) -> Result<()> {
        self.search(parent, &changed.searched);
        for _ in 0..changed.added {
            let block = self.extend(parent.0)?;
            self.directory_blocks.insert(block);
            self.new_metadata(block);
            self.join(block);
            self.inodes.get_mut(parent.0).size += BLOCK;
        }
        for &page in &changed.touched {
            let block = self.inodes.get(parent.0).block(page);
            self.modify(block.expect("a directory's block"));
        }
        let now_s = self.now_ns / SECOND_NS;
        self.inodes.get_mut(parent.0).changed_s = now_s;
        self.modify_inode(parent.0);
        Ok(())
    }

    fn insert(&mut self, parent: Node, name: &str, inode: Inode) -> Result<Node> {
        if self.lookup(parent, name)?.is_some() {
            return refused(format!("there is a '{name}' in inode {} already", parent.0));
        }
        self.begin_handle();
        let found = if inode.directory {
            let spread = self.options.spread;
            self.allocator
                .allocate_directory(&self.geometry, parent.0, spread)
        } else {
            self.allocator.allocate_file(&self.geometry, parent.0)
        };
        let Some(number) = found else {
            return refused("no inode is free: use fewer files".to_owned());
        };
        self.inodes.insert(number, inode);
        self.modify_free_inodes(number);
        self.modify_new_inode(number);
        let directory = self.directories.get_mut(&parent.0);
        let changed = directory.expect("looked at").insert(name, number)?;
        self.change_directory(parent, &changed)?;
        self.compute(self.options.costs.create_ns);
        Ok(Node(number))
    }

    /// Makes a file and opens it.
    pub fn create(&mut self, parent: Node, name: &str) -> Result<Node> {
        self.compute(self.options.costs.call_ns);
        let now_s = self.now_ns / SECOND_NS;
        let inode = Inode {
            known: true,
            open: 1,
            accessed_s: now_s,
            changed_s: now_s,
            ..Inode::default()
        };
        self.insert(parent, name, inode)
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, parent: Node, name: &str) -> Result<Node> {
        self.compute(self.options.costs.call_ns);
        let inode = Inode {
            directory: true,
            known: true,
            ..Inode::default()
        };
        let node = self.insert(parent, name, inode)?;
        let block = self.extend(node.0)?;
        self.directory_blocks.insert(block);
        self.new_metadata(block);
        self.join(block);
        self.inodes.get_mut(node.0).size = BLOCK;
        let directory = Directory::new(1, self.options.index);
        self.directories.insert(node.0, directory);
        self.modify_inode(node.0);
        Ok(node)
    }

    /// Opens a file.
    pub fn open(&mut self, parent: Node, name: &str) -> Result<Node> {
        self.compute(self.options.costs.call_ns);
        let node = self.find(parent, name)?;
        let inode = self.inodes.get_mut(node.0);
        inode.open += 1;
        inode.ahead = super::readahead::ReadAhead::default();
        Ok(node)
    }

    /// Closes a file; its reservation ends.
    pub fn close(&mut self, node: Node) {
        self.compute(self.options.costs.call_ns);
        let inode = self.inodes.get_mut(node.0);
        inode.open = inode.open.saturating_sub(1);
        if inode.open == 0 {
            self.allocator.discard(&mut inode.window);
        }
    }

    /// Looks at a file: its size.
    pub fn stat(&mut self, parent: Node, name: &str) -> Result<u64> {
        self.compute(self.options.costs.call_ns);
        let node = self.find(parent, name)?;
        Ok(self.inodes.get(node.0).size)
    }

    /// Whether there is such a name.
    pub fn exists(&mut self, parent: Node, name: &str) -> Result<bool> {
        self.compute(self.options.costs.call_ns);
        Ok(self.lookup(parent, name)?.is_some())
    }

    /// Gives a file another name; a file that has it already is removed.
    pub fn rename(
        &mut self,
        parent: Node,
        name: &str,
        new_parent: Node,
        new_name: &str,
    ) -> Result<()> {
        self.compute(self.options.costs.call_ns);
        let node = self.find(parent, name)?;
        if self.directories.contains_key(&node.0) {
            return refused(format!("'{name}' is a directory: it keeps its name here"));
        }
        match self.lookup(new_parent, new_name)? {
            Some(same) if same == node => return Ok(()),
            Some(_) => self.delete(new_parent, new_name)?,
            None => {}
        }
        self.begin_handle();
        for (place, old) in [(parent, Some(name)), (new_parent, None)] {
            let directory = self.directories.get_mut(&place.0).expect("looked at");
            let changed = match old {
                Some(name) => directory.remove(name).expect("a name that was found"),
                None => directory.insert(new_name, node.0)?,
            };
            self.change_directory(place, &changed)?;
        }
        self.modify_inode(node.0);
        Ok(())
    }

    /// Reads a directory: its names.
    pub fn readdir(&mut self, parent: Node) -> Result<Vec<String>> {
        self.compute(self.options.costs.call_ns);
        let pages: Vec<u32> = (0..self.directory(parent)?.blocks()).collect();
        self.search(parent, &pages);
        self.accessed(parent.0);
        let names = self.directory(parent)?.names();
        Ok(names.map(|(name, _)| name.to_owned()).collect())
    }

    /// Removes a file, or a directory that is empty.
    pub fn delete(&mut self, parent: Node, name: &str) -> Result<()> {
        self.compute(self.options.costs.call_ns);
        let node = self.find(parent, name)?;
        if self.inodes.get(node.0).open > 0 {
            return refused(format!("'{name}' is open: removing it is not modelled"));
        }
        if self
            .directories
            .get(&node.0)
            .is_some_and(|directory| directory.len() > 0)
        {
            return refused(format!("the directory '{name}' is not empty"));
        }
        self.begin_handle();
        let directory = self.directories.get_mut(&parent.0).expect("looked at");
        let changed = directory.remove(name).expect("a name that was found");
        self.change_directory(parent, &changed)?;
        // The list of inodes to be freed starts in the superblock.
        self.modify(0);
        self.modify_inode(node.0);
        self.drop_pages(node.0);
        self.begin_handle();
        self.free_blocks(node.0);
        self.modify_free_inodes(node.0);
        self.modify_inode(node.0);
        self.modify(0);
        let directory = self.directories.remove(&node.0).is_some();
        self.allocator.free_inode(&self.geometry, node.0, directory);
        let mut inode = self.inodes.remove(node.0);
        self.allocator.discard(&mut inode.window);
        self.compute(self.options.costs.delete_ns);
        Ok(())
    }

    /// Writes what is dirty of a file, and commits it.
    pub fn fsync(&mut self, node: Node) {
        self.compute(self.options.costs.call_ns);
        self.write_out(node.0, Component::FileData);
        if self.options.journaling == super::options::Journaling::Ordered {
            self.commit_and_wait();
        } else {
            let block = self.geometry.table_block(node.0);
            self.write_block(block, Component::Metadata);
        }
    }

    /// Writes everything.
    pub fn sync(&mut self) {
        self.compute(self.options.costs.call_ns);
        let files = self
            .inodes
            .iter()
            .filter(|(_, inode)| !inode.dirty.is_empty());
        let files: Vec<u32> = files.map(|(number, _)| number).collect();
        for number in files {
            if number != super::cache::DEVICE {
                self.write_out(number, Component::FileData);
            }
        }
        if self.options.journaling == super::options::Journaling::Ordered {
            self.commit_and_wait();
        }
        self.write_out(super::cache::DEVICE, Component::Metadata);
    }

    /// Writes everything, and empties the memory, as unmounting and mounting again does.
    pub fn drop_caches(&mut self) {
        self.sync();
        while self.cache.evict() {}
        self.inodes.forget();
        for block in 0..=self.geometry.descriptor_blocks {
            if self.cache.get(block).is_none() {
                self.new_metadata(block);
            }
        }
    }

    /// The blocks of a file in the order of its pages.
    pub fn blocks(&self, node: Node) -> &[u32] {
        &self.inodes.get(node.0).blocks
    }
}
