//! The text in which LVM2 keeps its metadata: lexer, parser, printer, and the tree between them.

mod tree;

pub use tree::{Node, Section, Value};
