//! Profiles: files of settings for one command, or kept with a group or a volume.
//!
//! ```text
//!   DIR/NAME.profile      DIR: config/profile_dir, else `profile` beside lvm.conf
//!   command profile       stronger than the files, weaker than --config
//!   metadata profile      a name in the metadata; what stands in it concerns thin pools, caches
//!                         and VDO, none of which are made here, so that only its name counts
//! ```
//!
//! A profile may hold only settings that the table marks for its kind; another is refused.

use std::path::PathBuf;

use lvm2::text::{Node, Section};

use super::check::known;
use super::files::read_file;
use super::{Config, keys};
use crate::{Error, Kind, Result};

/// What a profile is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// One run of a command.
    Command,
    /// A group or a volume.
    Metadata,
}

impl ProfileKind {
    /// Its word in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Metadata => "metadata",
        }
    }

    /// Its mark in the table of settings.
    fn mark(self) -> &'static str {
        match self {
            Self::Command => "command-profile",
            Self::Metadata => "metadata-profile",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Command => Self::Metadata,
            Self::Metadata => Self::Command,
        }
    }
}

impl Config {
    /// Puts a command profile over the files.
    ///
    /// # Errors
    ///
    /// As [`Self::profile`].
    pub fn add_profile(&mut self, kind: ProfileKind, name: &str) -> Result<()> {
        let profile = self.profile(kind, name)?;
        assert!(self.text_count <= self.layers.len(), "texts are layers");
        self.layers.insert(self.text_count, profile);
        self.text_count += 1;
        Ok(())
    }

    /// The settings of a profile.
    ///
    /// # Errors
    ///
    /// `Config`, in stock's words: it is not there, cannot be parsed, or holds what such a profile
    /// may not hold.
    pub fn profile(&self, kind: ProfileKind, name: &str) -> Result<Section<'static>> {
        let what = kind.name();
        let refused = |why: String, done: &str| {
            Error::new(
                Kind::Config,
                format!("{why}\nFailed to {done} {what} profile {name}."),
            )
        };
        if name.is_empty() {
            return Err(refused("Undefined profile name.".to_owned(), "add"));
        }
        if name.contains('/') {
            let why = format!("{name}: bad profile name, it contains '/'.");
            return Err(refused(why, "add"));
        }
        let path = self.profile_dir().join(format!("{name}.profile"));
        let tree = match read_file(&path) {
            Ok(Some(tree)) => tree,
            Ok(None) => {
                let path = path.display();
                let why = format!("{path}: stat failed: No such file or directory");
                return Err(refused(why, "apply"));
            }
            Err(error) => return Err(refused(error.to_string(), "apply")),
        };
        let mut wrong = misplaced(&tree, kind);
        if wrong.is_empty() {
            return Ok(tree);
        }
        wrong.push(format!("Ignoring invalid {what} profile {name}."));
        Err(refused(wrong.join("\n"), "apply"))
    }

    /// The folder of profiles (`config/profile_dir`).
    fn profile_dir(&self) -> PathBuf {
        self.string("config/profile_dir")
            .map_or_else(|| self.system_dir().join("profile"), PathBuf::from)
    }
}

/// What of a tree may not stand in a profile of this kind.
fn misplaced(tree: &Section<'_>, kind: ProfileKind) -> Vec<String> {
    let mut wrong = Vec::new();
    for node in &tree.nodes {
        let Node::Section(section) = node else {
            continue;
        };
        if !has_profilable(&section.name) {
            let name = &section.name;
            wrong.push(format!(
                "Configuration section \"{name}\" is not customizable by a profile."
            ));
            continue;
        }
        for node in &section.nodes {
            if let Node::Value { name, .. } = node {
                wrong.extend(misplaced_value(&format!("{}/{name}", section.name), kind));
            }
        }
    }
    wrong
}

fn misplaced_value(path: &str, kind: ProfileKind) -> Option<String> {
    let has = |mark: &str| known(path).is_some_and(|key| key.has_mark(mark));
    if has(kind.mark()) {
        return None;
    }
    let (own, other) = (kind.name(), kind.other());
    Some(if has(other.mark()) {
        let other = other.name();
        format!(
            "Configuration option \"{path}\" is customizable by {other} profile only, not {own} \
             profile."
        )
    } else {
        format!("Configuration option \"{path}\" is not customizable by a profile.")
    })
}

/// Whether any setting of a section may stand in a profile.
fn has_profilable(section: &str) -> bool {
    keys::all().iter().any(|key| {
        let is_there = key.path.split('/').next() == Some(section);
        is_there && (key.has_mark("command-profile") || key.has_mark("metadata-profile"))
    })
}
