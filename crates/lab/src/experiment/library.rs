//! The experiments that come with the program.

use super::spec::Experiment;
use crate::error::{Error, Kind, Result};

/// Name and text of each, by name; made from the folder when the program is built.
const TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// All of them, by name.
pub fn library() -> Result<Vec<Experiment>> {
    let texts = TEXTS.iter();
    texts
        .map(|(name, text)| Experiment::parse(name, text))
        .collect()
}

/// The one called `name`.
pub fn find(name: &str) -> Result<Experiment> {
    let Some((name, text)) = TEXTS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = TEXTS.iter().map(|(name, _)| *name).collect();
        let what = format!(
            "there is no experiment '{name}'; there are {}",
            names.join(", ")
        );
        return Err(Error::new(Kind::Unsupported, what));
    };
    Experiment::parse(name, text)
}
