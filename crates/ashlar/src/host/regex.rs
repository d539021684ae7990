//! Regular expressions as LVM2's configuration and selections use them.
//!
//! The syntax is small: bytes, `.`, `[a-z]`, `[^a-z]`, `( )`, `|`, `*`, `+`, `?`, `^`, `$`, and `\`
//! before a byte that stands for itself (`\n`, `\r` and `\t` are what they are in C). A match may
//! begin and end anywhere unless the expression says otherwise.
//!
//! An expression is compiled to a list of steps, and all ways through it are followed at once, so
//! matching takes time proportional to steps × bytes, whatever the expression is: there is no
//! backtracking. A general engine from a crate would bring Unicode tables and a DFA cache for
//! expressions of twenty characters that are matched against paths.

use crate::{Error, Kind, Result};

/// Longest expression in bytes; the longest seen in the wild are lists of a few hundred.
const PATTERN_LEN_MAX: usize = 8192;
/// How deep parentheses nest: the parser recurses.
const DEPTH_MAX: u32 = 64;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Regex {
    steps: Vec<Step>,
}

/// One step; jumps are relative to the step itself.
#[derive(Debug, Clone)]
enum Step {
    Byte(ByteSet),
    AtStart,
    AtEnd,
    Jump(isize),
    Either(isize, isize),
}

/// A set of bytes.
#[derive(Debug, Clone, Copy, Default)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    fn of(byte: u8) -> Self {
        let mut set = Self::default();
        set.insert(byte);
        set
    }

    fn inverted(self) -> Self {
        Self(self.0.map(|word| !word))
    }
}

impl Regex {
    /// The invariant: no step leads out of the program, whose end is a match.
    fn check(&self) {
        for (index, step) in self.steps.iter().enumerate() {
            let leads_inside = |by: isize| {
                let to = index.checked_add_signed(by);
                to.is_some_and(|to| to <= self.steps.len())
            };
            let is_inside = match step {
                Step::Jump(by) => leads_inside(*by),
                Step::Either(one, other) => leads_inside(*one) && leads_inside(*other),
                Step::Byte(_) | Step::AtStart | Step::AtEnd => leads_inside(1),
            };
            assert!(is_inside, "a step leads to another one");
        }
    }

    /// Compiles `pattern`.
    pub fn new(pattern: &str) -> Result<Self> {
        let broken = |why: &str| {
            let what = format!("the regular expression {pattern:?} {why}");
            Error::new(Kind::Config, what)
        };
        if pattern.len() > PATTERN_LEN_MAX {
            return Err(broken("is too long"));
        }
        let mut parser = Parser {
            rest: pattern.as_bytes(),
            depth: 0,
        };
        let steps = parser.alternatives().map_err(broken)?;
        if parser.rest.is_empty() {
            assert_eq!(parser.depth, 0, "each group was closed");
            let regex = Self { steps };
            regex.check();
            Ok(regex)
        } else {
            Err(broken("has a ) without a ("))
        }
    }

    /// Whether it matches somewhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        let text = text.as_bytes();
        let mut now = Threads::new(self.steps.len());
        let mut next = Threads::new(self.steps.len());
        for at in 0..=text.len() {
            if self.follow(&mut now, 0, at, text.len()) {
                return true;
            }
            let Some(byte) = text.get(at) else { break };
            for index in 0..now.waiting.len() {
                let step = now.waiting[index];
                if matches!(&self.steps[step], Step::Byte(set) if set.contains(*byte))
                    && self.follow(&mut next, step + 1, at + 1, text.len())
                {
                    return true;
                }
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        false
    }

    /// Adds all steps that wait for a byte and can be reached from `start` without one; true if
    /// the end of the expression can be reached.
    fn follow(&self, threads: &mut Threads, start: usize, at: usize, len: usize) -> bool {
        debug_assert!(start <= self.steps.len(), "it begins in the program");
        let mut open = vec![start];
        while let Some(index) = open.pop() {
            if index == self.steps.len() {
                return true;
            }
            if std::mem::replace(&mut threads.seen[index], true) {
                continue;
            }
            match self.steps[index] {
                Step::Byte(_) => threads.waiting.push(index),
                Step::AtStart if at == 0 => open.push(index + 1),
                Step::AtEnd if at == len => open.push(index + 1),
                Step::AtStart | Step::AtEnd => {}
                Step::Jump(by) => open.push(index.strict_add_signed(by)),
                Step::Either(one, other) => {
                    open.push(index.strict_add_signed(other));
                    open.push(index.strict_add_signed(one));
                }
            }
        }
        false
    }
}

/// The steps at which a match in progress may be.
struct Threads {
    waiting: Vec<usize>,
    seen: Vec<bool>,
}

impl Threads {
    fn new(steps: usize) -> Self {
        Self {
            waiting: Vec::new(),
            seen: vec![false; steps],
        }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.seen.fill(false);
    }
}

struct Parser<'a> {
    rest: &'a [u8],
    depth: u32,
}

type Parsed<T> = std::result::Result<T, &'static str>;

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn alternatives(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = self.sequence()?;
        while self.rest.first() == Some(&b'|') {
            self.next();
            let other = self.sequence()?;
            steps.insert(0, Step::Either(1, steps.len() as isize + 2));
            steps.push(Step::Jump(other.len() as isize + 1));
            steps.extend(other);
        }
        Ok(steps)
    }

    fn sequence(&mut self) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        while let Some(first) = self.rest.first() {
            if matches!(first, b'|' | b')') {
                break;
            }
            let mut part = self.atom()?;
            while let Some(sign) = self.rest.first().copied() {
                let len = part.len() as isize;
                match sign {
                    b'*' => {
                        part.insert(0, Step::Either(1, len + 2));
                        part.push(Step::Jump(-(len + 1)));
                    }
                    b'+' => part.push(Step::Either(-len, 1)),
                    b'?' => part.insert(0, Step::Either(1, len + 1)),
                    _ => break,
                }
                self.next();
            }
            steps.extend(part);
        }
        Ok(steps)
    }

    fn atom(&mut self) -> Parsed<Vec<Step>> {
        let step = match self.next().expect("the caller saw a byte") {
            b'(' => return self.group(),
            b'[' => Step::Byte(self.set()?),
            b'.' => Step::Byte(ByteSet::default().inverted()),
            b'^' => Step::AtStart,
            b'$' => Step::AtEnd,
            b'\\' => Step::Byte(ByteSet::of(self.escaped()?)),
            b'*' | b'+' | b'?' => return Err("repeats nothing"),
            byte => Step::Byte(ByteSet::of(byte)),
        };
        Ok(vec![step])
    }

    fn group(&mut self) -> Parsed<Vec<Step>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("nests too deep");
        }
        let steps = self.alternatives()?;
        self.depth -= 1;
        match self.next() {
            Some(b')') => Ok(steps),
            _ => Err("has a ( without a )"),
        }
    }

    fn escaped(&mut self) -> Parsed<u8> {
        Ok(match self.next().ok_or("ends with a backslash")? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            byte => byte,
        })
    }

    fn set(&mut self) -> Parsed<ByteSet> {
        const OPEN: &str = "has a [ without a ]";
        let inverted = self.rest.first() == Some(&b'^');
        if inverted {
            self.next();
        }
        let mut set = ByteSet::default();
        let mut first = true;
        loop {
            let low = match self.next().ok_or(OPEN)? {
                b']' if !first => break,
                b'\\' => self.escaped()?,
                byte => byte,
            };
            first = false;
            let mut high = low;
            if let [b'-', end, ..] = self.rest
                && *end != b']'
            {
                self.next();
                high = match self.next().ok_or(OPEN)? {
                    b'\\' => self.escaped()?,
                    byte => byte,
                };
            }
            (low..=high).for_each(|byte| set.insert(byte));
        }
        Ok(if inverted { set.inverted() } else { set })
    }
}

#[cfg(test)]
mod tests;
