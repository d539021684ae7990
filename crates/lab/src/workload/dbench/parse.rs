//! Reads load files of dbench 3 and 4.
//!
//! ```text
//!   [SECONDS] NAME FIELD... [STATUS]
//!   NTCreateX "\clients\client1\~dmtmp\A.BMP" 0x0 0x2 10051 NT_STATUS_OK
//!   WriteX 10051 0 4096 4096 SUCCESS
//! ```
//!
//! Numbers are decimal or begin with `0x`. Paths may be in quotes, with either slash; the part
//! `clients/client1` is the client's own directory. A request that failed when it was recorded is
//! one that finds nothing. Times before requests are read and not kept: dbench without a rate plays
//! as fast as it can.

use super::load::{Builder, Load, Operation, PathNumber};
use crate::workload::InputError;

/// Bytes of a file at most in the model.
const END_MAX: u64 = 4 << 30;
/// Parts of a path at most.
const DEPTH_MAX: usize = 32;
/// Bytes of a name at most.
const NAME_MAX: usize = 255;
/// `FILE_DIRECTORY_FILE` of the options of `NTCreateX`.
const DIRECTORY: u64 = 1;

/// The load of a file. What is not known is an error with its line and field.
pub fn parse(text: &str) -> Result<Load, InputError> {
    let mut builder = Builder::new();
    for (index, line) in text.lines().enumerate() {
        let mut fields = Fields::split(index + 1, line)?;
        let Some(name) = fields.name() else {
            continue;
        };
        request(&mut builder, &mut fields, &name)?;
    }
    let load = builder.finish();
    if load.requests.is_empty() {
        return Err(InputError::new(0, "requests", "the file has none"));
    }
    Ok(load)
}

fn request(builder: &mut Builder, fields: &mut Fields, name: &str) -> Result<(), InputError> {
    let line = fields.line;
    let failed = fields.failed()?;
    let (name, operation) = match name {
        "NTCreateX" => ("NTCreateX", create(builder, fields, failed)?),
        "Close" => {
            let handle = fields.handle("handle")?;
            ("Close", Operation::Close { handle })
        }
        "ReadX" => {
            let (handle, at, bytes) = fields.range()?;
            ("ReadX", Operation::Read { handle, at, bytes })
        }
        "WriteX" => {
            let (handle, at, bytes) = fields.range()?;
            ("WriteX", Operation::Write { handle, at, bytes })
        }
        "Flush" => {
            let handle = fields.handle("handle")?;
            ("Flush", Operation::Flush { handle })
        }
        "LockX" | "UnlockX" => {
            let (handle, _, _) = fields.range()?;
            builder.need(line, handle)?;
            let locks = name == "LockX";
            (if locks { "LockX" } else { "UnlockX" }, Operation::Query)
        }
        "QUERY_FILE_INFORMATION" => {
            builder.need(line, fields.handle("handle")?)?;
            ("QUERY_FILE_INFORMATION", Operation::Query)
        }
        "SET_FILE_INFORMATION" => {
            builder.need(line, fields.handle("handle")?)?;
            ("SET_FILE_INFORMATION", Operation::Query)
        }
        "QUERY_FS_INFORMATION" => ("QUERY_FS_INFORMATION", Operation::Query),
        _ => of_paths(builder, fields, name, failed)?,
    };
    builder.add(name, line, operation)
}

/// Requests that name paths.
fn of_paths(
    builder: &mut Builder,
    fields: &mut Fields,
    name: &str,
    failed: bool,
) -> Result<(&'static str, Operation), InputError> {
    let unknown = || {
        let known = "NTCreateX, Close, ReadX, WriteX, Flush, Unlink, Rename, Mkdir, Rmdir, \
            Deltree, FIND_FIRST, QUERY_PATH_INFORMATION, QUERY_FILE_INFORMATION, \
            QUERY_FS_INFORMATION, SET_FILE_INFORMATION, LockX, UnlockX";
        let what = format!("'{name}' is no operation of dbench; it has {known}");
        InputError::new(fields.line, "operation", what)
    };
    let known = [
        "Unlink",
        "Rename",
        "Mkdir",
        "Rmdir",
        "Deltree",
        "FIND_FIRST",
        "QUERY_PATH_INFORMATION",
    ];
    let known = known.into_iter().find(|&one| one == name);
    let name = known.ok_or_else(unknown)?;
    let path = fields.path(builder, "path")?;
    let operation = match name {
        "Rename" => {
            let to = fields.path(builder, "new path")?;
            Operation::Rename { from: path, to }
        }
        "Unlink" => Operation::Unlink { path },
        "Mkdir" => Operation::Mkdir { path },
        "Rmdir" => Operation::Rmdir { path },
        "Deltree" => Operation::Deltree { path },
        "FIND_FIRST" => Operation::Find { path },
        _ => Operation::QueryPath { path },
    };
    let looks = matches!(operation, Operation::Find { .. });
    let miss = Operation::Miss { path };
    Ok((name, if failed && !looks { miss } else { operation }))
}

/// `NTCreateX`: the options say whether it is a directory, the disposition what may be there.
fn create(
    builder: &mut Builder,
    fields: &mut Fields,
    failed: bool,
) -> Result<Operation, InputError> {
    let path = fields.path(builder, "path")?;
    let options = fields.number("create options")?;
    let disposition = fields.number("create disposition")?;
    let handle = fields.handle("handle")?;
    if failed {
        return Ok(Operation::Miss { path });
    }
    Ok(match disposition {
        0..=5 if options & DIRECTORY != 0 => Operation::OpenDirectory { path, handle },
        0 | 4 | 5 => Operation::Overwrite { path, handle },
        1 => Operation::Open { path, handle },
        2 | 3 => Operation::OpenOrCreate { path, handle },
        _ => {
            let what = "0 (supersede) to 5 (overwrite or create) is expected";
            return Err(InputError::new(fields.line, "create disposition", what));
        }
    })
}

/// The words of a line.
struct Fields {
    line: usize,
    words: std::collections::VecDeque<String>,
}

impl Fields {
    /// Splits at spaces, but not inside quotes.
    fn split(line: usize, text: &str) -> Result<Self, InputError> {
        let mut words = std::collections::VecDeque::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
                quoted.split_once('"').ok_or_else(|| {
                    InputError::new(line, "path", "a quote that is not closed on its line")
                })?
            } else {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                rest.split_at(end)
            };
            words.push_back(word.to_owned());
            rest = after.trim_start();
        }
        Ok(Self { line, words })
    }

    /// The operation; a time before it is passed over. `None` for an empty line or a comment.
    fn name(&mut self) -> Option<String> {
        let first = self.words.front()?;
        if first.starts_with('#') {
            return None;
        }
        if first.parse::<f64>().is_ok() {
            self.words.pop_front();
        }
        self.words.pop_front()
    }

    /// Takes the status at the end of the line: whether the request failed when it was recorded.
    fn failed(&mut self) -> Result<bool, InputError> {
        let Some(last) = self.words.back() else {
            let what = "a request without fields";
            return Err(InputError::new(self.line, "operation", what));
        };
        let eight = last
            .strip_prefix("0x")
            .is_some_and(|digits| digits.len() == 8);
        let failed = match last.as_str() {
            "NT_STATUS_OK" | "SUCCESS" | "0x00000000" | "*" => false,
            word if word.starts_with("NT_STATUS_") || word.starts_with("ERROR") || eight => true,
            _ => return Ok(false),
        };
        self.words.pop_back();
        Ok(failed)
    }

    fn word(&mut self, field: &str) -> Result<String, InputError> {
        let missing = || InputError::new(self.line, field, "is missing");
        self.words.pop_front().ok_or_else(missing)
    }

    fn number(&mut self, field: &str) -> Result<u64, InputError> {
        let word = self.word(field)?;
        let found = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        found.map_err(|_| {
            let what = format!("'{word}' is no number from 0, decimal or with 0x");
            InputError::new(self.line, field, what)
        })
    }

    fn handle(&mut self, field: &str) -> Result<u32, InputError> {
        let number = self.number(field)?;
        let wrong = |_| InputError::new(self.line, field, "handles have 32 bits");
        u32::try_from(number).map_err(wrong)
    }

    /// Handle, place and size.
    fn range(&mut self) -> Result<(u32, u64, u64), InputError> {
        let handle = self.handle("handle")?;
        let at = self.number("offset")?;
        let bytes = self.number("size")?;
        if at.checked_add(bytes).is_none_or(|end| end > END_MAX) {
            let what = format!("{bytes} bytes at {at}: files end at 4 GiB here");
            return Err(InputError::new(self.line, "size", what));
        }
        Ok((handle, at, bytes))
    }

    /// A path below the client's directory.
    fn path(&mut self, builder: &mut Builder, field: &str) -> Result<PathNumber, InputError> {
        let word = self.word(field)?.replace('\\', "/");
        let wrong = |what: String| InputError::new(self.line, field, what);
        let mut parts: Vec<&str> = word.split('/').filter(|part| !part.is_empty()).collect();
        if let ["clients", client, ..] = parts.as_slice()
            && client.starts_with("client")
        {
            parts.drain(..2);
        } else if parts == ["clients"] {
            // Where the directories of all clients are: it is there.
            parts.clear();
        }
        if parts.len() > DEPTH_MAX {
            return Err(wrong(format!("more than {DEPTH_MAX} parts")));
        }
        for part in &parts {
            if part.len() > NAME_MAX || matches!(*part, "." | "..") {
                return Err(wrong(format!("'{part}' is no name of a file")));
            }
        }
        Ok(builder.path(&parts.join("/")))
    }
}
