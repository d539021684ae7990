//! `PostMark` 1.53: many small files that live short, as on a mail server.
//!
//! ```text
//!   create `number` files
//!   `transactions` times: read a file or append to one, then create a file or delete one
//!   delete what is left
//! ```
//!
//! The stream is the real program's, operation by operation, for any settings it accepts: the same
//! generator, the same draws in the same order, the same slots of its table. The report is printed
//! as the program prints it, including its counters in single precision and its units, from counts
//! and seconds that somebody else measured or modelled. Recordings of the real program (reports
//! and digests of its system calls) are the tests.
//!
//! Does not: perform the operations, or keep what files contain.
//!
//! `settings.rs` reads and checks the configuration, `stream.rs` draws the operations from
//! the slots that `free.rs` knows, `calls.rs`
//! cuts them into system calls, `report.rs` counts them and prints, `short.rs` reads what people
//! type.

mod calls;
mod free;
mod report;
mod settings;
mod short;
mod stream;

pub use calls::Calls;
pub use report::{Counts, Report, Seconds};
pub use settings::{Buffering, Location, Settings};
pub use short::Short;
pub use stream::{Ending, File, Operation, Phase, Step, Stream};

#[cfg(test)]
mod tests;
