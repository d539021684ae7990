//! md's log of partial parity, which closes the write hole of level 5.
//!
//! Each leg has a piece of its disk for it. Before data and parity of a row are written, the leg
//! with the parity gets a header and, for each run of bytes of each row that is about to be
//! written, the *partial parity*: the sum of the data that are **not** written. After a cut the
//! parity is summed anew, from that and from what is on the legs of the data that were, old or new
//! or some of each. So what a lost leg held of the same row, and nobody wrote, is still made up
//! right. The last header counts alone: before the next one comes, all that the last one is about
//! is written, and durable.
//!
//! ```text
//!   row   D0  D1  D2  P      written: D1, P      in the log of P's leg: D0 ⊕ D2, for D1
//! ```
//!
//! `format.rs` is what stands there, `recover.rs` sums parity anew after a cut. What is written of
//! it while the array is, `raid/journal/` writes. The facts are those of the kernel's
//! `Documentation/driver-api/md/raid5-ppl.rst`, `md_p.h` and `raid5-ppl.c`.

mod format;
mod recover;

pub use format::{Entry, HEADER, Header, empty, room_for, signature, sum};
pub use recover::{Logs, Outcome, Recovery};
