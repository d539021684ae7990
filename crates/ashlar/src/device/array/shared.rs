//! Arrays that this process writes, each of which is open once.
//!
//! Two machines that write the same legs know nothing of each other's marks. So whoever opens an
//! array for writing in a process gets the one that is there, and who reads gets it, too, as long
//! as somebody writes. Against other processes its legs are locked (`legs_held.rs`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use block::Device;
use block::file::Access;

use crate::host::ArrayPlace;

/// An array that may be open.
type Slot = Arc<Mutex<Option<Weak<dyn Device>>>>;

fn slot(place: &ArrayPlace) -> Slot {
    static SLOTS: Mutex<Option<HashMap<ArrayPlace, Slot>>> = Mutex::new(None);
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let slots = slots.get_or_insert_default();
    Arc::clone(slots.entry(place.clone()).or_default())
}

/// The array at `place`: the one that is open for writing, or what `open` opens.
pub(super) fn open_once(
    place: &ArrayPlace,
    access: Access,
    open: impl FnOnce() -> block::Result<Arc<dyn Device>>,
) -> block::Result<Arc<dyn Device>> {
    let slot = slot(place);
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = slot.as_ref().and_then(Weak::upgrade) {
        return Ok(device);
    }
    let device = open()?;
    if access == Access::ReadWrite {
        *slot = Some(Arc::downgrade(&device));
    }
    Ok(device)
}
