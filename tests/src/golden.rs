//! The golden disks, unpacked, and what they must hold.
//!
//! Tests that run at the same time share one copy, which is read-only; the last one to end removes
//! it. A test that writes asks for a copy of its own.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sha2::{Digest, Sha256};

use crate::scratch::Scratch;
use crate::tool::Tool;
use crate::unpack::{protect, unpack};

/// Number of disks.
const COUNT: usize = 5;

/// The unpacked disks.
#[derive(Debug)]
pub struct Golden {
    scratch: Scratch,
}

/// One volume, as the kernel presented it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its name in `vg0`.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

impl Golden {
    /// The copy that all tests share; nobody may write to it.
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Golden>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let golden = Arc::new(Self::copy());
            protect(&golden.images());
            *shared = Arc::downgrade(&golden);
            golden
        })
    }

    /// A copy for one test, which may change it.
    pub fn copy() -> Self {
        let scratch = Scratch::new("golden");
        unpack(&Self::fixture("images.tar.zst"), scratch.path());
        let golden = Golden { scratch };
        assert!(
            golden.images().iter().all(|image| image.is_file()),
            "an image is missing"
        );
        golden
    }

    /// A file of `tests/fixtures/golden`.
    pub fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/golden")
            .join(name)
    }

    /// The folder that holds the images and nothing else.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The images `a0.img` to `a4.img`.
    pub fn images(&self) -> Vec<PathBuf> {
        (0..COUNT).map(|number| self.image(number)).collect()
    }

    /// The image with this number.
    pub fn image(&self, number: usize) -> PathBuf {
        self.scratch.join(format!("a{number}.img"))
    }

    /// What every volume must hold.
    pub fn volumes() -> Vec<Volume> {
        let text = fs::read_to_string(Self::fixture("manifest.txt")).expect("the manifest");
        let volume = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let mut word = || words.next().expect("three words a line");
            let (sha256, size, name) = (word(), word(), word());
            Volume {
                name,
                size: size.parse().expect("a size"),
                sha256,
            }
        };
        text.lines().map(volume).collect()
    }

    /// What the volume of this name must hold.
    pub fn volume(name: &str) -> Volume {
        let found = Self::volumes()
            .into_iter()
            .find(|volume| volume.name == name);
        found.unwrap_or_else(|| panic!("no golden volume is called {name}"))
    }

    /// SHA-256 and path (`./…`) of every file in the file system on `ext4`.
    pub fn ext4_files() -> Vec<(String, String)> {
        let text = fs::read_to_string(Self::fixture("ext4-files.txt")).expect("the list");
        let pair = |line: &str| {
            let (sum, path) = line.split_once(' ').expect("two words a line");
            (sum.to_owned(), path.trim().to_owned())
        };
        text.lines().map(pair).collect()
    }

    /// A copy of one image at `path`, as sparse as it is.
    pub fn copy_image(&self, number: usize, path: &Path) {
        Tool::new("cp")
            .arg("--sparse=always")
            .args([&self.image(number), path])
            .succeed();
        let mut permissions = fs::metadata(path).expect("the copy").permissions();
        #[expect(
            clippy::permissions_set_readonly_false,
            reason = "a scratch file of this test"
        )]
        permissions.set_readonly(false);
        fs::set_permissions(path, permissions).expect("the copy can be opened up");
    }
}
