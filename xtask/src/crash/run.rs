//! Runs the subjects, one after the other.

use std::time::Instant;

use super::arguments::Arguments;
use crate::Outcome;

/// `cargo xtask crash`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let arguments = match Arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return Outcome::Unusable(message),
    };
    let mut all_well = true;
    for subject in &arguments.subjects {
        let start = Instant::now();
        match (subject.run)(&arguments) {
            Ok(well) => all_well &= well,
            Err(message) => return Outcome::Unusable(message),
        }
        println!("{}: {:.1} s", subject.name, start.elapsed().as_secs_f64());
    }
    if all_well {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}
