//! The metadata texts of a scan: each different one is kept and parsed once.
//!
//! A group of a hundred physical volumes has a hundred copies of its text. All of them are read,
//! since each may be damaged by itself, and compared byte by byte with what is there already; only
//! the first is kept. As long as one thread reads, who waits for it parses what it brought: the
//! first text is understood before the last device is read. Once several threads are at work,
//! whoever brings a text also parses it, so that different groups are parsed at once.
//!
//! Memory is bounded: texts that are longer than [`LARGE`] are read and parsed one at a time, and
//! all texts that are kept have at most [`KEPT_MAX`] bytes together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lvm2::model::{self, VolumeGroup, from_text};
use lvm2::text::{parse, until_nul};

/// Texts from here on are handled one at a time: 10,000 logical volumes have 4 MiB.
const LARGE: u64 = 8 << 20;
/// The most bytes that are kept of all texts together: a thousand groups of a common size.
const KEPT_MAX: usize = 512 << 20;

/// A text, and what it means.
#[derive(Debug)]
pub(super) struct Text {
    /// All of it, without the closing NUL.
    pub(super) bytes: Arc<[u8]>,
    parsed: OnceLock<Result<Parsed, lvm2::Error>>,
}

/// A text's meaning, and what is wrong with it.
#[derive(Debug, Clone)]
struct Parsed {
    group: Arc<VolumeGroup>,
    problems: Arc<[model::Finding]>,
}

impl Text {
    /// The volume group that it describes.
    pub(super) fn group(&self) -> Result<Arc<VolumeGroup>, lvm2::Error> {
        self.parsed().map(|parsed| parsed.group)
    }

    /// What is wrong with that group.
    pub(super) fn problems(&self) -> Arc<[model::Finding]> {
        self.parsed()
            .map_or_else(|_| Arc::default(), |parsed| parsed.problems)
    }

    fn parsed(&self) -> Result<Parsed, lvm2::Error> {
        let parse = || {
            let group = from_text(&parse(&self.bytes)?)?;
            let problems = model::check(&group).into();
            Ok(Parsed {
                group: Arc::new(group),
                problems,
            })
        };
        self.parsed.get_or_init(parse).clone()
    }
}

/// All texts of a scan.
#[derive(Debug, Default)]
pub(super) struct Texts {
    kept: Mutex<Kept>,
    one_large: Mutex<()>,
    parse_at_once: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    /// By checksum.
    texts: HashMap<u32, Vec<Arc<Text>>>,
    /// Those that nobody has begun to parse.
    new: Vec<Arc<Text>>,
    bytes: usize,
}

impl Texts {
    /// With those that an earlier scan kept, by their checksums: who brings one of them again gets
    /// the same.
    pub(super) fn with_kept(known: impl IntoIterator<Item = (u32, Arc<Text>)>) -> Self {
        let mut kept = Kept::default();
        for (checksum, text) in known {
            let same = kept.texts.entry(checksum).or_default();
            if same.iter().all(|other| !Arc::ptr_eq(other, &text)) {
                kept.bytes += text.bytes.len();
                same.push(text);
            }
        }
        assert!(kept.bytes <= KEPT_MAX, "that scan had the same limit");
        Self {
            kept: Mutex::new(kept),
            ..Self::default()
        }
    }

    /// The text of `len` bytes with this checksum that `read` brings. Fails as `read`
    /// does, or with a sentence where there is no room for it.
    pub(super) fn take<E: From<lvm2::Error>>(
        &self,
        checksum: u32,
        len: u64,
        read: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Arc<Text>, E> {
        let _one = (len >= LARGE).then(|| {
            self.one_large
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        });
        let text = self.keep(checksum, &read()?)?;
        if self.parse_at_once.load(Ordering::Relaxed) {
            // Who asks for the result sees errors.
            let _ = text.group();
        }
        Ok(text)
    }

    /// Whether there is a text that [`parse_one`](Self::parse_one) would parse.
    pub(super) fn has_new(&self) -> bool {
        !self.lock().new.is_empty()
    }

    /// Parses a text, if there is one that nobody has begun to parse.
    pub(super) fn parse_one(&self) {
        let new = self.lock().new.pop();
        if let Some(text) = new {
            // Who asks for the result sees errors.
            let _ = text.group();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a text is parsed by the thread that brings it.
    pub(super) fn parse_at_once(&self) {
        self.parse_at_once.store(true, Ordering::Relaxed);
    }

    fn keep(&self, checksum: u32, bytes: &[u8]) -> Result<Arc<Text>, lvm2::Error> {
        let bytes = until_nul(bytes);
        let mut kept = self.lock();
        let same = kept.texts.get(&checksum).into_iter().flatten();
        if let Some(known) = same.into_iter().find(|known| *known.bytes == *bytes) {
            return Ok(Arc::clone(known));
        }
        if kept.bytes.saturating_add(bytes.len()) > KEPT_MAX {
            let what = format!("all metadata together has more than {KEPT_MAX} bytes");
            return Err(lvm2::Error::new(lvm2::Kind::Limit, what));
        }
        kept.bytes += bytes.len();
        assert!(kept.bytes <= KEPT_MAX, "texts have a limit");
        let text = Arc::new(Text {
            bytes: bytes.into(),
            parsed: OnceLock::new(),
        });
        kept.texts
            .entry(checksum)
            .or_default()
            .push(Arc::clone(&text));
        if !self.parse_at_once.load(Ordering::Relaxed) {
            kept.new.push(Arc::clone(&text));
        }
        Ok(text)
    }
}
