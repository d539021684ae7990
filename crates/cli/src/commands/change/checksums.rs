//! `--raidintegrity`: images of arrays get checksums, and lose them, while nobody uses the array.

use ashlar::apply::{Question, require_placed};
use ashlar::scan::FoundVg;
use lvm2::model::{IntegrityMode, LvId};
use lvm2::plan::logical::{ChecksumOptions, add_checksums, remove_checksums};

use super::arguments::{Choice, choice, invalid, number};
use super::arrays::AtWork;
use super::convert_array::find;
use super::work::{Work, planned};
use crate::args::{Arguments, Error, Flag, LvName};

/// `--raidintegrity`
pub(super) const INTEGRITY: Flag = Flag::value(
    "raidintegrity",
    "y|n",
    "RAID: whether the images have a checksum for each block: what is not what its checksum says \
     is read from another image, and written anew. Takes 8 MiB or more beside each image.",
);
/// `--raidintegritymode`
pub(super) const MODE: Flag = Flag::value(
    "raidintegritymode",
    "journal|bitmap",
    "How checksums go with the data over a loss of power: both are in a journal first (as without \
     this), or a bitmap says where they are computed anew.",
);
/// `--raidintegrityblocksize`
pub(super) const BLOCK: Flag = Flag::value(
    "raidintegrityblocksize",
    "512|1024|2048|4096",
    "Bytes under one checksum, and of the least that can be written; 512 without this.",
);

/// What is asked for; `None`: nothing about checksums, or that there be none.
pub(super) fn wanted(arguments: &Arguments) -> Result<Option<ChecksumOptions>, Error> {
    let is_wanted = choice(arguments, &INTEGRITY)? == Some(Choice::Yes);
    for flag in [&MODE, &BLOCK] {
        if arguments.has(flag) && !is_wanted {
            return Err(Error::usage(format!(
                "--{} belongs to --raidintegrity y.",
                flag.long
            )));
        }
    }
    let mode = match arguments.value(&MODE) {
        None | Some("journal" | "J") => IntegrityMode::Journal,
        Some("bitmap" | "B") => IntegrityMode::Bitmap,
        Some(other) => return Err(invalid(&MODE, other)),
    };
    let options = ChecksumOptions {
        mode,
        block_size: number(arguments, &BLOCK)?.unwrap_or(512),
    };
    options
        .check()
        .map_err(|error| Error::usage(error.context))?;
    Ok(is_wanted.then_some(options))
}

/// `lvconvert --raidintegrity`
pub(super) fn convert(
    arguments: &Arguments,
    work: &mut Work<'_>,
    volume: &LvName,
) -> Result<(), Error> {
    let options = wanted(arguments)?;
    let (host, at_work) = (work.host().clone(), work.arrays()?);
    let request = work.request_of(&[&volume.vg]);
    work.change(&request, |scan, author| {
        let (found, id) = find(scan, volume)?;
        require_unused(&at_work, found, id)?;
        let Some(options) = options else {
            require_placed(scan, &host, found, id)?;
            return planned(remove_checksums(&found.model, &volume.lv, author));
        };
        let mut planned = planned(add_checksums(&found.model, &volume.lv, options, author))?;
        if options.block_size > 512 {
            let name = format!("{}/{}", volume.vg, volume.lv);
            planned.questions.push(Question {
                text: format!(
                    "Blocks of {name} become {} bytes: a file system with smaller ones cannot be \
                     mounted. Continue? [y/n]: ",
                    options.block_size
                ),
                refusal: format!("Logical volume {name} NOT converted."),
            });
        }
        Ok(planned)
    })
    .map(drop)
}

fn require_unused(at_work: &AtWork, group: &FoundVg, id: LvId) -> ashlar::Result<()> {
    if !at_work.has(&group.model.lv(id).uuid) {
        return Ok(());
    }
    let name = group.model.lv(id).name();
    let what = format!(
        "Logical volume {}/{name} in use: its images get checksums, and lose them, while nobody \
         uses it",
        group.name
    );
    Err(ashlar::Error::new(ashlar::Kind::Refused, what))
}
