//! `lvchange --resetfaileddevices`: images count again that the others went on without.

use ashlar::apply::{Question, images_to_reset};
use ashlar::scan::FoundVg;
use dm::raid::{Reset, ResetLeg};
use lvm2::Sectors;
use lvm2::model::{LvId, SegmentType};
use lvm2::plan::logical::reset_images;
use lvm2::plan::{Message, display_size};

use super::chosen::Chosen;
use super::work::{Work, planned};
use crate::args::{Error, Flag};

/// `--resetfaileddevices`
pub(super) const RESET: Flag = Flag::switch(
    "resetfaileddevices",
    "RAID: let images count again that the others went on without, where too few are left and all \
     disks are back: those least behind, and no more than are needed. Says first how far behind \
     each is, and where what they hold may be older than what the others do.",
);

/// Resets an array that nobody uses.
pub(super) fn reset(volume: &Chosen, work: &mut Work<'_>) -> Result<(), Error> {
    let at_work = work.arrays()?;
    let request = work.request_of(&[&volume.group]);
    work.change(&request, |scan, author| {
        let (found, id) = volume.find(scan)?;
        let name = format!("{}/{}", found.name, found.model.lv(id).name());
        if at_work.has(&volume.uuid) {
            let what = format!("Logical volume {name} in use: what is used needs no reset");
            return Err(ashlar::Error::new(ashlar::Kind::Refused, what));
        }
        let reset = images_to_reset(scan, found, id)?;
        let volume = found.model.lv(id).name();
        let mut planned = planned(reset_images(&found.model, volume, &reset.heads, author))?;
        let told = explain(&name, &images(found, id), &reset);
        planned
            .change
            .messages
            .splice(0..0, told.into_iter().map(Message::warning));
        planned.questions.push(Question {
            text: format!("Do you really want to let these images of {name} count again? [y/n]: "),
            refusal: format!("Logical volume {name} NOT changed."),
        });
        Ok(planned)
    })
    .map(drop)
}

/// The names of an array's images.
fn images(group: &FoundVg, id: LvId) -> Vec<String> {
    let Some(SegmentType::Raid(raid)) = group.model.lv(id).first() else {
        return Vec::new();
    };
    let name = |image: &lvm2::model::RaidImage| group.model.lv(image.data).name().to_owned();
    raid.images.iter().map(name).collect()
}

/// What becomes of each image, and what people risk.
fn explain(name: &str, images: &[String], reset: &Reset) -> Vec<String> {
    let legs = images.iter().zip(&reset.legs);
    let mut told: Vec<String> = legs
        .map(|(image, leg)| match leg {
            ResetLeg::Kept => format!("{image} is believed, as before"),
            ResetLeg::Again(0) => {
                format!(
                    "{image} is as new as the others, which went on without it: it counts again"
                )
            }
            ResetLeg::Again(behind) => {
                format!("{image} is {behind} records of the others behind: it counts again")
            }
            ResetLeg::Left(why) => format!("{image} does not count: {why}"),
        })
        .collect();
    let (marked, all) = reset.marked;
    let bytes = marked.saturating_mul(reset.region);
    told.push(format!(
        "{marked} of {all} regions of {name} are marked, {} of each image: what an image that \
         counts again holds there may be older than what was written last, and nothing tells; look \
         at what the volume holds before it is used",
        display_size(Sectors(bytes / 512))
    ));
    told
}
