//! The list of exports.

use std::sync::Arc;

use crate::wire::constants::STRING_LEN_MAX;
use block::memory::MemoryDevice;

use super::{Access, Export, Exports};

fn export(name: &str, description: &str) -> Export {
    Export {
        name: name.to_owned(),
        description: description.to_owned(),
        access: Access::ReadOnly,
        device: Arc::new(MemoryDevice::new("small", 4096)),
    }
}

/// Exports come and go by their names, and clones of the list see it.
#[test]
fn exports_come_and_go() {
    let exports = Exports::new();
    let clone = exports.clone();
    let names = |exports: &Exports| -> Vec<String> {
        let list = exports.list();
        list.iter().map(|export| export.name.clone()).collect()
    };
    for name in ["a", "b", "c"] {
        exports.add(export(name, "")).expect("a new name");
    }
    exports.add(export("b", "")).expect_err("it is there");
    assert_eq!(clone.remove("b").expect("it is there").name, "b");
    assert!(clone.remove("b").is_none());
    assert_eq!(names(&exports), ["a", "c"]);
    assert_eq!(exports.find("c").expect("it is there").name, "c");
    assert!(exports.find("").is_none(), "there are two");
    exports.remove("a").expect("it is there");
    assert_eq!(exports.find("").expect("the only one").name, "c");
}

/// Names that cannot be said in the protocol are refused.
#[test]
fn names_can_be_said() {
    let longest = "x".repeat(STRING_LEN_MAX);
    let longer = "x".repeat(STRING_LEN_MAX + 1);
    for (name, description, is_good) in [
        (&*longest, &*longest, true),
        (&*longer, "", false),
        ("a", &*longer, false),
        ("", "", false),
        ("a\0", "", false),
        ("a", "\0", false),
    ] {
        let added = Exports::new().add(export(name, description));
        assert_eq!(added.is_ok(), is_good, "{name:.9?} {description:.9?}");
    }
}
