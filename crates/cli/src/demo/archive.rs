//! Unpacks a tar archive of sparse files, as GNU tar writes it with `--sparse`.
//!
//! ```text
//!   header 512 | more of the map, 512 each | the data of all pieces | padding | header | …
//! ```
//!
//! The header of a sparse file (type `S`) holds up to four pieces, each an offset and a length, and
//! each block behind it up to 21; what no piece covers is a hole. Only plain and sparse files
//! without a folder in their name are understood: this reads what is bundled, not what people have.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::FileExt;

const BLOCK: usize = 512;
/// Where things are in a header: the name, the bytes stored, the type, and for sparse files the
/// pieces, whether more of them follow, and the size.
const NAME: std::ops::Range<usize> = 0..100;
const STORED: std::ops::Range<usize> = 124..136;
const TYPE: usize = 156;
const PIECES: std::ops::Range<usize> = 386..482;
const IS_EXTENDED: usize = 482;
const SIZE: std::ops::Range<usize> = 483..495;
/// A further block of pieces, and whether yet another one follows.
const MORE_PIECES: std::ops::Range<usize> = 0..504;
const MORE_IS_EXTENDED: usize = 504;
/// Bytes of a number.
const NUMBER: usize = 12;
/// The most pieces of one file; the bundled disks have some dozens.
const PIECE_COUNT_MAX: usize = 65_536;
/// How much is copied at a time, in bytes.
const CHUNK: usize = 1 << 20;

/// A file of the archive, in front of its content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// Its size in bytes, with its holes.
    pub(super) size: u64,
    /// Offset and length of each piece of data, in bytes.
    pieces: Vec<(u64, u64)>,
}

/// Unpacks all files of `archive` into those that `create` gives.
pub(super) fn unpack<E: From<Error>>(
    mut archive: impl Read,
    mut create: impl FnMut(&Entry) -> std::result::Result<File, E>,
) -> std::result::Result<(), E> {
    let mut buffer = vec![0; CHUNK];
    while let Some(entry) = read_entry(&mut archive)? {
        let file = create(&entry)?;
        file.set_len(entry.size)?;
        let mut stored = 0;
        for &(offset, length) in &entry.pieces {
            let mut at = 0;
            while at < length {
                let len = (length - at).min(CHUNK as u64) as usize;
                archive.read_exact(&mut buffer[..len])?;
                file.write_all_at(&buffer[..len], offset + at)?;
                at += len as u64;
            }
            stored += length;
        }
        let padding = stored.next_multiple_of(BLOCK as u64) - stored;
        archive.read_exact(&mut buffer[..padding as usize])?;
    }
    Ok(())
}

/// The next file; `None` at the end of the archive.
fn read_entry(archive: &mut impl Read) -> Result<Option<Entry>> {
    let mut block = [0; BLOCK];
    archive.read_exact(&mut block)?;
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let name = text(&block[NAME])?;
    if name.is_empty() || name.contains('/') || name.starts_with('.') {
        return Err(damaged("a name in it is not a plain one"));
    }
    let stored = number(&block[STORED])?;
    let mut pieces = Vec::new();
    let size = match block[TYPE] {
        b'0' | 0 => {
            pieces.push((0, stored));
            stored
        }
        b'S' => {
            read_pieces(&block[PIECES], &mut pieces)?;
            let size = number(&block[SIZE])?;
            let mut is_extended = block[IS_EXTENDED] != 0;
            while is_extended {
                archive.read_exact(&mut block)?;
                read_pieces(&block[MORE_PIECES], &mut pieces)?;
                is_extended = block[MORE_IS_EXTENDED] != 0;
            }
            size
        }
        _ => return Err(damaged("it holds something that is not a file")),
    };
    let mut total: u64 = 0;
    for &(offset, length) in &pieces {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > size) {
            return Err(damaged("a piece lies behind the end of its file"));
        }
        total = total.saturating_add(length);
    }
    if total != stored {
        return Err(damaged("the pieces of a file are not what is stored of it"));
    }
    Ok(Some(Entry { name, size, pieces }))
}

/// Adds the pieces of one block; an empty slot ends them.
fn read_pieces(slots: &[u8], pieces: &mut Vec<(u64, u64)>) -> Result<()> {
    for slot in slots.chunks_exact(2 * NUMBER) {
        if slot[0] == 0 {
            break;
        }
        if pieces.len() >= PIECE_COUNT_MAX {
            return Err(damaged("a file has too many pieces"));
        }
        pieces.push((number(&slot[..NUMBER])?, number(&slot[NUMBER..])?));
    }
    Ok(())
}

/// Octal digits, up to a NUL or a space.
fn number(field: &[u8]) -> Result<u64> {
    let digits = text(field)?;
    u64::from_str_radix(digits.trim(), 8).map_err(|_| damaged("a number in it is none"))
}

fn text(field: &[u8]) -> Result<String> {
    let len = field.iter().position(|byte| *byte == 0);
    let bytes = &field[..len.unwrap_or(field.len())];
    String::from_utf8(bytes.to_vec()).map_err(|_| damaged("a name in it is not text"))
}

fn damaged(what: &str) -> Error {
    Error::new(
        ErrorKind::InvalidData,
        format!("the archive is damaged: {what}"),
    )
}

#[cfg(test)]
mod tests;
