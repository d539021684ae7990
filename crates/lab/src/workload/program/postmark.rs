//! `PostMark` as calls: three phases, `creation`, `transactions` and `deletion`.

use super::Stream;
use super::call::{Call, Directory, File};
use crate::workload::InputError;
use crate::workload::postmark::{self, Operation, Settings, Step};

/// The one file that is open at a time.
const FILE: File = File(0);

/// The calls of a run; directories are made before its first phase.
pub fn postmark(settings: &Settings) -> Result<Stream, InputError> {
    let steps = postmark::Stream::new(settings)?;
    let mut before = None;
    let settings = settings.clone();
    let directories = directories(&settings);
    let calls = steps.flat_map(move |step| {
        let mut calls = Vec::new();
        if before.replace(step.phase) != Some(step.phase) {
            calls.push(Call::phase(match step.phase {
                postmark::Phase::Creation => "creation",
                postmark::Phase::Transactions => "transactions",
                postmark::Phase::Deletion => "deletion",
            }));
        }
        perform(&settings, &step, &mut calls);
        calls
    });
    Ok(Box::new(directories.into_iter().chain(calls)))
}

/// The number of the directory of a location and, if there are any, its subdirectory.
fn directory(settings: &Settings, location: u32, subdirectory: Option<u32>) -> Directory {
    let own = subdirectory.map_or(0, |number| number + 1);
    if settings.locations.is_empty() {
        return Directory(own);
    }
    Directory(1 + location * (settings.subdirectories + 1) + own)
}

/// Makes the directories of each location.
fn directories(settings: &Settings) -> Vec<Call> {
    let mut calls = Vec::new();
    for index in 0..settings.locations.len().max(1) as u32 {
        let top = directory(settings, index, None);
        if !settings.locations.is_empty() {
            calls.push(Call::Mkdir {
                parent: Directory::ROOT,
                name: format!("l{index}"),
                directory: top,
            });
        }
        if settings.subdirectories > 1 {
            calls.extend((0..settings.subdirectories).map(|number| Call::Mkdir {
                parent: top,
                name: format!("s{number}"),
                directory: directory(settings, index, Some(number)),
            }));
        }
    }
    calls
}

/// The calls of one operation.
fn perform(settings: &Settings, step: &Step, calls: &mut Vec<Call>) {
    let parent = directory(settings, step.file.location, step.file.subdirectory);
    let name = step.file.number.to_string();
    let file = FILE;
    let write = |calls: &mut Vec<Call>, mut at: u64, bytes: u64| {
        for bytes in settings.writes(bytes) {
            calls.push(Call::Write { file, at, bytes });
            at += bytes;
        }
        calls.push(Call::Close { file });
    };
    match step.operation {
        Operation::Create { bytes } => {
            calls.push(Call::Create { parent, name, file });
            write(calls, 0, bytes);
        }
        Operation::Append { at, bytes } => {
            calls.push(Call::Open { parent, name, file });
            write(calls, at, bytes);
        }
        Operation::Read { bytes } => {
            calls.push(Call::Open { parent, name, file });
            let mut at = 0;
            for bytes in settings.reads(bytes) {
                calls.push(Call::Read { file, at, bytes });
                at += bytes;
            }
            calls.push(Call::Close { file });
        }
        Operation::Delete { .. } => calls.push(Call::Delete { parent, name }),
    }
}
