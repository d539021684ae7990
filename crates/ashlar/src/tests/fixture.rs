//! For the tests here: copies of the golden disks' first MiB, which is where their metadata is.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use lvm2::Bytes;
use lvm2::ondisk::{AreaHeader, Label, RawLocation, Ring, checksum};

use crate::host::{DeviceSource, DeviceSpec, Host};
use crate::scan::{FindingKind, Options, Scan, scan};

/// Where the data of the golden disks begins.
pub(crate) const DATA_START: usize = 1 << 20;
const DISK_SIZE: u64 = 96 << 20;

/// A folder of its own that goes when it is dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ashlar-library-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("makes a directory");
        Self(path)
    }

    /// One with the five golden disks' metadata.
    pub(crate) fn golden() -> Self {
        let folder = Self::new();
        for (number, head) in heads().iter().enumerate() {
            folder.disk(&format!("a{number}.img"), head);
        }
        folder
    }

    /// One with the five golden disks.
    pub(crate) fn golden_whole() -> Self {
        Self::unpacked("golden/images.tar.zst")
    }

    /// One with what an archive of the fixtures holds.
    pub(crate) fn unpacked(archive: &str) -> Self {
        let folder = Self::new();
        let unpack = "zstd -qdc \"$0\" | tar --sparse -x -C \"$1\"";
        let images = fixture_path(archive);
        let status = Command::new("sh")
            .args(["-c", unpack])
            .arg(images)
            .arg(&folder.0)
            .status();
        assert!(
            status.expect("sh runs").success(),
            "zstd and tar unpack {archive}"
        );
        folder
    }

    /// Writes a disk of the golden size that begins with `head`.
    pub(crate) fn disk(&self, name: &str, head: &[u8]) {
        fs::write(self.path(name), head).expect("writes");
        let file = File::options()
            .write(true)
            .open(self.path(name))
            .expect("opens");
        file.set_len(DISK_SIZE).expect("has the size");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes `bytes` at byte `at` of a disk.
    pub(crate) fn write(&self, name: &str, at: u64, bytes: &[u8]) {
        let file = File::options()
            .write(true)
            .open(self.path(name))
            .expect("opens");
        file.write_all_at(bytes, at).expect("writes");
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("removes");
    }

    /// The metadata text of a disk, and the header that points to it.
    pub(crate) fn text(&self, name: &str) -> (String, AreaHeader) {
        let mut head = vec![0; DATA_START];
        let file = File::open(self.path(name)).expect("opens");
        file.read_exact_at(&mut head, 0).expect("reads");
        let label = Label::scan(&head).label.expect("has a label");
        let span = label.metadata_areas()[0];
        let area = &head[span.offset.0 as usize..];
        let header = AreaHeader::decode(area, span, Bytes(DISK_SIZE)).expect("is good");
        let committed = header.committed.expect("has a text");
        let text = Ring::new(&header).text(area, &committed).expect("is good");
        let text = String::from_utf8(text).expect("is UTF-8");
        (text.trim_end_matches('\0').to_owned(), header)
    }

    /// Writes another text into the ring of a disk, as a commit would.
    pub(crate) fn rewrite(&self, name: &str, change: impl FnOnce(String) -> String) {
        let (text, mut header) = self.text(name);
        let mut text = change(text).into_bytes();
        text.push(0);
        let ring = Ring::new(&header);
        let live: Vec<_> = header.committed.into_iter().collect();
        let size = Bytes(text.len() as u64);
        let offset = ring.place(&live, size, Bytes(512)).expect("there is room");
        let area = header.start.0;
        for write in ring.writes(offset, &text, Bytes(512)) {
            self.write(name, area + write.offset.0, &write.bytes);
        }
        header.committed = Some(RawLocation {
            offset,
            size,
            checksum: checksum(&text),
        });
        self.write(name, area, &header.encode());
    }

    pub(crate) fn source(&self) -> DeviceSource {
        DeviceSource::Listed(vec![DeviceSpec {
            path: self.0.clone(),
        }])
    }

    pub(crate) fn scan(&self) -> Scan {
        self.scan_with(&Host::without_config())
    }

    pub(crate) fn scan_with(&self, host: &Host) -> Scan {
        scan(host, &self.source(), &Options::default()).expect("a scan does not fail")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file of the golden fixture.
pub(crate) fn golden_path(name: &str) -> PathBuf {
    fixture_path(&format!("golden/{name}"))
}

/// A file of the fixtures.
pub(crate) fn fixture_path(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    tests.join(name)
}

/// The first MiB of each golden disk.
pub(crate) fn heads() -> &'static [Vec<u8>] {
    static HEADS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    HEADS.get_or_init(|| {
        let folder = Folder::golden_whole();
        let head = |number| {
            let mut head = vec![0; DATA_START];
            let mut file = File::open(folder.path(&format!("a{number}.img"))).expect("is there");
            file.read_exact(&mut head).expect("reads");
            head
        };
        (0..5).map(head).collect()
    })
}

/// The texts of all findings of a kind.
pub(crate) fn texts(scan: &Scan, kind: FindingKind) -> Vec<String> {
    let of_kind = scan.findings.iter().filter(|finding| finding.kind == kind);
    of_kind.map(ToString::to_string).collect()
}
