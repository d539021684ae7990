//! Tests of the picture.

use super::{Paint, Picture};

fn picture() -> Picture {
    let mut first = vec![Some(0); 3];
    first.extend([None, Some(1)]);
    first.resize(50, None);
    Picture {
        names: vec!["data".to_owned(), "root".to_owned()],
        disks: vec![("a".to_owned(), first), ("bb".to_owned(), vec![Some(1); 2])],
    }
}

/// One letter for an extent, lines of equal length, and a list of what the letters mean.
#[test]
fn extents_are_letters() {
    let dots = ".".repeat(43);
    let expected =
        format!("a     0  AAA.B{dots}\n     48  ..\nbb    0  BB\n\nA data  B root\n. free\n");
    assert_eq!(picture().draw(Paint::Plain), expected);
}

/// Colours add escape sequences and change nothing else.
#[test]
fn colours_only_add() {
    let mut plain = String::new();
    let coloured = picture().draw(Paint::Colours);
    for (index, part) in coloured.split('\x1b').enumerate() {
        let text = if index == 0 {
            part
        } else {
            part.split_once('m').expect("an escape sequence ends").1
        };
        plain.push_str(text);
    }
    assert_eq!(plain, picture().draw(Paint::Plain));
    assert_ne!(plain, coloured);
}
