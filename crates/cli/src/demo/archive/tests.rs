//! Tests of the archive: what is written out, and what is refused.

use std::fs::File;
use std::io::{Error, Read, Seek};

use super::{BLOCK, Entry, IS_EXTENDED, MORE_IS_EXTENDED, NAME, PIECES, SIZE, STORED, unpack};

/// A header of a sparse file with these pieces, the further blocks, and the data.
fn sparse(name: &str, size: u64, pieces: &[(u64, &[u8])]) -> Vec<u8> {
    let put = |block: &mut [u8], number: u64| {
        block[..11].copy_from_slice(format!("{number:011o}").as_bytes());
    };
    let slot = |block: &mut [u8], at: usize, piece: &(u64, &[u8])| {
        put(&mut block[at..], piece.0);
        put(&mut block[at + 12..], piece.1.len() as u64);
    };
    let mut header = vec![0; BLOCK];
    header[NAME][..name.len()].copy_from_slice(name.as_bytes());
    put(
        &mut header[STORED],
        pieces.iter().map(|(_, data)| data.len() as u64).sum(),
    );
    header[super::TYPE] = b'S';
    put(&mut header[SIZE], size);
    let (first, rest) = pieces.split_at(pieces.len().min(4));
    for (index, piece) in first.iter().enumerate() {
        slot(&mut header, PIECES.start + index * 24, piece);
    }
    header[IS_EXTENDED] = u8::from(!rest.is_empty());
    let blocks: Vec<_> = rest.chunks(21).collect();
    for (number, chunk) in blocks.iter().enumerate() {
        let mut block = vec![0; BLOCK];
        for (index, piece) in chunk.iter().enumerate() {
            slot(&mut block, index * 24, piece);
        }
        block[MORE_IS_EXTENDED] = u8::from(number + 1 < blocks.len());
        header.extend(block);
    }
    for (_, data) in pieces {
        header.extend(*data);
    }
    header.resize(header.len().next_multiple_of(BLOCK), 0);
    header
}

fn unpacked(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut files: Vec<(String, File)> = Vec::new();
    unpack(archive, |entry: &Entry| {
        let path = std::env::temp_dir().join(format!(
            "ashlar-archive-{}-{}",
            std::process::id(),
            entry.name
        ));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        std::fs::remove_file(&path)?;
        files.push((entry.name.clone(), file.try_clone()?));
        Ok::<_, Error>(file)
    })?;
    let read = |(name, mut file): (String, File)| {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok((name, bytes))
    };
    files.into_iter().map(read).collect()
}

/// Holes read as zeros, pieces lie where they belong, and a map may need several blocks.
#[test]
fn sparse_files_are_written_out() {
    let pieces: Vec<(u64, &[u8])> = (0..50).map(|n| (n * 1000, &b"piece"[..])).collect();
    let mut archive = sparse("many", 60_000, &pieces);
    archive.extend(sparse("few", 100, &[(7, b"x"), (100, b"")]));
    archive.extend([0; 2 * BLOCK]);
    let files = unpacked(&archive).expect("an archive");
    let mut many = vec![0; 60_000];
    for (offset, data) in pieces {
        many[offset as usize..][..data.len()].copy_from_slice(data);
    }
    let mut few = vec![0; 100];
    few[7] = b'x';
    assert_eq!(files, [("many".to_owned(), many), ("few".to_owned(), few)]);
}

/// Damage is an error, not a file somewhere else or an endless one.
#[test]
fn damage_is_refused() {
    let refused = |archive: &[u8]| {
        let mut archive = archive.to_vec();
        archive.extend([0; BLOCK]);
        unpacked(&archive).expect_err("damage").to_string()
    };
    assert!(refused(&sparse("../up", 9, &[])).contains("plain"));
    assert!(refused(&sparse("behind", 9, &[(5, b"12345")])).contains("behind the end"));
    let mut folder = sparse("folder", 0, &[]);
    folder[super::TYPE] = b'5';
    assert!(refused(&folder).contains("not a file"));
    let mut other = sparse("other", 9, &[(0, b"1")]);
    other[STORED.start + 10] = b'7';
    assert!(refused(&other).contains("what is stored"));
    unpacked(&sparse("cut", 9, &[])).expect_err("an archive needs an end");
}
