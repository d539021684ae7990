//! The text in which LVM2 keeps its metadata: lexer, parser, printer, and the tree between them.

pub mod carry;
mod lexer;
mod parser;
mod printer;
mod search;
mod tree;

pub use parser::{DEPTH_MAX, NODE_COUNT_MAX, TEXT_SIZE_MAX, parse};
pub use printer::{Printer, Style};
pub use search::until_nul;
pub use tree::{Node, Section, Value};
