//! The content of a disk, cheap to copy and to change: pages that copies share.
//!
//! ```text
//!   chunks  [ · | ▪ | · | ▪ ]      each covers 1 MiB; · reads as zeros
//!               │       └▸ pages [ ▪ | · | … ]      4 KiB each, shared until written
//! ```
//!
//! A copy costs one reference; the first write after it copies the list of chunks, one chunk's
//! list of pages and one page. Only what was written takes memory.

use std::sync::Arc;

use crate::{BlockingDevice, Device, Range, Result};

/// Bytes of a page.
const PAGE: usize = 4096;
/// Pages of a chunk.
const CHUNK_PAGES: usize = 256;
const CHUNK: usize = PAGE * CHUNK_PAGES;

type Page = [u8; PAGE];
type Chunk = [Option<Arc<Page>>; CHUNK_PAGES];

/// What a disk holds. Copies are cheap.
#[derive(Debug, Clone)]
pub struct Image {
    size: u64,
    chunks: Arc<Vec<Option<Arc<Chunk>>>>,
}

impl Image {
    /// `size` zero bytes.
    pub fn new(size: u64) -> Self {
        let count = size.div_ceil(CHUNK as u64) as usize;
        Self {
            size,
            chunks: Arc::new(vec![None; count]),
        }
    }

    /// What is in memory.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut image = Self::new(bytes.len() as u64);
        for (page, bytes) in bytes.chunks(PAGE).enumerate() {
            if bytes.iter().any(|byte| *byte != 0) {
                image.write((page * PAGE) as u64, bytes);
            }
        }
        image
    }

    /// All that `device` holds; blocks while it reads.
    pub fn of_device(device: &dyn Device) -> Result<Self> {
        let mut device = BlockingDevice::open(device)?;
        let mut image = Self::new(device.info().size);
        let mut bytes = vec![0; CHUNK];
        for start in (0..image.size).step_by(CHUNK) {
            let len = (CHUNK as u64).min(image.size - start) as usize;
            device.read_at(&mut bytes[..len], start)?;
            for (page, bytes) in bytes[..len].chunks(PAGE).enumerate() {
                if bytes.iter().any(|byte| *byte != 0) {
                    image.write(start + (page * PAGE) as u64, bytes);
                }
            }
        }
        Ok(image)
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `into` with what is held from byte `start`; it must lie within.
    pub fn read(&self, start: u64, into: &mut [u8]) {
        self.within(start, into.len());
        for (at, page, inside, len) in parts(start, into.len()) {
            let part = &mut into[at..at + len];
            match self.page(page) {
                Some(page) => part.copy_from_slice(&page[inside..inside + len]),
                None => part.fill(0),
            }
        }
    }

    /// A copy of what is held in `range`.
    pub fn bytes(&self, range: Range) -> Vec<u8> {
        let mut bytes = vec![0; range.len() as usize];
        self.read(range.start(), &mut bytes);
        bytes
    }

    /// Holds `bytes` from byte `start` on; they must lie within.
    pub fn write(&mut self, start: u64, bytes: &[u8]) {
        self.within(start, bytes.len());
        for (at, page, inside, len) in parts(start, bytes.len()) {
            self.page_mut(page)[inside..inside + len].copy_from_slice(&bytes[at..at + len]);
        }
    }

    /// Holds zeros in `range`, which must lie within.
    pub fn zero(&mut self, range: Range) {
        let end = range.end();
        assert!(end <= self.size, "zeros lie within the image");
        let mut start = range.start();
        while start < end {
            let page = (start / PAGE as u64) as usize;
            let inside = start as usize % PAGE;
            let len = (PAGE - inside).min((end - start) as usize);
            if self.chunks[page / CHUNK_PAGES].is_none() {
                start = ((page / CHUNK_PAGES + 1) * CHUNK) as u64;
                continue;
            }
            if len == PAGE {
                let chunk = Arc::make_mut(&mut self.chunks)[page / CHUNK_PAGES].as_mut();
                Arc::make_mut(chunk.expect("there is a chunk"))[page % CHUNK_PAGES] = None;
            } else if self.page(page).is_some() {
                self.page_mut(page)[inside..inside + len].fill(0);
            }
            start += len as u64;
        }
    }

    /// The pages that were ever written: where each begins, and its 4096 bytes (of which the last
    /// page may use fewer).
    pub fn pages(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let chunks = self.chunks.iter().enumerate();
        let pages = chunks.flat_map(|(index, chunk)| {
            let pages = chunk.iter().flat_map(|chunk| chunk.iter().enumerate());
            pages.map(move |(page, bytes)| (index * CHUNK_PAGES + page, bytes))
        });
        pages.filter_map(|(page, bytes)| {
            let start = (page * PAGE) as u64;
            let len = (self.size - start).min(PAGE as u64) as usize;
            bytes.as_ref().map(|bytes| (start, &bytes[..len]))
        })
    }

    /// Whether both hold the same bytes in `range`, which must lie within both. Pages that copies
    /// share cost nothing.
    pub fn is_same_in(&self, other: &Self, range: Range) -> bool {
        let mut parts = parts(range.start(), range.len() as usize);
        parts.all(
            |(_, page, inside, len)| match (self.page(page), other.page(page)) {
                (None, None) => true,
                (Some(one), Some(two)) => {
                    std::ptr::eq(one, two) || one[inside..inside + len] == two[inside..inside + len]
                }
                (Some(one), None) | (None, Some(one)) => {
                    one[inside..inside + len].iter().all(|byte| *byte == 0)
                }
            },
        )
    }

    fn within(&self, start: u64, len: usize) {
        let range = Range::checked(start, len as u64);
        let inside = range.is_some_and(|range| range.end() <= self.size);
        assert!(inside, "{len} bytes at byte {start} lie within the image");
    }

    fn page(&self, page: usize) -> Option<&Page> {
        let chunk = self.chunks[page / CHUNK_PAGES].as_ref()?;
        chunk[page % CHUNK_PAGES].as_deref()
    }

    fn page_mut(&mut self, page: usize) -> &mut Page {
        let chunk = Arc::make_mut(&mut self.chunks)[page / CHUNK_PAGES]
            .get_or_insert_with(|| Arc::new([const { None }; CHUNK_PAGES]));
        let page =
            Arc::make_mut(chunk)[page % CHUNK_PAGES].get_or_insert_with(|| Arc::new([0; PAGE]));
        Arc::make_mut(page)
    }
}

impl PartialEq for Image {
    /// Whether both hold the same bytes, however they came to.
    fn eq(&self, other: &Self) -> bool {
        let zeros = [0; PAGE];
        let page = |image: &Self, page: usize| image.page(page).copied().unwrap_or(zeros);
        let pages = self.size.div_ceil(PAGE as u64) as usize;
        self.size == other.size
            && (Arc::ptr_eq(&self.chunks, &other.chunks)
                || (0..pages).all(|index| page(self, index) == page(other, index)))
    }
}

impl Eq for Image {}

/// The parts of `len` bytes from byte `start` in each page: where in the bytes, which page, where
/// in the page, how many.
fn parts(start: u64, len: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == len {
            return None;
        }
        let place = start as usize + at;
        let inside = place % PAGE;
        let part = (PAGE - inside).min(len - at);
        let item = (at, place / PAGE, inside, part);
        at += part;
        Some(item)
    })
}
