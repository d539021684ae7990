//! Runs cargo-mutants over an area, and counts.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::areas::Area;
use super::arguments::Part;
use super::tree::Tree;

/// The version whose output is understood.
const VERSION: &str = "27.1.0";
/// How long the tests of a mutant may take; the slowest ones take 35 s on a busy machine.
const LIMIT: Duration = Duration::from_secs(80);
/// The same for cargo-mutants, longer: what is left behind is taken away before it ends all.
const TEST_SECONDS: &str = "85";
/// How long a build may take, the first of all included.
const BUILD_SECONDS: &str = "900";

/// What came of the mutants of an area: their names, as cargo-mutants writes them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Made {
    /// A unit test failed.
    pub(super) caught: Vec<String>,
    /// No test ended.
    pub(super) timeout: Vec<String>,
    /// An integration or end-to-end test failed, if they were asked.
    pub(super) later: Option<Vec<String>>,
    /// It does not compile.
    pub(super) unviable: Vec<String>,
    /// Nothing noticed.
    pub(super) survived: Vec<String>,
}

impl Made {
    /// Keeps those that are called `names`, wherever their lines are: cargo-mutants makes those
    /// that leave out a field of a struct whatever it is asked for.
    fn keep(&mut self, names: &[String]) {
        let is_meant = |made: &String| names.iter().any(|name| split(name) == split(made));
        for list in [
            &mut self.caught,
            &mut self.timeout,
            &mut self.unviable,
            &mut self.survived,
        ] {
            list.retain(is_meant);
        }
    }
}

/// Whether cargo-mutants is there.
pub(super) fn require(tree: &Tree) -> Result<(), String> {
    let found = tree.cargo().args(["mutants", "--version"]).output();
    let found = found.map_err(|error| format!("cargo cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&found.stdout);
    if text.trim() == format!("cargo-mutants {VERSION}") {
        return Ok(());
    }
    Err(format!(
        "cargo-mutants {VERSION} is needed: cargo install --locked cargo-mutants@{VERSION}"
    ))
}

/// Makes the mutants of `area`, and asks unit tests: those of `part`, or those that are called
/// `only`, wherever their lines are by now.
pub(super) fn run(
    tree: &Tree,
    area: &Area,
    part: Part,
    only: Option<&[String]>,
) -> Result<Made, String> {
    let output = tree.output(area.name)?;
    let mut command = tree.cargo();
    command.args(["mutants", "--in-place", "--package", area.package]);
    if let Some(names) = only {
        // Mutants that leave out a field come whatever is asked for; not from other files.
        let file = |name: &String| name.split(':').next().map(str::to_owned);
        for file in names.iter().filter_map(file).collect::<BTreeSet<_>>() {
            command.args(["--file", &file]);
        }
        for name in names {
            command.args(["--re", &exactly(name)]);
        }
    } else {
        for file in area.files {
            command.args(["--file", file]);
        }
        let shard = format!("{}/{}", part.number - 1, part.of);
        command.args(["--shard", &shard, "--sharding", "round-robin"]);
    }
    command.args(["--timeout", TEST_SECONDS, "--build-timeout", BUILD_SECONDS]);
    command.args([
        "--cargo-arg=--lib",
        &format!("--cargo-arg={}", tree.cargo_runner(LIMIT)),
    ]);
    command.arg("--output").arg(&output);
    command.args(["--", "--"]).args(area.tests);
    let status = command.status();
    let status = status.map_err(|error| format!("cargo mutants cannot be run: {error}"))?;
    // 2: some survived; 3: some took too long. Anything else is no result.
    match status.code() {
        Some(0 | 2 | 3) => {
            let mut made = read(&output.join("mutants.out"))?;
            if let Some(names) = only {
                made.keep(names);
            }
            Ok(made)
        }
        _ => Err(format!("{}: cargo mutants failed ({status})", area.name)),
    }
}

/// A regular expression for a mutant of this name, wherever its lines are by now.
pub(super) fn exactly(name: &str) -> String {
    let mut expression = String::from("^");
    let (file, what) = split(name);
    expression.push_str(&escaped(file));
    expression.push_str(":\\d+:\\d+: ");
    expression.push_str(&escaped(what));
    expression.push('$');
    expression
}

/// The file of a mutant, and what is changed in it.
pub(super) fn split(name: &str) -> (&str, &str) {
    let (place, what) = name.split_once(": ").unwrap_or((name, ""));
    (place.split(':').next().unwrap_or_default(), what)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        // Not all punctuation: "\<" is the beginning of a word.
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn read(folder: &Path) -> Result<Made, String> {
    let lines = |name: &str| -> Result<Vec<String>, String> {
        let text = match fs::read_to_string(folder.join(name)) {
            // There were no mutants at all.
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(|error| format!("{name} cannot be read: {error}"))?,
        };
        Ok(text.lines().map(str::to_owned).collect())
    };
    Ok(Made {
        caught: lines("caught.txt")?,
        timeout: lines("timeout.txt")?,
        later: None,
        unviable: lines("unviable.txt")?,
        survived: lines("missed.txt")?,
    })
}

#[cfg(test)]
mod tests;
