//! A set of disks, unpacked, and what its volumes must hold.
//!
//! The manifest of a set (`tests/fixtures/raid/NAME.txt`) has a line for each disk and volume:
//!
//! ```text
//!   disk d0.img present
//!   disk d3.img lost                         it was away when the set was made: an old copy
//!   volume SHA256 BYTES GROUP/NAME TYPE STATE
//! ```
//!
//! A volume holds the same with and without the disks that are called lost: what these have is
//! older than what the others have, and must not be believed. (Where the state is `blind`, nobody
//! can know that; the sum is of what is there without them.) `BYTES` is how much of a volume has a
//! meaning; it is all of it, except where a reshape adds room that is not there yet.
//!
//! Tests that run at the same time share one copy, which is read-only; a test that writes asks for
//! a copy of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::scratch::Scratch;
use crate::unpack::{protect, unpack};

/// The names of all sets.
pub const RAID_SETS: &[&str] = &[
    "levels",
    "dirty",
    "degraded",
    "rebuild",
    "resync",
    "reshape",
    "integrity",
];

/// The disks of a set.
#[derive(Debug)]
pub struct RaidSet {
    name: String,
    scratch: Scratch,
}

/// Whether a disk was there all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaidDisk {
    /// It was, to the end.
    Present,
    /// It was taken away, and is as it was then.
    Lost,
}

/// A volume of a set, as the kernel presented it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaidVolume {
    /// Its group and its name, with a slash between.
    pub name: String,
    /// How many of its bytes have a meaning, from its start.
    pub bytes: u64,
    /// SHA-256 of these, in hexadecimal.
    pub sha256: String,
    /// Its first segment's type, as `lvs` calls it.
    pub segment_type: String,
    /// What it was left in, such as `in-sync`.
    pub state: String,
}

impl RaidSet {
    /// The copy of this set that all tests share; nobody may write to it.
    ///
    /// # Panics
    /// When there is no set of this name.
    pub fn shared(name: &str) -> Arc<Self> {
        static SHARED: Mutex<BTreeMap<String, Weak<RaidSet>>> = Mutex::new(BTreeMap::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.get(name).and_then(Weak::upgrade).unwrap_or_else(|| {
            let set = Arc::new(Self::copy(name));
            protect(&set.images());
            shared.insert(name.to_owned(), Arc::downgrade(&set));
            set
        })
    }

    /// A copy for one test, which may change it.
    ///
    /// # Panics
    /// When there is no set of this name.
    pub fn copy(name: &str) -> Self {
        let scratch = Scratch::new(&format!("raid-{name}"));
        unpack(&fixture(&format!("{name}.tar.zst")), scratch.path());
        let name = name.to_owned();
        let set = Self { name, scratch };
        for image in set.images() {
            assert!(image.is_file(), "{} is missing", image.display());
        }
        set
    }

    /// The folder that holds the images and nothing else.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// All images, those of lost disks included.
    pub fn images(&self) -> Vec<PathBuf> {
        self.chosen(|_| true)
    }

    /// The images of the disks that were there to the end.
    pub fn present(&self) -> Vec<PathBuf> {
        self.chosen(|disk| disk == RaidDisk::Present)
    }

    /// The images of the disks that were taken away.
    pub fn lost(&self) -> Vec<PathBuf> {
        self.chosen(|disk| disk == RaidDisk::Lost)
    }

    /// What its volumes must hold.
    pub fn volumes(&self) -> Vec<RaidVolume> {
        let mut volumes = Vec::new();
        for line in manifest(&self.name).lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["volume", sha256, bytes, name, segment_type, state] = words[..] {
                volumes.push(RaidVolume {
                    name: name.to_owned(),
                    bytes: bytes.parse().expect("a number of bytes"),
                    sha256: sha256.to_owned(),
                    segment_type: segment_type.to_owned(),
                    state: state.to_owned(),
                });
            }
        }
        assert!(!volumes.is_empty(), "{} has volumes", self.name);
        volumes
    }

    /// What must be in the volume of this name, `group/volume`.
    ///
    /// # Panics
    /// When there is none.
    pub fn volume(&self, name: &str) -> RaidVolume {
        let found = self
            .volumes()
            .into_iter()
            .find(|volume| volume.name == name);
        found.unwrap_or_else(|| panic!("no volume of the set {} is called {name}", self.name))
    }

    fn chosen(&self, is_chosen: impl Fn(RaidDisk) -> bool) -> Vec<PathBuf> {
        let disks = disks(&manifest(&self.name));
        let chosen = disks.into_iter().filter(|(_, disk)| is_chosen(*disk));
        chosen.map(|(name, _)| self.scratch.join(name)).collect()
    }
}

/// The disks that a manifest names.
pub(super) fn disks(manifest: &str) -> Vec<(String, RaidDisk)> {
    let mut disks = Vec::new();
    for line in manifest.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["disk", name, state] = words[..] {
            let disk = match state {
                "present" => RaidDisk::Present,
                "lost" => RaidDisk::Lost,
                _ => panic!("a disk is present or lost, not {state}"),
            };
            disks.push((name.to_owned(), disk));
        }
    }
    assert!(!disks.is_empty(), "a set has disks");
    disks
}

/// A file of `tests/fixtures/raid`.
pub(super) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/raid")
        .join(name)
}

fn manifest(set: &str) -> String {
    let path = fixture(&format!("{set}.txt"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
