//! Volumes in use as NBD exports.

use std::sync::Arc;

use ashlar::live::Use;
use block::Device;
use nbd::server::{Access, Export, Exports, NamedContext};

/// Puts a volume on the list, with what clients may ask of it, where it follows its name. A new
/// size needs no more: clients that come later, or ask again, are told.
pub(crate) fn add_export(
    exports: &Exports,
    used: &mut Use,
    access: Access,
    context: Option<NamedContext>,
) -> block::Result<()> {
    let contexts: Vec<NamedContext> = context.into_iter().collect();
    let mut export = Export {
        name: used.name.clone(),
        description: String::new(),
        access,
        device: Arc::new(used.volume.clone()) as Arc<dyn Device>,
    };
    exports.add_with(export.clone(), contexts.clone())?;
    let exports = exports.clone();
    used.watch(Box::new(move |_, name| {
        if name != export.name {
            exports.remove(&export.name);
            name.clone_into(&mut export.name);
            // Only this list's own volumes are on it, and their names differ.
            let _ = exports.add_with(export.clone(), contexts.clone());
        }
    }));
    Ok(())
}
