//! What dbench is told.

use std::fmt;
use std::sync::Arc;

use super::load::Load;
use super::stream::stream;
use super::synthetic::synthetic;
use crate::workload::InputError;
use crate::workload::program::{Call, Stream};

/// Requests of each client at most that are made up.
const REQUESTS_MAX: u64 = 2_000_000;

/// Where the requests come from.
#[derive(Clone)]
pub enum Requests {
    /// So many are made up, with dbench's mix.
    Synthetic(u64),
    /// They were read from a file.
    Loaded(Arc<Load>),
}

/// Whether each write has to be on the disk at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writes {
    /// It may wait in memory.
    #[default]
    Cached,
    /// It has to: `dbench -F`.
    Synced,
}

/// What dbench is told.
#[derive(Debug, Clone)]
pub struct Dbench {
    /// What each client asks for.
    pub requests: Requests,
    /// Clients.
    pub clients: u32,
    /// What becomes of writes.
    pub writes: Writes,
}

impl Dbench {
    /// The calls of a run; the seed draws what is made up.
    pub fn stream(&self, seed: u64) -> Result<Stream, InputError> {
        let stream = match &self.requests {
            Requests::Synthetic(0) => Err(InputError::new(0, "requests", "at least 1")),
            Requests::Synthetic(count) if *count > REQUESTS_MAX => {
                let what = format!("at most {REQUESTS_MAX}");
                Err(InputError::new(0, "requests", what))
            }
            Requests::Synthetic(count) => stream(synthetic(*count, seed), self.clients),
            Requests::Loaded(load) => stream(Load::clone(load), self.clients),
        }?;
        Ok(match self.writes {
            Writes::Cached => stream,
            Writes::Synced => Box::new(stream.flat_map(|call| {
                let synced = match call {
                    Call::Write { file, .. } => Some(Call::Fsync { file }),
                    _ => None,
                };
                [Some(call), synced].into_iter().flatten()
            })),
        })
    }
}

/// Says which requests they are without listing them.
impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synthetic(count) => write!(f, "Synthetic({count})"),
            Self::Loaded(load) => {
                let counts = load.counts();
                write!(
                    f,
                    "Loaded({} requests, {} bytes read, {} written, {} paths)",
                    load.requests.len(),
                    counts.read_bytes,
                    counts.written_bytes,
                    load.paths.len()
                )
            }
        }
    }
}
