//! Picks what is compared.

use super::{damaged, judge};
use crate::Outcome;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    match arguments.split_first() {
        Some((name, rest)) if name == "damaged" => damaged::run(rest),
        Some((name, [])) if name == "document" => judge::document(),
        _ => judge::run(arguments),
    }
}
