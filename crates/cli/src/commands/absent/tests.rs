//! What is said of commands that are not there.

use super::{ABSENT, refusal};
use crate::commands::catalogue::{ALL, find};

#[test]
fn a_refusal_names_only_commands_that_are_there() {
    // Proves: no absent command is one that is there, and every command that a refusal recommends
    // exists.
    for absent in ABSENT {
        for name in absent.names {
            assert!(find(name).is_none(), "{name} is there");
            assert!(refusal(name).is_some(), "{name}");
        }
        let mut rest = absent.instead;
        while let Some(at) = rest.find("ashlar ") {
            rest = &rest[at + "ashlar ".len()..];
            let named = rest.split_whitespace().next().unwrap_or_default();
            let named = named.trim_end_matches(['\'', ',', '.']);
            assert!(find(named).is_some(), "{}: {named}", absent.instead);
        }
    }
    assert!(ALL.iter().all(|command| refusal(command.name).is_none()));
    assert!(refusal("pvs").is_none());
}
