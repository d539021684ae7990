//! Reads a metadata text into its tree.
//!
//! ```text
//!     text    := node*
//!     node    := name ( '{' node* '}' | '=' value )
//!     value   := single | '[' ( single ','? )* ']'
//! ```
//!
//! It accepts what LVM2's own reader accepts of texts that LVM2 writes, and a little more (no
//! comma between items, hexadecimal numbers). Names may repeat; all of them are kept in order.
//!
//! Promises: memory and time grow with the text and are bounded for any bytes: see the constants.
//! An error names line and column. Does not: know what the names mean.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::lexer::{Expect, Lexer, Token};
use super::tree::{Node, Section, Value};
use crate::error::{Error, Kind};

/// Longest text that is read, in bytes. A volume group of 10,000 logical volumes has 4 MiB.
pub const TEXT_SIZE_MAX: usize = 128 << 20;
/// Deepest nesting of sections. LVM2's own texts have 5.
pub const DEPTH_MAX: usize = 64;
/// Most nodes and array items in one text. Each costs the tree at most about 100 bytes besides its
/// characters, so this bounds a hostile text's tree to some 400 MB; 10,000 volumes have 300,000.
pub const NODE_COUNT_MAX: usize = 4 << 20;

/// The one key that LVM2 wrote numbers behind that do not fit (32-bit builds before 2.02.169), and
/// reads all the same. Such a time is read as the smallest number, which is none either.
const TIME: &str = "creation_time";

/// The tree of `bytes`, which end at their first NUL or with the slice. It borrows from them.
pub fn parse(bytes: &[u8]) -> Result<Section<'_>, Error> {
    if bytes.len() > TEXT_SIZE_MAX {
        let context = format!(
            "the text has {} bytes, more than the {TEXT_SIZE_MAX} that are read",
            bytes.len()
        );
        return Err(Error::new(Kind::Limit, context));
    }
    let mut parser = Parser {
        lexer: Lexer::new(bytes),
        count: 0,
        unclosed: Vec::new(),
        items: Vec::new(),
    };
    loop {
        match parser.lexer.next(Expect::Name)? {
            Token::End => break,
            token => parser.node(token, 1)?,
        }
    }
    let nodes = parser.close(0);
    debug_assert!(parser.items.is_empty(), "each list has taken its values");
    Ok(Section {
        name: Cow::default(),
        nodes,
    })
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    count: usize,
    /// The nodes of all sections that are not closed yet, one section's behind the other's. A
    /// section takes its own away when it closes, and is allocated once, as long as it is.
    unclosed: Vec<Node<'a>>,
    /// The items of the array that is not closed yet.
    items: Vec<Value<'a>>,
}

impl<'a> Parser<'a> {
    /// Reads the node that begins with `first`, at `depth` sections below the root.
    fn node(&mut self, first: Token<'a>, depth: usize) -> Result<(), Error> {
        self.count()?;
        let Token::Text(name) = first else {
            return Err(self.unexpected(&first, "a name"));
        };
        if name.is_empty() {
            return Err(self.lexer.error("a name must not be empty"));
        }
        let node = match self.lexer.next(Expect::Name)? {
            Token::Equals => {
                let value = self.value(&name)?;
                Node::Value { name, value }
            }
            Token::OpenSection => Node::Section(self.section(name, depth)?),
            other => {
                let wanted = format!("'=' or '{{' behind the name {}", shown(&name));
                return Err(self.unexpected(&other, &wanted));
            }
        };
        self.unclosed.push(node);
        Ok(())
    }

    /// Takes the nodes from `start` on.
    fn close(&mut self, start: usize) -> Vec<Node<'a>> {
        self.unclosed.drain(start..).collect()
    }

    fn section(&mut self, name: Cow<'a, str>, depth: usize) -> Result<Section<'a>, Error> {
        if depth > DEPTH_MAX {
            let what = format!("sections are nested more than {DEPTH_MAX} deep");
            return Err(self.lexer.error_of(Kind::Limit, what));
        }
        debug_assert!(self.items.is_empty(), "a list was closed before");
        let start = self.unclosed.len();
        loop {
            match self.lexer.next(Expect::Name)? {
                Token::CloseSection => break,
                Token::End => {
                    let what = format!("the text ends inside the section {}", shown(&name));
                    return Err(self.lexer.error(what));
                }
                token => self.node(token, depth + 1)?,
            }
        }
        Ok(Section {
            name,
            nodes: self.close(start),
        })
    }

    fn value(&mut self, name: &str) -> Result<Value<'a>, Error> {
        match self.lexer.next(Expect::Value)? {
            Token::OpenArray => self.array(),
            Token::Oversized if name == TIME => Ok(Value::Integer(i64::MIN)),
            token => self.single(token),
        }
    }

    /// Arrays do not stand in arrays, so the items before it are none.
    fn array(&mut self) -> Result<Value<'a>, Error> {
        debug_assert!(self.items.is_empty(), "lists do not nest");
        loop {
            match self.lexer.next(Expect::Value)? {
                Token::CloseArray => break,
                // LVM2 lets the comma be absent, and be the last thing, but not stand alone.
                Token::Comma if self.items.is_empty() => {
                    return Err(self.lexer.error("a comma needs a value in front of it"));
                }
                Token::Comma => match self.lexer.next(Expect::Value)? {
                    Token::CloseArray => break,
                    token => self.item(token)?,
                },
                token => self.item(token)?,
            }
        }
        Ok(Value::Array(self.items.drain(..).collect()))
    }

    fn item(&mut self, token: Token<'a>) -> Result<(), Error> {
        self.count()?;
        let item = self.single(token)?;
        self.items.push(item);
        Ok(())
    }

    fn single(&mut self, token: Token<'a>) -> Result<Value<'a>, Error> {
        match token {
            Token::Integer(number) => Ok(Value::Integer(number)),
            Token::Float(number) => Ok(Value::Float(number)),
            Token::Text(text) => Ok(Value::String(text)),
            Token::Oversized => Err(self
                .lexer
                .error("this number does not fit 64 bits with a sign")),
            other => Err(self.unexpected(&other, "a value")),
        }
    }

    fn count(&mut self) -> Result<(), Error> {
        debug_assert!(self.unclosed.len() <= self.count, "each node was counted");
        self.count += 1;
        if self.count > NODE_COUNT_MAX {
            let what = format!("the text has more than {NODE_COUNT_MAX} values and sections");
            return Err(self.lexer.error_of(Kind::Limit, what));
        }
        Ok(())
    }

    fn unexpected(&self, found: &Token<'_>, wanted: &str) -> Error {
        let found = match found {
            Token::OpenSection => "'{'".to_owned(),
            Token::CloseSection => "'}'".to_owned(),
            Token::OpenArray => "'['".to_owned(),
            Token::CloseArray => "']'".to_owned(),
            Token::Comma => "','".to_owned(),
            Token::Equals => "'='".to_owned(),
            Token::Text(text) => shown(text),
            Token::Integer(number) => number.to_string(),
            Token::Oversized => "a number that is too large".to_owned(),
            Token::Float(number) => shown(number),
            Token::End => "the end of the text".to_owned(),
        };
        self.lexer
            .error(format!("{found} stands where {wanted} is expected"))
    }
}

/// The beginning of a string from a disk, quoted for people.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    if start.len() < text.len() {
        format!("{start:?}…")
    } else {
        format!("{start:?}")
    }
}

#[cfg(test)]
mod tests;
