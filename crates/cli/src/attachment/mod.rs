//! Volumes as block device nodes and files: the processes behind them, and what they leave.
//!
//! Each attachment is a folder under the runtime folder (`/run/ashlar` for root,
//! `$XDG_RUNTIME_DIR/ashlar` for others; `$ASHLAR_RUNTIME_DIR` overrides both):
//!
//! ```text
//!   /run/ashlar/attached/vg0-data/
//!     record    what is attached where, under which names, and by which process; locked for as
//!               long as that lives
//!     volume    the file that FUSE mounts the volume over
//! ```
//!
//! The lock, not the process number, says whether the server lives: a killed server cannot keep
//! it, and a new process with the same number does not have it. So a folder with an unlocked
//! record is what a killed server left, and whoever meets it cleans it up.

mod folder;
mod holders;
pub(crate) mod keeper;
pub(crate) mod names;
mod server;

pub(crate) use folder::{Attachment, Record, Runtime, State};
pub(crate) use holders::after_glances;
pub(crate) use server::{Claim, InUse, Place, Server, Source, check_unused, places_in_use};
