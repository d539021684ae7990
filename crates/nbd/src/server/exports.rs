//! What is served: devices by name.
//!
//! The list is shared and may change while it is served. A connection keeps the export that it
//! chose for as long as it lasts, also after the name is gone from the list.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::contexts::{self, NamedContext};
use crate::wire::constants::STRING_LEN_MAX;
use block::{Access, Device, Error, Kind, Result};

/// The most exports on one list: what one option's worth of patience lists.
const EXPORT_COUNT_MAX: usize = 65_536;

/// One device with the name that clients ask for.
#[derive(Clone)]
pub struct Export {
    /// Not empty, UTF-8 without NUL, at most 4096 bytes.
    pub name: String,
    /// Text for people, as long as a name at most; may be empty.
    pub description: String,
    /// What clients may do.
    pub access: Access,
    /// What they do it to.
    pub device: Arc<dyn Device>,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Export({:?}, {:?})", self.name, self.access)
    }
}

/// An export on the list.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) export: Arc<Export>,
    /// Beside `base:allocation`.
    pub(super) contexts: Arc<[NamedContext]>,
}

/// The exports of a server, in the order in which they were added. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct Exports {
    list: Arc<RwLock<Vec<Listed>>>,
}

impl Exports {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an export.
    pub fn add(&self, export: Export) -> Result<()> {
        self.add_with(export, Vec::new())
    }

    /// Adds an export of which clients may ask more than `base:allocation`.
    pub fn add_with(&self, export: Export, contexts: Vec<NamedContext>) -> Result<()> {
        contexts::check(&contexts)?;
        for text in [&export.name, &export.description] {
            if text.len() > STRING_LEN_MAX || text.contains('\0') {
                let what = format!(
                    "the NBD export name or description {text:.40?} is too long or holds a NUL"
                );
                return Err(Error::new(Kind::Invalid, what));
            }
        }
        if export.name.is_empty() {
            return Err(Error::new(Kind::Invalid, "an NBD export needs a name"));
        }
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        if list.iter().any(|other| other.export.name == export.name) {
            let what = format!("the NBD export {:?} exists already", export.name);
            return Err(Error::new(Kind::Open, what));
        }
        if list.len() >= EXPORT_COUNT_MAX {
            let what = format!("an NBD server serves at most {EXPORT_COUNT_MAX} exports");
            return Err(Error::new(Kind::Open, what));
        }
        list.push(Listed {
            export: Arc::new(export),
            contexts: contexts.into(),
        });
        Ok(())
    }

    /// Takes an export off the list. Connections that use it go on.
    pub fn remove(&self, name: &str) -> Option<Arc<Export>> {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let index = list.iter().position(|listed| listed.export.name == name)?;
        Some(list.remove(index).export)
    }

    /// The export of this name. The empty name is the only export there is, if there is one: with
    /// several, a client that does not choose might write to the wrong one.
    pub fn find(&self, name: &str) -> Option<Arc<Export>> {
        self.find_listed(name).map(|listed| listed.export)
    }

    /// The same, with its contexts.
    pub(super) fn find_listed(&self, name: &str) -> Option<Listed> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        match (name, list.as_slice()) {
            ("", [only]) => Some(only.clone()),
            _ => list
                .iter()
                .find(|listed| listed.export.name == name)
                .cloned(),
        }
    }

    /// All exports.
    pub fn list(&self) -> Vec<Arc<Export>> {
        let list = self.list.read().unwrap_or_else(PoisonError::into_inner);
        list.iter()
            .map(|listed| Arc::clone(&listed.export))
            .collect()
    }
}

#[cfg(test)]
mod tests;
