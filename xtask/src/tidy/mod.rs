//! Rules that the compiler cannot check, each as a small function over the text of the sources.
//!
//! ```text
//!   walk     which files there are          source    code, comments and strings told apart
//!   layers   the four invariants, where unsafe may stand
//!   manifests  what packages depend on, and the picture of it
//!   limits   lengths of files and functions, width
//!   ratchet  the exceptions from the lengths, which only shrink
//!   density  assertions per 1,000 lines of the crates that hold the storage logic
//!   habits   essays, globs, leftovers, reasons, names
//! ```
//!
//! The sources are not parsed with `syn`: every rule here is about tokens, lines or matching
//! braces, and a scanner that tells code from comments and strings (150 lines) is enough for
//! that, keeps line numbers for free, sees comments (which `syn` drops) and builds in a second.
//! What it cannot see: code that a macro produces, and names that a `use … as …` has changed.

mod density;
mod finding;
mod habits;
mod layers;
mod limits;
mod manifests;
mod ratchet;
mod run;
mod source;
mod walk;

pub(crate) use run::run;
pub(crate) use walk::{git, root};
