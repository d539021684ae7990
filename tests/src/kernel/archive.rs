//! The archive that the kernel unpacks as its first file system: cpio, in the form called newc.
//!
//! Each entry is a header of text, its name and its bytes, both filled up to four bytes. Archives
//! may follow one another, so what every machine needs is made once, and each job put behind it.

use std::collections::BTreeSet;

const FOLDER: u32 = 0o040_755;
const DEVICE: u32 = 0o020_600;
const LINK: u32 = 0o120_777;
const PROGRAM: u32 = 0o100_755;

/// An archive that is being made.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    /// What it has already.
    names: BTreeSet<String>,
}

impl Archive {
    /// Puts in a file that may be executed, at an absolute path, and the folders above it.
    pub(super) fn file(&mut self, path: &str, content: &[u8]) {
        self.entry(path, PROGRAM, (0, 0), content);
    }

    /// Puts in a folder.
    pub(super) fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER, (0, 0), &[]);
    }

    /// Puts in a link to `to`.
    pub(super) fn link(&mut self, path: &str, to: &str) {
        self.entry(path, LINK, (0, 0), to.as_bytes());
    }

    /// Puts in a character device.
    pub(super) fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, DEVICE, (major, minor), &[]);
    }

    /// Whether something is at this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.names.contains(path.trim_start_matches('/'))
    }

    /// The finished archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.append("TRAILER!!!", 0, (0, 0), &[]);
        // So that another one may follow.
        self.pad(512);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        let name = path.trim_start_matches('/');
        if let Some((above, _)) = name.rsplit_once('/')
            && !self.names.contains(above)
        {
            self.folder(above);
        }
        if self.names.insert(name.to_owned()) {
            self.append(name, mode, device, content);
        }
    }

    fn append(&mut self, name: &str, mode: u32, (major, minor): (u32, u32), content: &[u8]) {
        let number = self.names.len() as u32;
        let size = u32::try_from(content.len()).expect("a file of a small machine");
        let name_size = name.len() as u32 + 1;
        let fields = [
            number, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad(4);
        self.bytes.extend_from_slice(content);
        self.pad(4);
    }

    fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }
}
