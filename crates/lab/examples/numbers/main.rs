//! The numbers that the lab has to reach, one line each: `numbers [--quick] [PART…]`.
//!
//! ```text
//!   case <tab> unit <tab> value <tab> goal          goal: <= x , >= x , x..y
//! ```
//!
//! `cargo xtask bench lab` runs it and says which goals hold. With `--quick` every number is still
//! worked out, from so little that it means nothing.

use std::error::Error;

mod calibration;
mod closed;
mod digest;
mod drives;
mod postmark;
mod prediction;
mod row;
mod servers;
mod speed;

#[path = "../shared/fixtures.rs"]
mod fixtures;
#[path = "../shared/library.rs"]
mod library;
#[path = "../shared/outstanding.rs"]
mod outstanding;

use row::Effort;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What prints a part of the numbers.
type Part = (&'static str, fn(Effort) -> Result<()>);

/// What measures wall time goes first: it is short, and the machine is still as it was found.
const PARTS: [Part; 8] = [
    ("speed", speed::rows),
    ("postmark", postmark::rows),
    ("closed", closed::rows),
    ("servers", servers::rows),
    ("calibration", calibration::rows),
    ("drives", drives::rows),
    ("digest", digest::rows),
    ("prediction", prediction::rows),
];

fn main() -> Result<()> {
    let (flags, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with('-'));
    let known = |name: &String| PARTS.iter().any(|part| part.0 == *name);
    if flags.iter().any(|flag| flag != "--quick") || !names.iter().all(known) {
        let parts = PARTS.map(|part| part.0).join(", ");
        return Err(format!("usage: numbers [--quick] [PART…], parts: {parts}").into());
    }
    let effort = if flags.is_empty() {
        Effort::Full
    } else {
        Effort::Smoke
    };
    for (name, rows) in PARTS {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            rows(effort)?;
        }
    }
    Ok(())
}
