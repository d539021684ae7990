//! How densely the crates that hold the storage logic assert their own state.
//!
//! A wrong state that goes on writes a wrong disk; one that stops leaves the disk as it was. So
//! arguments, results and invariants of our own state are asserted, and this rule keeps that from
//! thinning out while code is added:
//!
//! ```text
//!   counted    assert!  assert_eq!  assert_ne!  and their debug_ forms, const ones too
//!   against    every line of production code, blank lines and comments included
//!   left out   tests, #[cfg(test)] items, and the test doubles and explorers among the sources
//! ```
//!
//! What it cannot see: whether an assertion means anything, how often it runs (a `check()` counts
//! as many as it holds, not where it is called), and what is promised by a type instead, which is
//! better. It is a floor for a crate and no goal for a file: one that only moves data has nothing
//! to assert. Never add one about bytes from a disk, a socket or a user to get there: that is a
//! panic that others can cause.

use super::finding::Finding;
use super::source::Source;

/// Assertions per 1,000 lines: of databases and storage servers that are known for it, redb has
/// 9.6 and Crucible 6.3.
const DENSITY_MIN: usize = 8;

/// The crates that decide what a disk becomes.
const CRATES: [&str; 5] = ["block", "dm", "lvm2", "ashlar", "export"];

const MACROS: [&str; 6] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
];

/// Folders and files among the sources that only tests and the lab run.
const DOUBLES: [&str; 5] = ["explore", "sim", "examples", "fake.rs", "samples.rs"];

const TEST_ONLY: &str = "#[cfg(test)]";

pub(crate) fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    for name in CRATES {
        let folder = format!("crates/{name}/src/");
        let (mut lines, mut assertions) = (0, 0);
        for source in sources {
            let inside = source.path.strip_prefix(&folder);
            if inside.is_some_and(|inside| !is_left_out(inside)) {
                let code = without_tests(source);
                lines += code.lines().count();
                assertions += count(&code);
            }
        }
        let wanted = (lines * DENSITY_MIN).div_ceil(1000);
        if assertions < wanted {
            let message = format!(
                "{assertions} assertions in {lines} lines: {DENSITY_MIN} per 1,000 lines are \
                 {wanted}; assert what the code that you added relies on"
            );
            findings.push(Finding::new(
                &format!("{folder}lib.rs"),
                1,
                "density",
                message,
            ));
        }
    }
}

/// Whether a path, from the sources of its crate on, is none of production code.
fn is_left_out(path: &str) -> bool {
    super::source::is_test(path) || path.split('/').any(|part| DOUBLES.contains(&part))
}

/// The code without what is compiled for tests only.
fn without_tests(source: &Source) -> String {
    let mut code = String::new();
    let mut rest = 0;
    while let Some(at) = source.code[rest..].find(TEST_ONLY) {
        let start = rest + at;
        code.push_str(&source.code[rest..start]);
        rest = end_of_item(source, start + TEST_ONLY.len());
    }
    code + &source.code[rest..]
}

/// Where the item that begins at `at` ends: behind its `;` or its braces.
fn end_of_item(source: &Source, mut at: usize) -> usize {
    while let Some(next) = source.code[at..].find([';', '{', '(', '[']) {
        let next = at + next;
        match source.code.as_bytes()[next] {
            b';' => return next + 1,
            b'{' => return source.closing(next),
            // Parameters, array types and further attributes.
            _ => at = source.closing(next),
        }
    }
    source.code.len()
}

fn count(code: &str) -> usize {
    let words = super::source::words(code);
    let is_assertion = |word: &&super::source::Word<'_>| {
        let behind = word.start + word.text.len();
        MACROS.contains(&word.text) && code[behind..].starts_with('!')
    };
    words.iter().filter(is_assertion).count()
}

#[cfg(test)]
mod tests;
