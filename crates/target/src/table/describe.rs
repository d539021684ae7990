//! A layout as people read it: one line per piece and area, indented by depth.

use std::fmt::Write;

use super::layout::{Area, Layout, PieceKind};

/// Lines after which a description stops; it is for people.
const LINES_MAX: usize = 10_000;

impl Layout {
    /// The tree in words, one line per piece and area; all numbers are bytes.
    pub fn describe(&self) -> String {
        let mut text = format!("{}: {} bytes\n", self.name(), self.size());
        let mut lines = LINES_MAX;
        describe(self, 1, &mut text, &mut lines);
        text
    }
}

fn describe(layout: &Layout, depth: usize, text: &mut String, lines: &mut usize) {
    let mut at = 0;
    for piece in layout.pieces() {
        if *lines == 0 {
            return;
        }
        let what = match &piece.kind {
            PieceKind::Linear(_) => "linear".to_owned(),
            PieceKind::Striped { chunk, areas } => {
                format!("striped {} x {chunk}", areas.len())
            }
            PieceKind::Zero => "zero".to_owned(),
            PieceKind::Error(why) => format!("error ({why})"),
        };
        line(text, lines, depth, &format!("{at}+{} {what}", piece.len));
        for area in piece.areas() {
            line(text, lines, depth + 1, &format!("{area:?}"));
            if let Area::Layout { layout, .. } = area {
                describe(layout, depth + 2, text, lines);
            }
        }
        at += piece.len;
    }
}

fn line(text: &mut String, lines: &mut usize, depth: usize, what: &str) {
    if *lines == 0 {
        return;
    }
    *lines -= 1;
    let _ = match *lines {
        0 => writeln!(text, "..."),
        _ => writeln!(text, "{:indent$}{what}", "", indent = depth * 2),
    };
}
