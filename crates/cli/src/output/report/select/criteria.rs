//! Criteria that have been understood, and whether a row meets them.

use std::cmp::Ordering;

use super::parse::{SelectionError, parse};
use crate::output::report::Zone;
use crate::output::report::columns::{Fields, Lookup};
use crate::output::report::field::Field;
use crate::output::report::value::{Key, Value};
use ashlar::host::Regex;

/// Criteria of `-S`.
#[derive(Debug)]
pub(crate) struct Selection {
    root: Node,
}

#[derive(Debug)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Test(&'static Field, Test),
    /// Empty criteria.
    Always,
}

/// What is asked of one field.
#[derive(Debug)]
pub(super) enum Test {
    Text {
        text: String,
        wanted: Wanted,
    },
    Regex {
        regex: Regex,
        wanted: Wanted,
    },
    List {
        items: Vec<String>,
        rule: ListRule,
        wanted: Wanted,
    },
    /// Numbers are compared with an interval whose ends may be the same.
    Number {
        compare: Compare,
        low: f64,
        high: f64,
    },
    /// A word for one exact number.
    Exactly {
        number: u64,
        wanted: Wanted,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Match,
    Mismatch,
}

impl Wanted {
    fn holds(self, matched: bool) -> bool {
        matched == (self == Self::Match)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListRule {
    /// `[a,b]`: these and no others.
    Exactly,
    /// `{a,b}`: all of these, perhaps others.
    All,
    /// `{a||b}`: at least one of these.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Selection {
    /// Reads criteria; `prefix` is that of the report, `now` and `zone` give words like
    /// `yesterday` a meaning.
    pub(crate) fn parse(
        criteria: &str,
        fields: Fields,
        prefix: &str,
        now: i64,
        zone: &Zone,
    ) -> Result<Self, SelectionError> {
        let root = parse(criteria, Lookup { fields, prefix }, now, zone)?;
        Ok(Self { root })
    }

    /// The fields that the criteria look at.
    pub(crate) fn fields(&self) -> Vec<&'static Field> {
        let mut found = Vec::new();
        self.root.collect(&mut found);
        found
    }

    /// Whether a row meets the criteria.
    pub(crate) fn matches(&self, read: &mut impl FnMut(&'static Field) -> Value) -> bool {
        self.root.holds(read)
    }
}

impl Node {
    fn collect(&self, found: &mut Vec<&'static Field>) {
        match self {
            Self::All(nodes) | Self::Any(nodes) => {
                for node in nodes {
                    node.collect(found);
                }
            }
            Self::Not(node) => node.collect(found),
            Self::Test(field, _) => found.push(field),
            Self::Always => {}
        }
    }

    fn holds(&self, read: &mut impl FnMut(&'static Field) -> Value) -> bool {
        match self {
            Self::All(nodes) => nodes.iter().all(|node| node.holds(read)),
            Self::Any(nodes) => nodes.iter().any(|node| node.holds(read)),
            Self::Not(node) => !node.holds(read),
            Self::Test(field, test) => test.holds(&read(field)),
            Self::Always => true,
        }
    }
}

impl Test {
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Text { text, wanted } => wanted.holds(value.compared_text() == text),
            Self::Regex { regex, wanted } => wanted.holds(regex.is_match(value.compared_text())),
            Self::List {
                items,
                rule,
                wanted,
            } => wanted.holds(list_holds(value, items, *rule)),
            Self::Number { compare, low, high } => {
                let number = value.compared_number();
                // What does not exist is neither small nor large.
                if number == super::super::value::UNDEFINED {
                    return *compare == Compare::Different;
                }
                compare.holds(number as f64, *low, *high)
            }
            Self::Exactly { number, wanted } => wanted.holds(value.compared_number() == *number),
        }
    }
}

impl Compare {
    fn holds(self, number: f64, low: f64, high: f64) -> bool {
        let below = number.total_cmp(&low) == Ordering::Less;
        let above = number.total_cmp(&high) == Ordering::Greater;
        match self {
            Self::Equal => !below && !above,
            Self::Different => below || above,
            Self::Less => below,
            Self::LessOrEqual => !above,
            Self::Greater => above,
            Self::GreaterOrEqual => !below,
        }
    }
}

fn list_holds(value: &Value, items: &[String], rule: ListRule) -> bool {
    let own = [value.text.clone().into_owned()];
    let has: &[String] = match &value.key {
        Key::List(has) => has,
        _ if value.text.is_empty() => &[],
        _ => &own,
    };
    // No items, or one empty one, ask for an empty list.
    if items.iter().all(String::is_empty) {
        return has.is_empty();
    }
    match rule {
        ListRule::Exactly => {
            items.iter().all(|item| has.contains(item)) && has.iter().all(|own| items.contains(own))
        }
        ListRule::All => items.iter().all(|item| has.contains(item)),
        ListRule::Any => items.iter().any(|item| has.contains(item)),
    }
}
