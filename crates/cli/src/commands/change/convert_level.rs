//! `lvconvert --type` where parity or copies come or go, and no data moves.

use ashlar::apply::{Question, array_head};
use ashlar::scan::FoundVg;
use lvm2::model::{LvId, SegmentType};
use lvm2::plan::logical::{Form, LevelChange, change_level};

use super::arguments::size;
use super::arrays::{level_of, state};
use super::convert_array::{CHUNK, find};
use super::limits::{new_region_size, region_size};
use super::volumes::{places, policy};
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Error, LvName};

/// Whether a volume has several stripes.
pub(super) fn is_striped(group: &FoundVg, id: LvId) -> bool {
    match group.model.lv(id).first() {
        Some(SegmentType::Striped(striped)) => striped.areas.len() > 1,
        _ => false,
    }
}

/// Lets a volume become another type, or what comes first on the way.
pub(super) fn change_type(
    arguments: &Arguments,
    work: &mut Work<'_>,
    (volume, to): (&LvName, Form),
    words: &[String],
) -> Result<(), Error> {
    let (asked, new) = (region_size(arguments)?, new_region_size(arguments, work)?);
    let policy = policy(arguments)?;
    let stripe_size = size(arguments, &CHUNK, 'k')?;
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let was = found.model.lv(id).segments.first();
    let was = was.map_or_else(String::new, |one| one.type_name().to_owned());
    if stripe_size.is_some() && was != "raid1" {
        return Err(Error::usage(
            "--stripesize is for raid1 that becomes raid4 or raid5; other chunks need a reshape, \
             which is not done here.",
        ));
    }
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let change = LevelChange {
            volume: &volume.lv,
            to,
            region_size: if level_of(found, id).is_some() {
                asked
            } else {
                new
            },
            stripe_size,
            places: places.as_ref(),
            policy,
            state: state(scan, found, id, &at_work)?,
            head: array_head,
        };
        let mut planned = planned(change_level(&found.model, &change, author))?;
        let name = format!("{}/{}", volume.vg, volume.lv);
        let to = to.name();
        planned.questions.push(Question {
            text: format!("Are you sure you want to convert {was} LV {name} to {to} type? [y/n]: "),
            refusal: format!("Logical volume {name} NOT converted."),
        });
        Ok(planned)
    })
    .map(drop)
}
