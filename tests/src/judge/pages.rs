//! What a disk holds: its pages that are not empty.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{SeekFrom, seek};

pub(super) const PAGE: usize = 4096;

/// Pages by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pages(BTreeMap<u64, Vec<u8>>);

impl Pages {
    /// What an image holds. Nobody has its loop device open, so that all is in the image.
    pub(super) fn read(image: &Path) -> Self {
        let file = File::open(image).expect("an image");
        let mut pages = BTreeMap::new();
        let mut end = 0;
        while let Ok(start) = seek(&file, SeekFrom::Data(end)) {
            end = seek(&file, SeekFrom::Hole(start)).expect("data ends");
            for number in start / PAGE as u64..end.div_ceil(PAGE as u64) {
                let mut page = vec![0; PAGE];
                let at = number * PAGE as u64;
                file.read_exact_at(&mut page, at)
                    .expect("images are whole pages");
                if page.iter().any(|byte| *byte != 0) {
                    pages.insert(number, page);
                }
            }
        }
        Self(pages)
    }

    /// Lets an image hold these pages and nothing else.
    pub(super) fn restore(&self, image: &Path) {
        let now = Self::read(image);
        if now == *self {
            return;
        }
        let file = OpenOptions::new()
            .write(true)
            .open(image)
            .expect("an image");
        let empty = vec![0; PAGE];
        for number in now.0.keys().chain(self.0.keys()) {
            let page = self.0.get(number);
            if page != now.0.get(number) {
                let at = number * PAGE as u64;
                file.write_all_at(page.unwrap_or(&empty), at)
                    .expect("it takes a page");
            }
        }
    }

    /// So many bytes from an offset.
    pub(super) fn bytes(&self, offset: u64, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + PAGE);
        let first = offset / PAGE as u64;
        let skipped = (offset % PAGE as u64) as usize;
        let mut number = first;
        while bytes.len() < skipped + count {
            match self.0.get(&number) {
                Some(page) => bytes.extend_from_slice(page),
                None => bytes.resize(bytes.len() + PAGE, 0),
            }
            number += 1;
        }
        bytes[skipped..skipped + count].to_vec()
    }

    /// Puts bytes at an offset.
    pub(super) fn put(&mut self, offset: u64, bytes: &[u8]) {
        for (index, byte) in bytes.iter().enumerate() {
            let at = offset + index as u64;
            let page = self
                .0
                .entry(at / PAGE as u64)
                .or_insert_with(|| vec![0; PAGE]);
            page[(at % PAGE as u64) as usize] = *byte;
        }
        self.0.retain(|_, page| page.iter().any(|byte| *byte != 0));
    }

    /// The pages from a number on.
    pub(super) fn from(&self, number: u64) -> impl Iterator<Item = (u64, &[u8])> {
        self.0
            .range(number..)
            .map(|(number, page)| (*number, page.as_slice()))
    }
}
