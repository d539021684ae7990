//! What a section holds that the model does not name: kept, in its place, and written back.
//!
//! LVM2 grows keys; a text may come from a newer version, or from a hand. Each unknown entry
//! remembers the known key in front of it and is written behind that key again:
//!
//! ```text
//!     seqno = 44
//!     colour = "red"       after = "seqno"
//!     status = [ … ]
//! ```
//!
//! Costs: where the known key in front is not written any more, the entry moves to the end of its
//! section.

use alloc::vec::Vec;

use crate::text::{Node, Value};

/// One entry that the model does not name.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// The known key in front of it; `None` at the start of the section.
    pub after: Option<&'static str>,
    /// The entry.
    pub node: Node<'static>,
}

/// The entries of a section that the model does not name, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Extras(Vec<Extra>);

impl Extras {
    /// Those of `nodes` for which `known` gives no name.
    ///
    /// `known` answers the name under which the writer writes the entry.
    pub(crate) fn collect<'a>(
        nodes: impl IntoIterator<Item = &'a Node<'a>>,
        mut known: impl FnMut(&Node<'_>) -> Option<&'static str>,
    ) -> Self {
        let mut extras = Vec::new();
        let mut after = None;
        for node in nodes {
            match known(node) {
                Some(name) => after = Some(name),
                None => extras.push(Extra {
                    after,
                    node: node.clone().into_owned(),
                }),
            }
        }
        Self(extras)
    }

    /// Values that are written: behind which known key, their names, and what they are.
    pub(crate) fn written(
        all: impl IntoIterator<Item = (&'static str, &'static str, Value<'static>)>,
    ) -> Self {
        let all = all.into_iter().map(|(after, name, value)| Extra {
            after: Some(after),
            node: Node::Value {
                name: name.into(),
                value,
            },
        });
        Self(all.collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Extra> {
        self.0.iter()
    }

    /// The value called `name`.
    pub fn value(&self, name: &str) -> Option<&Value<'static>> {
        self.0.iter().find_map(|extra| match &extra.node {
            Node::Value { name: found, value } if found == name => Some(value),
            _ => None,
        })
    }

    /// The number called `name`, if it is one and not negative.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Lets the number called `name`, if it is one, be this one.
    pub(crate) fn set_number(&mut self, name: &str, number: u64) {
        for extra in &mut self.0 {
            if let Node::Value { name: found, value } = &mut extra.node
                && found == name
                && matches!(value, Value::Integer(_))
            {
                *value = Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
            }
        }
    }

    /// The string called `name`, if it is one.
    pub fn string(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

/// The name of an entry.
pub(crate) fn name_of<'a>(node: &'a Node<'_>) -> &'a str {
    match node {
        Node::Section(section) => &section.name,
        Node::Value { name, .. } => name,
    }
}

/// Finds an entry's name among `keys`.
pub(crate) fn known_in(keys: &[&'static str], node: &Node<'_>) -> Option<&'static str> {
    let name = name_of(node);
    keys.iter().find(|key| **key == name).copied()
}
