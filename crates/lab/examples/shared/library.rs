//! The drives that random cases choose from.

use ashlar_lab::disk::catalog;
use ashlar_lab::disk::import::{self, Files};
use ashlar_lab::disk::profile::Profile;
use ashlar_lab::error::Result;

use crate::fixtures;

/// The catalog and the five drives that were measured whole, in this order.
pub(crate) fn library() -> Result<Vec<Profile>> {
    let mut library = catalog::library();
    for (name, _) in fixtures::DRIVES {
        let files = Files::read(name, |file| fixtures::text(&fixtures::folder(), file))?;
        library.push(import::profile(&files)?);
    }
    Ok(library)
}
