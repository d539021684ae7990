//! `devices/filter` and `devices/global_filter`: which devices may be looked at.
//!
//! A filter is a list of patterns, `a|regex|` to accept and `r|regex|` to reject; any byte may
//! stand for the bar, and brackets close with their counterpart. The first pattern that matches a
//! name decides for that name. A device has several names (links in `/dev`): it is accepted if
//! one of them is accepted, or if no pattern matches any of them.

use super::regex::Regex;
use crate::{Error, Kind, Result};

/// A compiled list of patterns.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    rules: Vec<(Verdict, Regex)>,
}

/// What a filter says about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be looked at.
    Accept,
    /// It is left out.
    Reject,
}

impl Filter {
    /// Compiles `patterns`; `setting` is the name of the setting that holds them, for messages.
    pub fn new<S: AsRef<str>>(setting: &str, patterns: &[S]) -> Result<Self> {
        let rules = patterns.iter().map(|pattern| {
            let pattern = pattern.as_ref();
            rule(pattern).map_err(|error| {
                let what = format!("{setting} has an invalid pattern {pattern:?}");
                Error::new(Kind::Config, what).because(error)
            })
        });
        Ok(Self {
            rules: rules.collect::<Result<_>>()?,
        })
    }

    /// The verdict on a device with these names.
    pub fn verdict<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Verdict {
        let mut verdict = Verdict::Accept;
        for name in names {
            let decides = self.rules.iter().find(|(_, regex)| regex.is_match(name));
            match decides {
                Some((Verdict::Accept, _)) => return Verdict::Accept,
                Some((Verdict::Reject, _)) => verdict = Verdict::Reject,
                None => {}
            }
        }
        verdict
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

fn rule(pattern: &str) -> Result<(Verdict, Regex)> {
    let shape = || {
        let what = "a pattern is a|regex| or r|regex|";
        Error::new(Kind::Config, what)
    };
    let verdict = match pattern.chars().next() {
        Some('a') => Verdict::Accept,
        Some('r') => Verdict::Reject,
        _ => return Err(shape()),
    };
    let mut inner = pattern[1..].chars();
    let open = inner.next().ok_or_else(shape)?;
    let close = match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        other => other,
    };
    if inner.next_back() != Some(close) {
        return Err(shape());
    }
    Ok((verdict, Regex::new(inner.as_str())?))
}

#[cfg(test)]
mod tests;
