//! The program, killed as it makes a system call: each moment between two writes can be met, and
//! not the few that a timer would hit.

use std::path::Path;

use crate::tool::{Finished, Tool, ashlar_path};

/// The program, whose arguments are added, under `strace`, which kills it at its call number
/// `call`, from 1, of `calls`; it keeps its record in `record`.
pub fn killing(calls: &str, call: usize, record: &Path) -> Tool {
    Tool::new("strace")
        .args(["-f", "-qqq", "-e"])
        .arg(format!("trace={calls}"))
        .arg("-e")
        .arg(format!("inject={calls}:signal=KILL:when={call}"))
        .arg("-o")
        .arg(record)
        .arg(ashlar_path())
}

/// Whether it was killed; else it lived to its end.
///
/// # Panics
/// When it ended without success in another way.
pub fn was_killed(finished: &Finished) -> bool {
    match finished.code {
        Some(0) => false,
        None | Some(137) => true,
        Some(_) => panic!("{finished}"),
    }
}
