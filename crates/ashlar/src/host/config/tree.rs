//! Trees of settings in one form: a name that is a path is taken apart, and of several values of
//! one setting there is the last.
//!
//! ```text
//!   devices/scan = "/x"           devices {
//!   devices { scan = "/y" }   =>    scan = "/y"
//!                                 }
//! ```
//!
//! The order is stock's, since people compare what `lvmconfig` shows: in a section as it was
//! written; what is new beside sections, or comes from another file, stands behind the first.

use lvm2::text::{Node, Section, Value};

/// The tree in this form.
pub(super) fn in_form(tree: Section<'_>) -> Section<'static> {
    let mut formed = Section::default();
    put(&mut formed, tree.into_owned());
    formed
}

/// Puts what `over` has over what `tree` has; both are in this form.
pub(super) fn lay_over(tree: &mut Section<'static>, over: Section<'static>) {
    for node in over.nodes {
        match node {
            Node::Value { name, value } => set(tree, &name, value, New::Second),
            Node::Section(section) => {
                let mut there = tree.nodes.iter_mut().filter_map(|node| match node {
                    Node::Section(there) => Some(there),
                    Node::Value { .. } => None,
                });
                match there.find(|there| there.name == section.name) {
                    Some(there) => lay_over(there, section),
                    None => _ = insert(tree, Node::Section(section), New::Second),
                }
            }
        }
    }
}

/// Where in a section stands what is new there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum New {
    Last,
    Second,
}

fn put(tree: &mut Section<'static>, over: Section<'static>) {
    for node in over.nodes {
        match node {
            Node::Section(section) => {
                let target = below(tree, parts(&section.name));
                put(target, section);
            }
            Node::Value { name, value } => {
                let mut folders: Vec<&str> = parts(&name).collect();
                let Some(last) = folders.pop() else { continue };
                set(below(tree, folders.into_iter()), last, value, New::Last);
            }
        }
    }
}

/// The value at `path`, such as `devices/filter`, of a tree in this form.
pub(super) fn value<'a>(tree: &'a Section<'static>, path: &str) -> Option<&'a Value<'static>> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    section(tree, folders)?.value(name)
}

/// The section at `path` of a tree in this form.
pub(super) fn section<'a>(tree: &'a Section<'static>, path: &str) -> Option<&'a Section<'static>> {
    parts(path).try_fold(tree, |tree, name| tree.section(name))
}

/// More parts than any setting has: a tree that is deeper than the stack could not be dropped.
const PARTS_MAX: usize = 16;

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split('/')
        .filter(|part| !part.is_empty())
        .take(PARTS_MAX)
}

/// The section at a path, made where it is not there.
fn below<'a, 'p>(
    mut tree: &'a mut Section<'static>,
    path: impl Iterator<Item = &'p str>,
) -> &'a mut Section<'static> {
    for part in path {
        let is_it =
            |node: &Node<'_>| matches!(node, Node::Section(section) if section.name == part);
        let at = tree.nodes.iter().position(is_it).unwrap_or_else(|| {
            let section = Section {
                name: part.to_owned().into(),
                nodes: Vec::new(),
            };
            insert(tree, Node::Section(section), New::Last)
        });
        let Node::Section(section) = &mut tree.nodes[at] else {
            unreachable!("a section was found or made there");
        };
        tree = section;
    }
    tree
}

/// Puts a node that is new into a section, and says where.
fn insert(tree: &mut Section<'static>, node: Node<'static>, new: New) -> usize {
    let is_root = tree.name.is_empty();
    let at = match new {
        New::Last if !is_root => tree.nodes.len(),
        _ => tree.nodes.len().min(1),
    };
    tree.nodes.insert(at, node);
    assert!(at < tree.nodes.len(), "it is there");
    at
}

fn set(tree: &mut Section<'static>, name: &str, value: Value<'static>, new: New) {
    let there = tree.nodes.iter_mut().find_map(|node| match node {
        Node::Value { name: found, value } if found == name => Some(value),
        _ => None,
    });
    if let Some(there) = there {
        *there = value;
        return;
    }
    let name = name.to_owned().into();
    insert(tree, Node::Value { name, value }, new);
}

#[cfg(test)]
mod tests;
