//! Mirrors that ask for their copies to be described in another order, and who sees to it.

use std::sync::Arc;

use dm::home::{Controller, NoticeHandler};
use dm::mirror::{Control, Mirror, Notice};
use dm::raid::{self, Array};
use lvm2::{Extents, Uuid};

/// What a mirror asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The volume that is the mirror.
    pub(crate) lv: Uuid,
    /// Its name, for people.
    pub(crate) name: String,
    /// The images that hold everything; one of them has to be the first.
    pub(crate) in_sync: Vec<Uuid>,
    /// The images that miss something.
    pub(crate) out_of_sync: Vec<Uuid>,
}

/// The store of a snapshot that fills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filled {
    /// The store.
    pub(crate) store: Uuid,
    /// The snapshot's name.
    pub(crate) name: String,
    /// Its origin's.
    pub(crate) origin: String,
}

/// Whoever writes down in which order the copies of mirrors come. Must not wait: the mirror waits
/// until `mirror` was told how it went.
pub(crate) trait MetadataUpdater: Send + Sync {
    /// Begins to write it down.
    fn persist(self: Arc<Self>, wanted: Wanted, mirror: Controller<Mirror>);

    /// The piece of a move, of this volume called `name`, that begins at this extent is the same on
    /// its source and its target: that is to be made durable, and written down. Must not wait.
    fn copied(self: Arc<Self>, piece: (Uuid, Extents), name: String);

    /// All that the snapshot with this store, called `name`, kept is in its origin: it is to be
    /// taken away. Must not wait.
    fn merged(self: Arc<Self>, store: Uuid, name: String);

    /// The store of a snapshot is as full as was to be told: it is to be extended, or people are to
    /// know that it will be lost. Must not wait.
    fn filled(self: Arc<Self>, store: Filled);

    /// This image of the RAID volume called `name` holds all that it should: that it is to be
    /// rebuilt is not said any more. Must not wait.
    fn rebuilt(self: Arc<Self>, image: Uuid, name: String);

    /// Something happened that people should know of. Must not wait.
    fn warn(self: Arc<Self>, text: String);
}

/// What hears the notices of the mirror `lv`, whose legs are `images`, with their names. Where
/// nobody keeps the order, the mirror does not take writes that would need another one.
pub(super) fn handler(
    updater: Option<Arc<dyn MetadataUpdater>>,
    lv: Uuid,
    name: String,
    images: Vec<(Uuid, String)>,
) -> NoticeHandler<Mirror> {
    Box::new(move |notice, mirror| {
        let order = match notice {
            Notice::Persist(order) => order,
            Notice::Copied | Notice::Stuck(_) => unreachable!("it is no move"),
            Notice::Lost(lost) => {
                if let Some(updater) = &updater {
                    let lost: Vec<&str> = lost.iter().map(|leg| &*images[*leg].1).collect();
                    Arc::clone(updater).warn(format!(
                        "WARNING: {name} lost its image {} and goes on without it, with less \
                         redundancy: check the disk, and see \"lvs -a -o +devices\" for where the \
                         image lies.",
                        lost.join(", ")
                    ));
                }
                return;
            }
        };
        let of = |legs: &[usize]| legs.iter().map(|leg| images[*leg].0).collect();
        let wanted = Wanted {
            lv,
            name: name.clone(),
            in_sync: of(&order.in_sync),
            out_of_sync: of(&order.out_of_sync),
        };
        if let Some(updater) = &updater {
            Arc::clone(updater).persist(wanted, mirror.clone());
        } else {
            let why = "this process does not own the volume group".to_owned();
            mirror.send(Control::PersistFailed(why));
        }
    })
}

/// What hears the notices of the array called `name`, whose legs are `images`, with their names.
pub(super) fn array_handler(
    updater: Option<Arc<dyn MetadataUpdater>>,
    name: String,
    images: Vec<(Uuid, String)>,
) -> NoticeHandler<Array> {
    Box::new(move |notice, _| {
        let Some(updater) = updater.clone() else {
            return;
        };
        match notice {
            raid::Notice::Lost(leg) => updater.warn(format!(
                "WARNING: {name} lost its image {} and goes on without it, with less redundancy: \
                 check the disk, and see \"lvs -a -o +devices\" for where the image lies; \
                 lvconvert --repair puts another one in its place.",
                images[leg].1
            )),
            raid::Notice::Filled(leg) => updater.rebuilt(images[leg].0, name.clone()),
            raid::Notice::Reshaped => updater.warn(format!(
                "  {name} has been reshaped: the same lvconvert once more gives its space up, and \
                 shows what it gained or lost."
            )),
            raid::Notice::Stuck(_) => updater.warn(format!(
                "WARNING: A part of {name} cannot be brought in sync: an image cannot be read or \
                 written there. It is tried again; see \"lvs -a -o +devices,lv_health_status\"."
            )),
        }
    })
}
