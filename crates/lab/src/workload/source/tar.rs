//! tar: an archive is made of a tree, or taken apart.
//!
//! ```text
//!   archive   [ header 512 | data, to a multiple of 512 ] for each file … to a multiple of 10,240
//! ```
//!
//! The archive is written and read in records of 10,240 bytes, as tar does by itself; a file is
//! read in such pieces, too. Phases: `create` or `extract`, and `sync` if all is written at the
//! end.

use super::tree::{Tree, chunks};
use crate::workload::program::{Call, Directory, File, Stream};

/// Bytes of a header, and of what data are filled up to.
const BLOCK: u64 = 512;
/// Bytes of a record: 20 blocks.
const RECORD: u64 = 20 * BLOCK;
/// The archive while it is open, and the file that is read or written beside it.
const ARCHIVE: File = File(1);
const FILE: File = File(0);

/// Whether what was written has to be on the disk at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It may be in memory.
    Cached,
    /// It is written, and that is waited for.
    Synced,
    /// Each file that is taken out is, before the next one.
    EachSynced,
}

/// Bytes that a file takes in an archive.
fn packed(bytes: u64) -> u64 {
    BLOCK + bytes.next_multiple_of(BLOCK)
}

/// Bytes of the archive of a tree: headers of directories, files, an end of two blocks.
fn archive_bytes(tree: &Tree) -> u64 {
    let directories = tree.parents.len() as u64 * BLOCK;
    let files: u64 = tree.files.iter().map(|file| packed(file.bytes)).sum();
    (directories + files + 2 * BLOCK).next_multiple_of(RECORD)
}

/// Records of the archive up to `to` that were not moved before.
fn records(done: &mut u64, to: u64, call: impl Fn(u64) -> Call) -> Vec<Call> {
    let mut calls = Vec::new();
    while *done + RECORD <= to {
        calls.push(call(*done));
        *done += RECORD;
    }
    calls
}

fn write_record(at: u64) -> Call {
    let (file, bytes) = (ARCHIVE, RECORD);
    Call::Write { file, at, bytes }
}

fn read_record(at: u64) -> Call {
    let (file, bytes) = (ARCHIVE, RECORD);
    Call::Read { file, at, bytes }
}

fn end(ending: Ending) -> Vec<Call> {
    match ending {
        Ending::Cached | Ending::EachSynced => Vec::new(),
        Ending::Synced => vec![Call::phase("sync"), Call::Sync],
    }
}

/// Archives the tree into one file beside it.
pub fn create(tree: Tree, ending: Ending) -> Stream {
    let mut begin = tree.prepare();
    begin.push(Call::phase("create"));
    begin.push(Call::Create {
        parent: Directory::ROOT,
        name: "archive.tar".to_owned(),
        file: ARCHIVE,
    });
    let total = archive_bytes(&tree);
    let (mut done, mut packed_bytes, mut inside) = (0, 0, None);
    let files = tree.files.clone().into_iter().flat_map(move |source| {
        let mut calls = Vec::new();
        if inside != Some(source.directory) {
            inside = Some(source.directory);
            let (parent, name) = tree.place(source.directory);
            calls.push(Call::Stat { parent, name });
            let directory = tree.directory(source.directory);
            calls.push(Call::List { directory });
            packed_bytes += BLOCK;
        }
        let parent = tree.directory(source.directory);
        let (name, file) = (source.name(), FILE);
        calls.push(Call::Stat {
            parent,
            name: name.clone(),
        });
        calls.push(Call::Open { parent, name, file });
        packed_bytes += BLOCK;
        for (at, bytes) in chunks(source.bytes, RECORD) {
            calls.push(Call::Read { file, at, bytes });
            packed_bytes += bytes;
            calls.extend(records(&mut done, packed_bytes, write_record));
        }
        packed_bytes = packed_bytes.next_multiple_of(BLOCK);
        calls.push(Call::Close { file });
        calls
    });
    let files = files.collect::<Vec<_>>();
    let written = files
        .iter()
        .filter(|call| matches!(call, Call::Write { .. }))
        .count() as u64
        * RECORD;
    let mut done = written;
    let mut rest = records(&mut done, total, write_record);
    rest.push(Call::Close { file: ARCHIVE });
    rest.extend(end(ending));
    Box::new(begin.into_iter().chain(files).chain(rest))
}

/// Takes an archive apart that lies in the root.
pub fn extract(tree: &Tree, ending: Ending) -> Stream {
    let total = archive_bytes(tree);
    let (parent, name, file) = (Directory::ROOT, "archive.tar".to_owned(), ARCHIVE);
    let mut calls = vec![Call::Create { parent, name, file }];
    let mut done = 0;
    calls.extend(records(&mut done, total, write_record));
    calls.push(Call::Close { file });
    calls.push(Call::DropCaches);
    calls.push(Call::phase("extract"));
    let name = "archive.tar".to_owned();
    calls.push(Call::Open { parent, name, file });
    let (mut done, mut packed_bytes) = (0, 0);
    calls.extend((0..tree.parents.len()).map(|place| tree.mkdir(place)));
    for source in &tree.files {
        packed_bytes += packed(source.bytes);
        let to = packed_bytes.next_multiple_of(RECORD);
        calls.extend(records(&mut done, to, read_record));
        let mut file = tree.write(source, RECORD);
        if ending == Ending::EachSynced {
            file.insert(file.len() - 1, Call::Fsync { file: FILE });
        }
        calls.extend(file);
    }
    calls.extend(records(&mut done, total, read_record));
    calls.push(Call::Close { file: ARCHIVE });
    calls.extend(end(ending));
    Box::new(calls.into_iter())
}
