//! What is to be mutated.

use super::areas::{AREAS, Area, area};

/// A run of every n-th mutant, beginning with the k-th; from 1 to n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) of: u32,
}

/// What the command line says.
#[derive(Debug)]
pub(super) enum Arguments {
    /// Mutants of these areas.
    Areas {
        areas: Vec<&'static Area>,
        part: Part,
        /// Only those that nothing found the last time.
        survivors: bool,
    },
    /// Known mistakes whose name has this in it.
    Known(String),
    /// Run this test program, until a test fails.
    UntilFailure(Vec<String>),
}

impl Arguments {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            ["--known"] => return Ok(Self::Known(String::new())),
            ["--known", word] => return Ok(Self::Known(word.to_owned())),
            ["--until-failure", ..] => return Ok(Self::UntilFailure(arguments[1..].to_vec())),
            _ => {}
        }
        let mut areas = Vec::new();
        let mut part = Part { number: 1, of: 1 };
        let mut survivors = false;
        let mut rest = words.into_iter();
        while let Some(word) = rest.next() {
            match word {
                "--help" | "-h" => return Err(help()),
                "--survivors" => survivors = true,
                "--part" => {
                    part = rest.next().and_then(part_of).ok_or_else(|| {
                        format!("--part needs two numbers, such as 1/4\n{}", usage())
                    })?;
                }
                name => areas.push(
                    area(name).ok_or_else(|| format!("'{name}' is not understood\n{}", usage()))?,
                ),
            }
        }
        if survivors && part.of > 1 {
            let why = "--survivors asks for those of the parts that are recorded";
            return Err(format!("{why}\n{}", usage()));
        }
        if areas.is_empty() {
            areas = AREAS.iter().collect();
        }
        Ok(Self::Areas {
            areas,
            part,
            survivors,
        })
    }
}

fn part_of(text: &str) -> Option<Part> {
    let (number, of) = text.split_once('/')?;
    let part = Part {
        number: number.parse().ok()?,
        of: of.parse().ok()?,
    };
    (1..=part.of).contains(&part.number).then_some(part)
}

fn usage() -> String {
    let names: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
    format!(
        "usage: cargo xtask mutate [{}]… [--part K/N] [--survivors]\n       \
         cargo xtask mutate --known [WORD]",
        names.join("|")
    )
}

fn help() -> String {
    usage()
        + "

Makes mistakes in the last commit, one by one, and runs the unit tests of the area on each; what
they do not find is asked of integration and end-to-end tests. docs/mutations.md says what came of
it; what no test found is printed.

  --part K/N     only every N-th mistake, beginning with the K-th; parts are added up
  --survivors    only what nothing found the last time, after tests were added
  --known WORD   the mistakes of xtask/src/mutate/known.txt, those with WORD in their names

Needs cargo-mutants and root."
}
