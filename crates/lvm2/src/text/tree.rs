//! The tree that a metadata text is: sections and values, in the order in which they stand.
//!
//! The tree is lossless for everything that LVM2 itself reads: the order of nodes, duplicate
//! names, integers, floats, strings and arrays. Comments are dropped when reading, as LVM2 does.
//! Bytes that are not UTF-8 are carried in the strings: see `carry`.
//!
//! A tree borrows its strings from the text wherever they stand there as they are, which is nearly
//! everywhere: a text of a thousand volumes has thirty thousand names. `into_owned` makes one
//! that outlives its text.

use alloc::borrow::Cow;
use alloc::vec::Vec;

/// One value behind a `=`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// A signed 64-bit integer (`strtoll` with base 0: decimal, `0x…`, `0…`).
    Integer(i64),
    /// A number with a point, as it was written.
    Float(Cow<'a, str>),
    /// A string without its quotes and escapes.
    String(Cow<'a, str>),
    /// `[ … ]`, possibly empty. LVM2 does not nest arrays.
    Array(Vec<Value<'a>>),
}

/// One entry of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Node<'a> {
    /// `name { … }`
    Section(Section<'a>),
    /// `name = value`
    Value {
        /// The name before the `=`.
        name: Cow<'a, str>,
        /// What stands behind it.
        value: Value<'a>,
    },
}

/// A named, ordered list of nodes. The root of a text is a section with an empty name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section<'a> {
    /// The name before the `{`.
    pub name: Cow<'a, str>,
    /// The entries in their order.
    pub nodes: Vec<Node<'a>>,
}

impl Value<'_> {
    /// The same, with strings of its own.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Integer(number) => Value::Integer(number),
            Self::Float(number) => Value::Float(owned(number)),
            Self::String(text) => Value::String(owned(text)),
            Self::Array(values) => {
                Value::Array(values.into_iter().map(Value::into_owned).collect())
            }
        }
    }
}

impl Node<'_> {
    /// The same, with strings of its own.
    pub fn into_owned(self) -> Node<'static> {
        match self {
            Self::Section(section) => Node::Section(section.into_owned()),
            Self::Value { name, value } => Node::Value {
                name: owned(name),
                value: value.into_owned(),
            },
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl<'a> Section<'a> {
    /// The same, with strings of its own.
    pub fn into_owned(self) -> Section<'static> {
        Section {
            name: owned(self.name),
            nodes: self.nodes.into_iter().map(Node::into_owned).collect(),
        }
    }

    /// The first value called `name`.
    pub fn value(&self, name: &str) -> Option<&Value<'a>> {
        self.nodes.iter().find_map(|node| match node {
            Node::Value { name: found, value } if found == name => Some(value),
            _ => None,
        })
    }

    /// The first section called `name`.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections().find(|section| section.name == name)
    }

    /// All sections directly inside this one, in their order.
    pub fn sections(&self) -> impl Iterator<Item = &Section<'a>> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Section(section) => Some(section),
            Node::Value { .. } => None,
        })
    }
}
