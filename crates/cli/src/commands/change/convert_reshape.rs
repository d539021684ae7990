//! `lvconvert` where the data of an array move: more stripes, other chunks, another layout.

use ashlar::apply::{Question, array_head, reshape_head};
use ashlar::arrays::ArrayReader;
use ashlar::scan::{FoundVg, Scan};
use lvm2::model::{LvId, RaidFamily, RaidLevel};
use lvm2::plan::display_size;
use lvm2::plan::logical::{ReshapeChange, reshape_array};
use lvm2::{Bytes, Extents, Sectors};

use super::arguments::{FORCE, number, size};
use super::arrays::{level, level_of, state};
use super::convert_array::{CHUNK, find};
use super::lvcreate::STRIPES_MAX;
use super::volumes::{TYPE, places, policy};
use super::work::{Work, failed, planned};
use crate::args::{Arguments, Error, Flag, LvName};

/// `--stripes`
pub(super) const MORE_STRIPES: Flag = Flag::value(
    "stripes",
    "Number",
    "raid4, raid5, raid6: stripe the data over so many images, the parity not counted, by a \
     reshape. With fewer the volume shrinks, and loses what is behind its new end: --force.",
);

/// What is asked for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    stripes: Option<usize>,
    stripe_size: Option<Sectors>,
    level: Option<RaidLevel>,
}

impl Asked {
    /// Says what becomes of the array.
    fn tell(&self, now: RaidLevel, name: &str, work: &mut Work<'_>) {
        let size = self
            .stripe_size
            .map(|size| format!("chunks of {}", display_size(size)));
        let level = self.level.map(|level| level.name().to_owned());
        for what in size.into_iter().chain(level) {
            work.note(&format!("Converting {} LV {name} to {what}.", now.name()));
        }
    }
}

/// The same layout under its full name.
fn plain(level: RaidLevel) -> RaidLevel {
    match level {
        RaidLevel::Raid5 => RaidLevel::Raid5Ls,
        RaidLevel::Raid6 => RaidLevel::Raid6Zr,
        level => level,
    }
}

/// What arguments ask of an array, if that moves its data.
fn asked(arguments: &Arguments, now: RaidLevel, has_space: bool) -> Result<Option<Asked>, Error> {
    let family = now.family();
    let is_fitting = matches!(
        family,
        RaidFamily::Raid4 | RaidFamily::Raid5 | RaidFamily::Raid6
    );
    let name = arguments.value(&TYPE);
    let to = name.and_then(level);
    let other = to.filter(|to| to.family() == family && plain(*to) != plain(now));
    let is_kept = name.is_none() || to.is_some_and(|to| plain(to) == plain(now));
    // The last one is asked for once more, whose space is to go.
    let is_again = has_space && name.is_some();
    let asks = arguments.has(&MORE_STRIPES) || arguments.has(&CHUNK) || is_again;
    if arguments.has(&MORE_STRIPES) && !(is_fitting && (other.is_some() || is_kept)) {
        return Err(Error::usage(
            "--stripes is for raid4, raid5 and raid6 that keep their level.",
        ));
    }
    let is_asked = is_fitting && (other.is_some() || is_kept && asks);
    if !is_asked {
        return Ok(None);
    }
    Ok(Some(Asked {
        stripes: number(arguments, &MORE_STRIPES)?,
        stripe_size: size(arguments, &CHUNK, 'k')?,
        level: other,
    }))
}

/// Begins a reshape; `false`: none is asked for.
pub(super) fn convert(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
    words: &[String],
) -> Result<bool, Error> {
    let scan = work.scan()?;
    let (found, id) = find(&scan, volume).map_err(|error| failed(&error))?;
    let Some(now) = level_of(found, id) else {
        if number::<usize>(arguments, &MORE_STRIPES)? == Some(0) {
            let what = format!("Number of stripes (0) must be between 1 and {STRIPES_MAX}.");
            return Err(Error::failed(what));
        }
        if arguments.has(&MORE_STRIPES) {
            return Err(Error::usage("--stripes is for raid4, raid5 and raid6."));
        }
        return Ok(false);
    };
    let segments = &found.model.lv(id).segments;
    let has_space = segments.iter().any(|one| one.reshape > Extents::ZERO);
    let Some(asked) = asked(arguments, now, has_space)? else {
        return Ok(false);
    };
    let (policy, is_forced) = (policy(arguments)?, arguments.has(&FORCE));
    let name = format!("{}/{}", volume.vg, volume.lv);
    asked.tell(now, &name, work);
    let (finder, at_work) = (work.finder(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        let places = places(scan, found, &finder, words)?;
        let change = ReshapeChange {
            volume: &volume.lv,
            stripes: asked.stripes,
            stripe_size: asked.stripe_size,
            level: asked.level,
            places: places.as_ref(),
            policy,
            state: state(scan, found, id, &at_work)?,
            data_start: data_start(scan, found, id)?,
            may_shrink: is_forced,
            head: reshape_head,
            rest_head: array_head,
        };
        let mut planned = planned(reshape_array(&found.model, &change, author))?;
        if planned.change.vg().is_none() {
            return Ok(planned);
        }
        planned.questions.push(Question {
            text: format!(
                "Are you sure you want to convert {} LV {name}? [y/n]: ",
                now.name()
            ),
            refusal: format!("Logical volume {name} NOT converted."),
        });
        Ok(planned)
    })
    .map(|_| true)
}

/// Where superblocks say that the data of an array begin.
fn data_start(scan: &Scan, found: &FoundVg, id: LvId) -> ashlar::Result<Option<Bytes>> {
    let read = ArrayReader::default().read(scan, found, id)?;
    Ok(read.map(|found| Bytes(found.data_start)))
}
