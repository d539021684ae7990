//! What the packages of the house depend on, as `cargo metadata` tells it, and the picture of it.
//!
//! ```text
//!   direction   a package depends only on packages below it
//!   unused      a dependency that is declared is named by the code that may use it
//!   picture     ARCHITECTURE.md and README.md show the packages as they depend on each other
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::finding::Finding;
use super::source::{Source, is_test};

/// What a package may depend on: itself and everything below it.
const BELOW: &[(&str, &[&str])] = &[
    ("block", &[]),
    ("testkit", &["block"]),
    ("lvm2", &[]),
    ("dm", &["block"]),
    ("nbd", &["block"]),
    ("export", &["block"]),
    ("ashlar", &["block", "dm", "lvm2", "nbd"]),
    ("lab", &["block", "dm", "nbd", "export", "lvm2", "ashlar"]),
    (
        "cli",
        &["block", "dm", "nbd", "export", "lvm2", "ashlar", "lab"],
    ),
];

/// Files that hold the picture.
const PICTURED: &[&str] = &["ARCHITECTURE.md", "README.md"];
/// The line in front of the picture's block of text.
const MARK: &str = "<!-- the packages, as tidy draws them -->";

/// A package, by the name of its folder.
#[derive(Debug, Default)]
struct Package {
    /// The folder under the root: `crates/dm`, `xtask`.
    folder: String,
    /// The name that the code of others says.
    name: String,
    description: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    /// The name that code says: `rustix`, `dm`, `signal_hook`.
    name: String,
    is_dev: bool,
}

/// Checks every manifest of the workspace and the pictures.
pub(super) fn check(
    root: &Path,
    sources: &[Source],
    findings: &mut Vec<Finding>,
) -> Result<(), String> {
    let packages = packages(&metadata(root)?, root)?;
    for package in &packages {
        check_direction(package, findings);
        check_unused(package, sources, findings);
    }
    let picture = picture(&packages);
    for path in PICTURED {
        let text = fs::read_to_string(root.join(path))
            .map_err(|error| format!("{path} cannot be read: {error}"))?;
        check_picture(path, &text, &picture, findings);
    }
    Ok(())
}

fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new("cargo")
        .current_dir(root)
        .args(["metadata", "--no-deps", "--locked", "--format-version", "1"])
        .output()
        .map_err(|error| format!("cargo metadata cannot be run: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata failed: {}", why.trim()));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata is not understood: {error}"))
}

fn packages(metadata: &Value, root: &Path) -> Result<Vec<Package>, String> {
    let list = metadata["packages"].as_array();
    let list = list.ok_or("cargo metadata names no packages")?;
    let mut found = Vec::new();
    for package in list {
        let path = text_of(package, "manifest_path")?;
        let folder = Path::new(path)
            .parent()
            .and_then(|folder| folder.strip_prefix(root).ok());
        let folder = folder.ok_or_else(|| format!("{path} does not lie in the repository"))?;
        let folder = folder.display().to_string();
        let mut dependencies = Vec::new();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = match dependency["rename"].as_str() {
                Some(rename) => rename,
                None => text_of(dependency, "name")?,
            };
            dependencies.push(Dependency {
                name: name.replace('-', "_"),
                is_dev: dependency["kind"].as_str() == Some("dev"),
            });
        }
        found.push(Package {
            name: folder.rsplit('/').next().unwrap_or_default().to_owned(),
            folder,
            description: text_of(package, "description")?.to_owned(),
            dependencies,
        });
    }
    Ok(found)
}

fn text_of<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value[key]
        .as_str()
        .ok_or_else(|| format!("cargo metadata: {key} is missing"))
}

fn is_ours(name: &str) -> bool {
    BELOW.iter().any(|(known, _)| *known == name)
}

fn check_direction(package: &Package, findings: &mut Vec<Finding>) {
    if !package.folder.starts_with("crates/") {
        return;
    }
    let manifest = format!("{}/Cargo.toml", package.folder);
    let Some((_, below)) = BELOW.iter().find(|(known, _)| *known == package.name) else {
        let message = format!(
            "say in xtask/src/tidy what '{}' may depend on",
            package.name
        );
        return findings.push(Finding::new(&manifest, 1, "direction", message));
    };
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        if !dependency.is_dev && is_ours(name) && !below.contains(&name) {
            let message = format!(
                "{} may not depend on {name}: it is not below it",
                package.name
            );
            findings.push(Finding::new(&manifest, 1, "direction", message));
        }
    }
}

/// A dependency must be a word of the code that may use it: of the sources for an ordinary one, of
/// any code of the package for one of the tests.
fn check_unused(package: &Package, sources: &[Source], findings: &mut Vec<Finding>) {
    let within = format!("{}/", package.folder);
    let own = sources
        .iter()
        .filter(|source| source.path.starts_with(&within));
    let mut said = BTreeSet::new();
    let mut said_in_tests = BTreeSet::new();
    for source in own {
        let path = &source.path[within.len()..];
        let is_outside = ["examples/", "end_to_end/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        let words = source.words().into_iter().map(|word| word.text.to_owned());
        if is_test(path) || is_outside {
            said_in_tests.extend(words);
        } else {
            said.extend(words);
        }
    }
    for dependency in &package.dependencies {
        let name = &dependency.name;
        if said.contains(name) || (dependency.is_dev && said_in_tests.contains(name)) {
            continue;
        }
        let message = if said_in_tests.contains(name) {
            format!("only tests name {name}: it belongs to dev-dependencies")
        } else {
            format!("nothing names {name}: remove it")
        };
        let manifest = format!("{}/Cargo.toml", package.folder);
        findings.push(Finding::new(&manifest, 1, "unused", message));
    }
}

/// The packages, the highest first, each with those that it depends on and does not reach through
/// another one, and what it is.
fn picture(packages: &[Package]) -> String {
    let ours: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .filter(|package| package.folder.starts_with("crates/"))
        .map(|package| {
            let runtime = package.dependencies.iter().filter(|one| !one.is_dev);
            let names = runtime
                .map(|one| one.name.as_str())
                .filter(|name| is_ours(name));
            (package.name.as_str(), names.collect())
        })
        .collect();
    let mut order: Vec<&str> = ours.keys().copied().collect();
    order.sort_by_key(|name| (std::cmp::Reverse(height(&ours, name)), *name));
    let rows: Vec<(&str, String)> = order
        .iter()
        .map(|name| {
            let direct: Vec<&str> = ours[name]
                .iter()
                .copied()
                .filter(|below| {
                    let others = ours[name].iter().filter(|other| other != &below);
                    !others.into_iter().any(|other| reaches(&ours, other, below))
                })
                .collect();
            (*name, direct.join(", "))
        })
        .collect();
    let name_width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let below_width = rows.iter().map(|(_, below)| below.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, below) in rows {
        let arrow = if below.is_empty() { "  " } else { "─▶" };
        let package = packages.iter().find(|package| package.name == name);
        let what = package.map_or("", |package| package.description.as_str());
        let row = format!("  {name:name_width$} {arrow} {below:below_width$}   {what}\n");
        text.push_str(&row);
    }
    text
}

/// The length of the longest way down.
fn height(ours: &BTreeMap<&str, BTreeSet<&str>>, name: &str) -> usize {
    let below = ours.get(name).into_iter().flatten();
    below
        .map(|below| height(ours, below) + 1)
        .max()
        .unwrap_or(0)
}

fn reaches(ours: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let below = ours.get(from).into_iter().flatten();
    below
        .into_iter()
        .any(|below| *below == to || reaches(ours, below, to))
}

fn check_picture(path: &str, text: &str, picture: &str, findings: &mut Vec<Finding>) {
    let expected = format!("{MARK}\n\n```text\n{picture}```\n");
    if text.contains(&expected) {
        return;
    }
    let line = text
        .lines()
        .position(|line| line == MARK)
        .map_or(1, |index| index + 1);
    let message = format!("the picture of the packages is to be:\n{expected}");
    findings.push(Finding::new(path, line, "picture", message));
}

#[cfg(test)]
mod tests;
