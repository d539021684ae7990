//! Tests of the list of states.

use super::all;

/// There are many states, each with a name of its own.
#[test]
fn states_are_many_and_named() {
    let mut names: Vec<&str> = all().iter().map(|state| state.name).collect();
    assert!(names.len() >= 40, "{}", names.len());
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all().len());
}
