//! `lvchange` of arrays: which images are read last, how fast an array is brought in sync, and
//! which images are filled once more.

use std::collections::BTreeSet;

use ashlar::scan::{FoundVg, Scan};
use lvm2::model::LvId;
use lvm2::plan::logical::{
    ArrayChange, ArrayState, Replacement, WriteMostly, change_array, rebuild_images,
};

use super::arguments::number;
use super::arrays::{AtWork, MAX_RATE, MIN_RATE, level_of, rate, state};
use super::chosen::Chosen;
use super::convert_array::named;
use super::finder::Finder;
use super::work::{Work, planned};
use crate::args::{Arguments, Error, Flag};

/// `--rebuild`
pub(super) const REBUILD: Flag = Flag::value(
    "rebuild",
    "PV",
    "RAID: fill the images on this device once more from the others, while the volume is used. May \
     be given several times.",
);
/// `--writemostly`
pub(super) const WRITE_MOSTLY: Flag = Flag::value(
    "writemostly",
    "PV[:{t|n|y}]",
    "RAID 1: read the images on this device only where no other can be read (y, as without a \
     letter), as all others (n), or the other way round (t). May be given several times.",
);
/// `--writebehind`
pub(super) const WRITE_BEHIND: Flag = Flag::value(
    "writebehind",
    "Number",
    "RAID 1: how many writes may lag behind on images that are read last; 0 for a default.",
);

/// Whether something is asked for that only arrays have, but for `--resync`.
pub(super) fn is_about_arrays(arguments: &Arguments) -> bool {
    let flags = [&REBUILD, &WRITE_MOSTLY, &WRITE_BEHIND, &MIN_RATE, &MAX_RATE];
    flags.into_iter().any(|flag| arguments.has(flag))
}

/// What is known of a volume that is an array; `None`: it is none.
pub(super) fn state_of(
    scan: &Scan,
    group: &FoundVg,
    id: LvId,
    at_work: &AtWork,
) -> ashlar::Result<Option<ArrayState>> {
    match level_of(group, id) {
        None => Ok(None),
        Some(_) => state(scan, group, id, at_work).map(Some),
    }
}

/// Changes an array.
pub(super) fn change(
    volume: &Chosen,
    arguments: &Arguments,
    work: &mut Work<'_>,
) -> Result<(), Error> {
    let mut settings: Vec<ArrayChange> = Vec::new();
    settings.extend(number(arguments, &WRITE_BEHIND)?.map(ArrayChange::WriteBehind));
    settings.extend(rate(arguments, &MIN_RATE)?.map(ArrayChange::MinRecoveryRate));
    settings.extend(rate(arguments, &MAX_RATE)?.map(ArrayChange::MaxRecoveryRate));
    let mostly: Vec<(String, WriteMostly)> = arguments.values(&WRITE_MOSTLY).map(mostly).collect();
    let finder = work.finder();
    if !settings.is_empty() || !mostly.is_empty() {
        let request = work.request_of(&[&volume.group]);
        work.change(&request, |scan, author| {
            let (found, id) = volume.find(scan)?;
            let mut all = settings.clone();
            for (name, how) in &mostly {
                let one = std::slice::from_ref(name);
                let pvs = named(scan, found, &finder, one)?;
                all.extend(pvs.into_iter().map(|pv| ArrayChange::WriteMostly(pv, *how)));
            }
            let name = found.model.lv(id).name();
            planned(change_array(&found.model, name, &all, author))
        })?;
    }
    if arguments.has(&REBUILD) {
        rebuild(volume, arguments, work, &finder)?;
    }
    Ok(())
}

/// `PV`, or `PV:y`, `PV:n`, `PV:t`.
fn mostly(text: &str) -> (String, WriteMostly) {
    let cut = text.rsplit_once(':').and_then(|(name, letter)| {
        let how = match letter {
            "y" => WriteMostly::Yes,
            "n" => WriteMostly::No,
            "t" => WriteMostly::Toggle,
            _ => return None,
        };
        Some((name.to_owned(), how))
    });
    cut.unwrap_or((text.to_owned(), WriteMostly::Yes))
}

fn rebuild(
    volume: &Chosen,
    arguments: &Arguments,
    work: &mut Work<'_>,
    finder: &Finder,
) -> Result<(), Error> {
    let names: Vec<String> = arguments.values(&REBUILD).map(str::to_owned).collect();
    let name = format!("{}/{}", volume.group, volume.name);
    let question = format!(
        "Do you really want to rebuild {} PVs of logical volume {name} [y/n]: ",
        names.len()
    );
    if !work.is_shown() && !work.agrees(&question) {
        return Err(Error::failed(format!("Logical volume {name} not rebuild.")));
    }
    let at_work = work.arrays()?;
    let request = work.request_of(&[&volume.group]);
    work.change(&request, |scan, author| {
        let (found, id) = volume.find(scan)?;
        let pvs: BTreeSet<_> = named(scan, found, finder, &names)?;
        let replacement = Replacement {
            volume: found.model.lv(id).name(),
            pvs: &pvs,
            places: None,
            policy: None,
            state: state(scan, found, id, &at_work)?,
        };
        planned(rebuild_images(&found.model, &replacement, author))
    })
    .map(drop)
}
