//! The tree that a metadata text is: sections and values, in the order in which they stand.
//!
//! The tree is lossless for everything that LVM2 itself reads: the order of nodes, duplicate
//! names, integers, floats, strings and arrays. Comments are dropped when reading, as LVM2 does.
//! Bytes that are not UTF-8 are carried in the strings: see `carry`.

/// One value behind a `=`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A signed 64-bit integer (`strtoll` with base 0: decimal, `0x…`, `0…`).
    Integer(i64),
    /// A number with a point, as it was written.
    Float(String),
    /// A string without its quotes and escapes.
    String(String),
    /// `[ … ]`, possibly empty. LVM2 does not nest arrays.
    Array(Vec<Value>),
}

/// One entry of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// `name { … }`
    Section(Section),
    /// `name = value`
    Value {
        /// The name before the `=`.
        name: String,
        /// What stands behind it.
        value: Value,
    },
}

/// A named, ordered list of nodes. The root of a text is a section with an empty name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// The name before the `{`.
    pub name: String,
    /// The entries in their order.
    pub nodes: Vec<Node>,
}

impl Section {
    /// The first value called `name`.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.nodes.iter().find_map(|node| match node {
            Node::Value { name: found, value } if found == name => Some(value),
            _ => None,
        })
    }

    /// The first section called `name`.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections().find(|section| section.name == name)
    }

    /// All sections directly inside this one, in their order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Section(section) => Some(section),
            Node::Value { .. } => None,
        })
    }
}
