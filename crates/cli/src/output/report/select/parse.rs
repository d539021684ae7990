//! Criteria as text, and what is wrong with them.

use std::fmt;

use super::criteria::{Compare, ListRule, Node, Test, Wanted};
use super::moment;
use crate::args::{bytes, meant};
use crate::output::report::Zone;
use crate::output::report::columns::Lookup;
use crate::output::report::field::{Field, FieldKind};
use crate::output::report::value::{AUTO, UNDEFINED};
use ashlar::host::Regex;

/// Parentheses recurse; nobody needs more.
const DEPTH_MAX: usize = 64;

/// Criteria that cannot be understood: what is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SelectionError {
    /// The list of fields and operators was asked for.
    Help,
    /// What is said with nothing behind it.
    Plain(String),
    /// Anything else.
    Syntax {
        /// What is wrong.
        message: String,
        /// The rest of the criteria from where it is wrong.
        at: String,
    },
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Help => f.write_str("the list of fields was asked for"),
            Self::Plain(message) => f.write_str(message),
            Self::Syntax { message, at } => {
                write!(f, "{message}\nSelection syntax error at '{at}'.\n")?;
                f.write_str("Use 'help' for selection to get more help.")
            }
        }
    }
}

impl std::error::Error for SelectionError {}

pub(super) fn parse(
    criteria: &str,
    lookup: Lookup<'_>,
    now: i64,
    zone: &Zone,
) -> Result<Node, SelectionError> {
    let mut parser = Parser {
        all: criteria,
        rest: criteria,
        lookup,
        now,
        zone,
        depth: 0,
    };
    parser.skip_space();
    if matches!(parser.rest.trim(), "help" | "?") {
        return Err(SelectionError::Help);
    }
    if parser.rest.is_empty() || parser.rest == "all" {
        return Ok(Node::Always);
    }
    let root = parser.any()?;
    parser.skip_space();
    if parser.rest.is_empty() {
        Ok(root)
    } else {
        Err(parser.error("Expecting logical operator"))
    }
}

#[derive(Clone, Copy)]
enum Operator {
    Matches(Wanted),
    Compares(Compare),
}

struct Parser<'a> {
    all: &'a str,
    rest: &'a str,
    lookup: Lookup<'a>,
    now: i64,
    zone: &'a Zone,
    depth: usize,
}

impl Parser<'_> {
    fn error(&self, message: impl Into<String>) -> SelectionError {
        SelectionError::Syntax {
            message: message.into(),
            at: self.rest.to_owned(),
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, tokens: &[&str]) -> bool {
        self.skip_space();
        for token in tokens {
            if let Some(rest) = self.rest.strip_prefix(token) {
                self.rest = rest;
                return true;
            }
        }
        false
    }

    fn any(&mut self) -> Result<Node, SelectionError> {
        let mut nodes = vec![self.all_of()?];
        while self.eat(&["||", "#"]) {
            nodes.push(self.all_of()?);
        }
        Ok(if nodes.len() == 1 {
            nodes.remove(0)
        } else {
            Node::Any(nodes)
        })
    }

    fn all_of(&mut self) -> Result<Node, SelectionError> {
        let mut nodes = vec![self.term()?];
        while self.eat(&["&&", ","]) {
            nodes.push(self.term()?);
        }
        Ok(if nodes.len() == 1 {
            nodes.remove(0)
        } else {
            Node::All(nodes)
        })
    }

    fn term(&mut self) -> Result<Node, SelectionError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error("Too many nested parentheses"));
        }
        let node = if self.eat(&["!"]) {
            if !self.eat(&["("]) {
                return Err(self.error("Syntax error: left parenthesis expected"));
            }
            Node::Not(Box::new(self.closed()?))
        } else if self.eat(&["("]) {
            self.closed()?
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn closed(&mut self) -> Result<Node, SelectionError> {
        let node = self.any()?;
        if self.eat(&[")"]) {
            Ok(node)
        } else {
            let rest = self.rest;
            let message = format!("Syntax error: right parenthesis expected at '{rest}'");
            Err(SelectionError::Plain(message))
        }
    }

    fn test(&mut self) -> Result<Node, SelectionError> {
        self.skip_space();
        let start = self.rest;
        let end = start.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, rest) = start.split_at(end.unwrap_or(start.len()));
        if name.is_empty() {
            return Err(self.error("Expecting field name"));
        }
        let Some(field) = self.lookup.field(name) else {
            let known = self
                .lookup
                .fields
                .iter()
                .copied()
                .flatten()
                .map(|field| field.name);
            let hint = meant(name, known);
            let message = format!("Unrecognised selection field: {name}{hint}");
            return Err(error_at(start, message));
        };
        self.rest = rest;
        let operator = self.operator(field)?;
        self.skip_space();
        let test = match (field.kind, operator) {
            (FieldKind::Text, Operator::Matches(wanted)) => {
                let unread = |error| match error {
                    SelectionError::Syntax { message, .. } => {
                        let name = field.name;
                        let what = "Failed to parse regex value for selection field";
                        error_at(start, format!("{message}\n  {what} {name}."))
                    }
                    other => other,
                };
                self.regex(wanted).map_err(unread)?
            }
            (FieldKind::Text, Operator::Compares(compare)) => {
                let wanted = equality(field, compare)?;
                self.text_test(field, wanted)?
            }
            (FieldKind::List, Operator::Compares(compare)) => {
                let wanted = equality(field, compare)?;
                self.list(field, wanted)?
            }
            (FieldKind::Time, Operator::Compares(compare)) => self.time(field, compare, start)?,
            (_, Operator::Compares(compare)) => self.number(field, compare, start)?,
            (_, Operator::Matches(_)) => return Err(incompatible(field)),
        };
        Ok(Node::Test(field, test))
    }

    fn operator(&mut self, field: &Field) -> Result<Operator, SelectionError> {
        const SYMBOLS: [(&str, Operator); 8] = [
            ("=~", Operator::Matches(Wanted::Match)),
            ("!~", Operator::Matches(Wanted::Mismatch)),
            ("!=", Operator::Compares(Compare::Different)),
            (">=", Operator::Compares(Compare::GreaterOrEqual)),
            ("<=", Operator::Compares(Compare::LessOrEqual)),
            ("=", Operator::Compares(Compare::Equal)),
            (">", Operator::Compares(Compare::Greater)),
            ("<", Operator::Compares(Compare::Less)),
        ];
        const WORDS: [(&str, Operator); 4] = [
            ("since", Operator::Compares(Compare::GreaterOrEqual)),
            ("after", Operator::Compares(Compare::Greater)),
            ("until", Operator::Compares(Compare::LessOrEqual)),
            ("before", Operator::Compares(Compare::Less)),
        ];
        for (symbol, operator) in SYMBOLS {
            if self.eat(&[symbol]) {
                return Ok(operator);
            }
        }
        if field.kind == FieldKind::Time {
            for (word, operator) in WORDS {
                if self.eat(&[word]) {
                    return Ok(operator);
                }
            }
        }
        Err(self.error(format!(
            "Unrecognised comparison operator after field {}",
            field.name
        )))
    }

    /// A word in quotes, or up to where a bare word ends.
    fn word(&mut self, closers: &[char]) -> Result<String, SelectionError> {
        if let Some(quote @ ('"' | '\'')) = self.rest.chars().next() {
            return self.delimited(quote);
        }
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            let rest = &self.rest[at..];
            let operator = rest.starts_with("&&") || rest.starts_with("||");
            if c.is_whitespace() || operator || matches!(c, ',' | '#' | ')') || closers.contains(&c)
            {
                end = at;
                break;
            }
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(word.to_owned())
    }

    fn delimited(&mut self, close: char) -> Result<String, SelectionError> {
        let inner = &self.rest[1..];
        match inner.split_once(close) {
            Some((word, rest)) => {
                self.rest = rest;
                Ok(word.to_owned())
            }
            None => Err(self.error("Missing end quote.")),
        }
    }

    fn regex(&mut self, wanted: Wanted) -> Result<Test, SelectionError> {
        let start = self.rest;
        let pattern = match self.rest.chars().next() {
            Some('(') => self.delimited(')')?,
            Some('{') => self.delimited('}')?,
            Some('[') => self.delimited(']')?,
            _ => self.word(&[])?,
        };
        let regex = Regex::new(&pattern).map_err(|error| error_at(start, error.to_string()))?;
        Ok(Test::Regex { regex, wanted })
    }

    fn text_test(&mut self, field: &Field, wanted: Wanted) -> Result<Test, SelectionError> {
        let start = self.rest;
        let word = self.word(&[])?;
        if word.is_empty() && self.rest.len() == start.len() {
            return Err(self.error(format!("Failed to parse value of field {}", field.name)));
        }
        let text = synonym(field, &word).map_or(word, str::to_owned);
        Ok(Test::Text { text, wanted })
    }

    fn list(&mut self, field: &Field, wanted: Wanted) -> Result<Test, SelectionError> {
        let (close, mut rule) = match self.rest.chars().next() {
            Some('[') => (']', ListRule::Exactly),
            Some('{') => ('}', ListRule::All),
            _ => {
                let items = vec![self.word(&[])?];
                return Ok(Test::List {
                    items,
                    rule: ListRule::All,
                    wanted,
                });
            }
        };
        let start = self.rest;
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        let mut separator = None;
        loop {
            self.skip_space();
            if self.rest.starts_with(close) {
                break;
            }
            items.push(self.word(&[close])?);
            self.skip_space();
            let found = ["&&", "||", ",", "#"]
                .into_iter()
                .find(|s| self.rest.starts_with(s));
            let Some(found) = found else { break };
            let any = matches!(found, "||" | "#");
            if separator.is_some_and(|before| before != any) {
                return Err(error_at(
                    self.all,
                    format!(
                        "Only one type of logical operator allowed in selection list at a time.\n  \
                         Failed to parse string list value for selection field {}.",
                        field.name
                    ),
                ));
            }
            separator = Some(any);
            self.rest = &self.rest[found.len()..];
        }
        if !self.eat(&[&close.to_string()]) {
            return Err(error_at(
                start,
                format!("Missing {close} at the end of the list"),
            ));
        }
        if separator == Some(true) {
            rule = ListRule::Any;
        }
        Ok(Test::List {
            items,
            rule,
            wanted,
        })
    }

    fn number(
        &mut self,
        field: &Field,
        compare: Compare,
        start: &str,
    ) -> Result<Test, SelectionError> {
        let word = self.word(&[])?;
        if let Some(number) = reserved(field, &word) {
            let wanted = equality(field, compare)?;
            return Ok(Test::Exactly { number, wanted });
        }
        let failed = || {
            let name = field.name;
            error_at(
                start,
                format!("Failed to parse numeric value for selection field {name}."),
            )
        };
        if field.kind == FieldKind::Size {
            let number = bytes(&word, 'm').map_err(|_| failed())? as f64;
            return Ok(Test::Number {
                compare,
                low: number,
                high: number,
            });
        }
        let end = word
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(word.len());
        let (digits, suffix) = word.split_at(end);
        let number: f64 = digits.parse().map_err(|_| failed())?;
        let number = match (field.kind, suffix) {
            (FieldKind::Percent, "" | "%") => number * PERCENT,
            (_, "") => number.trunc(),
            (_, _) => {
                return Err(error_at(
                    start,
                    format!(
                        "Found size unit specifier but numeric value expected for selection field \
                         {}.",
                        field.name
                    ),
                ));
            }
        };
        Ok(Test::Number {
            compare,
            low: number,
            high: number,
        })
    }

    fn time(
        &mut self,
        field: &Field,
        compare: Compare,
        start: &str,
    ) -> Result<Test, SelectionError> {
        let word = self.word(&[])?;
        if word == "undefined" || word == "unknown" {
            let wanted = equality(field, compare)?;
            return Ok(Test::Exactly {
                number: UNDEFINED,
                wanted,
            });
        }
        let interval = moment::interval(&word, self.now, self.zone).ok_or_else(|| {
            let name = field.name;
            error_at(
                start,
                format!("Failed to parse time value \"{word}\" for selection field {name}."),
            )
        })?;
        let (low, high) = (interval.first as f64, interval.last as f64);
        Ok(Test::Number { compare, low, high })
    }
}

fn equality(field: &Field, compare: Compare) -> Result<Wanted, SelectionError> {
    match compare {
        Compare::Equal => Ok(Wanted::Match),
        Compare::Different => Ok(Wanted::Mismatch),
        _ => Err(incompatible(field)),
    }
}

fn incompatible(field: &Field) -> SelectionError {
    let (name, kind) = (field.name, field.kind.name());
    SelectionError::Plain(format!(
        "dm_report: incompatible comparison type for selection field {name}, which is a {kind}"
    ))
}

fn error_at(at: &str, message: impl Into<String>) -> SelectionError {
    SelectionError::Syntax {
        message: message.into(),
        at: at.to_owned(),
    }
}

/// What one per cent is in the key of a percentage.
const PERCENT: f64 = 1_000_000.0;

/// Words that stand for a number.
fn reserved(field: &Field, word: &str) -> Option<u64> {
    match (field.kind, word) {
        (_, "-1" | "unknown" | "undefined" | "undef") => Some(UNDEFINED),
        (FieldKind::Binary(_), "yes") => Some(1),
        (FieldKind::Binary(_), "no") | (FieldKind::Number, "unmanaged") => Some(0),
        (FieldKind::Binary(words), word) if words.contains(&word) => Some(1),
        (FieldKind::Size, "auto") => Some(AUTO),
        _ => None,
    }
}

/// The printed form of a word that has several.
fn synonym(field: &Field, word: &str) -> Option<&'static str> {
    if !field.name.ends_with("_permissions") {
        return None;
    }
    match word {
        "rw" | "read-write" | "writeable" => Some("writeable"),
        "r" | "ro" | "read-only" => Some("read-only"),
        _ => None,
    }
}
