//! The tree of files that is installed: the binary, and what it says of itself in other forms.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::run::copy_file;
use crate::tidy::root;

/// Where each shell looks for what completes words.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "usr/share/bash-completion/completions/ashlar"),
    ("zsh", "usr/share/zsh/vendor-completions/_ashlar"),
    ("fish", "usr/share/fish/vendor_completions.d/ashlar.fish"),
];
/// What of the repository is installed as it is.
const COPIED: &[(&str, &str)] = &[
    (
        "packaging/ashlar-activation.service",
        "usr/lib/systemd/system/ashlar-activation.service",
    ),
    (
        "packaging/ashlar@.service",
        "usr/lib/systemd/system/ashlar@.service",
    ),
    (
        "packaging/ashlar@.socket",
        "usr/lib/systemd/system/ashlar@.socket",
    ),
    (
        "packaging/run-ashlar-attached-.mount.conf",
        "usr/lib/systemd/system/run-ashlar-attached-.mount.d/ashlar.conf",
    ),
    ("README.md", "usr/share/doc/ashlar/README.md"),
    ("SECURITY.md", "usr/share/doc/ashlar/SECURITY.md"),
    ("docs/cookbook.md", "usr/share/doc/ashlar/cookbook.md"),
    ("CHANGELOG.md", "usr/share/doc/ashlar/changelog"),
];
/// What Debian wants to know of the terms.
const LICENCES: &[&str] = &["LICENSE-MIT", "LICENSE-APACHE"];

/// Puts everything below `tree`, which is empty.
pub(super) fn lay_out(binary: &Path, tree: &Path) -> Result<(), String> {
    let program = tree.join("usr/bin/ashlar");
    copy_file(binary, &program)?;
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&program, mode).map_err(|error| error.to_string())?;
    let pages = tree.join("usr/share/man/man8");
    said(&program, &["help", "--man", &pages.display().to_string()])?;
    for entry in fs::read_dir(&pages).map_err(|error| error.to_string())? {
        let page = entry.map_err(|error| error.to_string())?.path();
        compress(&page)?;
    }
    for (shell, place) in COMPLETIONS {
        let script = said(&program, &["help", "--completion", shell])?;
        write(&tree.join(place), &script)?;
    }
    for (from, to) in COPIED {
        copy_file(&root().join(from), &tree.join(to))?;
    }
    compress(&tree.join("usr/share/doc/ashlar/changelog"))?;
    let mut terms = Vec::new();
    for name in LICENCES {
        let text = fs::read(root().join(name)).map_err(|error| format!("{name}: {error}"))?;
        terms.extend_from_slice(&text);
        terms.extend_from_slice(b"\n\n");
    }
    write(&tree.join("usr/share/doc/ashlar/copyright"), &terms)
}

/// What the program prints.
fn said(program: &Path, words: &[&str]) -> Result<Vec<u8>, String> {
    let shown = format!("{} {}", program.display(), words.join(" "));
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown}: {}", why.trim()));
    }
    Ok(output.stdout)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().expect("it is in a directory");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Replaces a file by its compressed form, without name and time in it.
fn compress(path: &Path) -> Result<(), String> {
    let status = Command::new("gzip")
        .args(["-9", "-n", "-f"])
        .arg(path)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("gzip {}: {status}", path.display())),
        Err(error) => Err(format!("gzip cannot be run: {error}")),
    }
}
