//! The configuration files of this host, and the tags that choose some of them.
//!
//! ```text
//!   lvm.conf        weakest; the first two are read wherever they are
//!   lvmlocal.conf
//!   lvm_TAG.conf    for each tag of this host, in the order in which the tags were met
//! ```
//!
//! A host has the tags that the sections `tags` of these files give it: its own name with
//! `hosttags = 1`, and each `tags/NAME` that says nothing of hosts or has this one's name in
//! `tags/<tag>/host_list`. A file of a tag may give more tags, which have files of their own.

use std::fs;
use std::io;
use std::path::Path;

use lvm2::model::name::validate_tag;
use lvm2::text::{Section, Value, parse};

use super::tree::{in_form, section, value};
use crate::{Error, Kind, Result};

/// Longest file in bytes: Debian's, with all its comments, has 120 KiB.
const FILE_SIZE_MAX: u64 = 4 << 20;

/// What the files say.
#[derive(Debug, Clone, Default)]
pub(super) struct Files {
    /// Each file that there is, the weakest first.
    pub(super) trees: Vec<Section<'static>>,
    /// The tags of this host.
    pub(super) tags: Vec<String>,
}

impl Files {
    /// Reads the files in `folder` on the host called `host`.
    pub(super) fn read(folder: &Path, host: &str) -> Result<Self> {
        let mut files = Self::default();
        for name in ["lvm.conf", "lvmlocal.conf"] {
            files.add(&folder.join(name), host)?;
        }
        let mut next = 0;
        while let Some(tag) = files.tags.get(next) {
            files.add(&folder.join(format!("lvm_{tag}.conf")), host)?;
            next += 1;
        }
        assert!(files.trees.len() <= 2 + files.tags.len(), "a file for each");
        Ok(files)
    }

    fn add(&mut self, path: &Path, host: &str) -> Result<()> {
        let Some(tree) = read_file(path)? else {
            return Ok(());
        };
        for tag in tags_in(&tree, host)? {
            if !self.tags.contains(&tag) {
                self.tags.push(tag);
            }
        }
        self.trees.push(tree);
        Ok(())
    }
}

/// The tags that a file gives to `host`.
fn tags_in(tree: &Section<'static>, host: &str) -> Result<Vec<String>> {
    let mut tags = Vec::new();
    let Some(all) = section(tree, "tags") else {
        return Ok(tags);
    };
    if matches!(value(tree, "tags/hosttags"), Some(Value::Integer(number)) if *number != 0) {
        tags.push(host.to_owned());
    }
    for tag in all.sections() {
        let name = tag.name.strip_prefix('@').unwrap_or(&tag.name);
        if validate_tag(name).is_err() {
            let what = format!("Invalid tag in config file: {name}");
            return Err(Error::new(Kind::Config, what));
        }
        let hosts = "tags/<tag>/host_list".replace("<tag>", &tag.name);
        let hosts = value(tree, &hosts);
        if hosts.map_or(Ok(true), |hosts| names(hosts, host))? {
            tags.push(name.to_owned());
        }
    }
    Ok(tags)
}

/// Whether a list of hosts names `host`.
fn names(hosts: &Value<'_>, host: &str) -> Result<bool> {
    let hosts = match hosts {
        Value::Array(hosts) => hosts.as_slice(),
        one => std::slice::from_ref(one),
    };
    for value in hosts {
        match value {
            Value::String(name) if name == host => return Ok(true),
            Value::String(_) => {}
            _ => {
                let what = "Invalid hostname string for tag host_list";
                return Err(Error::new(Kind::Config, what));
            }
        }
    }
    Ok(false)
}

/// The tree of a file; `None` if it is not there.
pub(super) fn read_file(path: &Path) -> Result<Option<Section<'static>>> {
    let broken = || {
        let what = format!(
            "cannot use {}; correct it, or set LVM_SYSTEM_DIR",
            path.display()
        );
        Error::new(Kind::Config, what)
    };
    let size = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(broken().because(error)),
    };
    if size > FILE_SIZE_MAX {
        return Err(broken().because(format!("it has {size} bytes, which no configuration needs")));
    }
    let bytes = fs::read(path).map_err(|error| broken().because(error))?;
    parse(&bytes)
        .map(|tree| Some(in_form(tree)))
        .map_err(|error| broken().because(error))
}

#[cfg(test)]
mod tests;
