//! Checks what we depend on against `deny.toml`, without the network.
//!
//! Three questions are about the lock file and what cargo knows of the packages in it: does every
//! package come from the one registry, is none banned, does its licence leave users free. This is
//! the part of cargo-deny that we need; it reads the same file, so that either can be run.
//!
//! A fourth one is about our own: the program that people run is built without what makes
//! mistakes on purpose and without the kit of the tests.
//!
//! Does not look for security advisories, which would need a database that is fetched.

use std::fs;
use std::process::Command;

use crate::Outcome;
use crate::tidy::root;

/// `cargo xtask packages`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Outcome::Unusable("packages takes no arguments".to_owned());
    }
    match check() {
        Err(message) => Outcome::Unusable(message),
        Ok((count, problems)) if problems.is_empty() => {
            println!("packages: {count} packages, nothing found");
            Outcome::Passed
        }
        Ok((_, problems)) => {
            for problem in &problems {
                println!("{problem}");
            }
            Outcome::Failed
        }
    }
}

/// What `deny.toml` says.
struct Policy {
    licences: Vec<String>,
    banned: Vec<String>,
    registries: Vec<String>,
}

fn check() -> Result<(usize, Vec<String>), String> {
    let read = |name: &str| {
        let path = root().join(name);
        fs::read_to_string(path).map_err(|error| format!("{name} cannot be read: {error}"))
    };
    let policy = Policy::parse(&read("deny.toml")?)?;
    let (count, mut problems) = policy.check_lock(&read("Cargo.lock")?);
    problems.extend(policy.check_licences(&tree(&["--workspace", "--format", "{p}|{l}"])?));
    let program = tree(&[
        "--package",
        "ashlar-cli",
        "--edges",
        "normal",
        "--format",
        "{p}|{f}",
    ])?;
    problems.extend(check_program(&program));
    Ok((count, problems))
}

/// What `cargo tree` says, a line for each package.
fn tree(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("cargo")
        .current_dir(root())
        .args(["tree", "--locked", "--prefix", "none"])
        .args(arguments)
        .output();
    let output = output.map_err(|error| format!("cargo tree cannot be run: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo tree failed: {}", why.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What of `tree`, the packages of the program with their features, is only for tests.
fn check_program(tree: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('|') else {
            continue;
        };
        let name = package.split(' ').next().unwrap_or_default();
        let mut features = features.split([',', ' ']);
        if name == "ashlar-testkit" {
            problems.push(format!("the program contains {name}, which is for tests"));
        } else if name.starts_with("ashlar") && features.any(|feature| feature == "explore") {
            problems.push(format!("the program contains the explorers of {name}"));
        }
    }
    problems
}

impl Policy {
    fn parse(text: &str) -> Result<Self, String> {
        let policy = Policy {
            licences: strings_of(text, "[licenses]", "allow = ["),
            banned: strings_of(text, "[bans]", "deny = ["),
            registries: strings_of(text, "[sources]", "allow-registry = ["),
        };
        for (list, name) in [
            (&policy.licences, "licenses.allow"),
            (&policy.banned, "bans.deny"),
            (&policy.registries, "sources.allow-registry"),
        ] {
            if list.is_empty() {
                return Err(format!("deny.toml: {name} is missing or empty"));
            }
        }
        Ok(policy)
    }

    /// How many packages the lock file has, and which are banned or come from elsewhere.
    fn check_lock(&self, lock: &str) -> (usize, Vec<String>) {
        let mut problems = Vec::new();
        let packages: Vec<&str> = lock.split("[[package]]").skip(1).collect();
        for package in &packages {
            let name = value_of(package, "name").unwrap_or_default();
            if self.banned.iter().any(|banned| banned == name) {
                problems.push(format!("{name} is banned: deny.toml says why"));
            }
            let Some(source) = value_of(package, "source") else {
                continue;
            };
            let address = source.strip_prefix("registry+").unwrap_or(source);
            if !self.registries.iter().any(|known| known == address) {
                problems.push(format!(
                    "{name} comes from {source}, which deny.toml does not allow"
                ));
            }
        }
        (packages.len(), problems)
    }

    fn check_licences(&self, tree: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for line in tree.lines() {
            let Some((package, licence)) = line.split_once('|') else {
                continue;
            };
            let licence = licence.trim_end_matches(" (*)");
            if !self.permits(licence) {
                problems.push(format!(
                    "{package}: licence '{licence}' is not in deny.toml"
                ));
            }
        }
        problems
    }

    /// Whether a licence expression can be met with the licences we allow.
    fn permits(&self, expression: &str) -> bool {
        let spaced = expression
            .replace('(', " ( ")
            .replace(')', " ) ")
            .replace('/', " OR ");
        let tokens: Vec<&str> = spaced.split_whitespace().collect();
        let mut at = 0;
        let met = self.any_of(&tokens, &mut at);
        met && at == tokens.len()
    }

    fn any_of(&self, tokens: &[&str], at: &mut usize) -> bool {
        let mut met = self.all_of(tokens, at);
        while tokens.get(*at) == Some(&"OR") {
            *at += 1;
            met |= self.all_of(tokens, at);
        }
        met
    }

    fn all_of(&self, tokens: &[&str], at: &mut usize) -> bool {
        let mut met = self.one(tokens, at);
        while tokens.get(*at) == Some(&"AND") {
            *at += 1;
            met &= self.one(tokens, at);
        }
        met
    }

    fn one(&self, tokens: &[&str], at: &mut usize) -> bool {
        let Some(first) = tokens.get(*at) else {
            return false;
        };
        *at += 1;
        if *first == "(" {
            let met = self.any_of(tokens, at);
            *at += 1;
            return met;
        }
        let mut name = (*first).to_owned();
        if tokens.get(*at) == Some(&"WITH") {
            name = format!("{name} WITH {}", tokens.get(*at + 1).unwrap_or(&""));
            *at += 2;
        }
        self.licences.contains(&name)
    }
}

/// The quoted strings of the list that `opening` begins in `section`, comments left out.
fn strings_of(text: &str, section: &str, opening: &str) -> Vec<String> {
    let list = text
        .split_once(section)
        .and_then(|(_, rest)| rest.split_once(opening));
    let Some((_, list)) = list else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for line in list.lines() {
        let line = line.split('#').next().unwrap_or_default();
        found.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        if line.contains(']') {
            break;
        }
    }
    found
}

/// The value of `key = "value"` in one table.
fn value_of<'a>(table: &'a str, key: &str) -> Option<&'a str> {
    let line = table
        .lines()
        .find(|line| line.split(" = ").next() == Some(key))?;
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests;
