//! Mirrors that ask for their copies to be described in another order, and who sees to it.

use std::sync::Arc;

use dm::home::{MessageSender, NoticeHandler};
use dm::mirror::{self, persist_failed};
use lvm2::Uuid;

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

/// Whoever writes down in which order the copies of mirrors come. Must not wait: the mirror waits
/// until `sender` was sent how it went.
pub(crate) trait MetadataUpdater: Send + Sync {
    /// Begins to write it down.
    fn persist(self: Arc<Self>, wanted: Wanted, sender: MessageSender);

    /// The mirror called `name` has lost these images and goes on; nothing has to be written down.
    /// Must not wait.
    fn lost(self: Arc<Self>, name: String, images: Vec<String>);
}

/// What hears the notices of the mirror `lv`, whose legs are `images`, with their names. Where
/// nobody keeps the
/// order, the mirror does not take writes that would need another one.
pub(super) fn handler(
    updater: Option<Arc<dyn MetadataUpdater>>,
    lv: Uuid,
    name: String,
    images: Vec<(Uuid, String)>,
) -> NoticeHandler {
    Box::new(move |notice, sender| {
        if let (Some(lost), Some(updater)) = (mirror::lost_in(notice), &updater) {
            let lost = lost.iter().filter_map(|leg| images.get(*leg));
            let lost = lost.map(|(_, image)| image.clone()).collect();
            return Arc::clone(updater).lost(name.clone(), lost);
        }
        let Some(order) = mirror::ImageOrder::of_notice(notice) else {
            return;
        };
        let of = |legs: &[usize]| legs.iter().map(|leg| images[*leg].0).collect();
        let wanted = Wanted {
            lv,
            name: name.clone(),
            in_sync: of(&order.in_sync),
            out_of_sync: of(&order.out_of_sync),
        };
        match &updater {
            Some(updater) => Arc::clone(updater).persist(wanted, sender.clone()),
            None => sender.send(persist_failed("this process does not own the volume group")),
        }
    })
}
