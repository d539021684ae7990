//! The text in which LVM2 keeps its metadata: lexer, parser, printer, and the tree between them.

pub mod carry;
mod lexer;
mod printer;
mod tree;

pub use printer::{Printer, Style};
pub use tree::{Node, Section, Value};
