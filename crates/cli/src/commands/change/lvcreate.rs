//! `lvcreate`: a new logical volume.

use lvm::plan::logical::{NewVolume, Zeroing, create_volume};
use lvm::plan::places::Places;
use lvm::plan::size::SizeArgument;

use super::arguments::{CHANGE, Choice, FORCE, ZERO, choice};
use super::run::run;
use super::work::{Work, planned, refusal};
use crate::args::{Arguments, Command, Error, Example, Flag, Target, flags, split_target};

const NAME: Flag = Flag::value(
    "name",
    "LV",
    "The volume's name; without it lvol0, lvol1 and so on.",
)
.short('n');
const SIZE: Flag = Flag::value(
    "size",
    "Size",
    "How large it is; MiB where there is no unit. Rounded up to whole extents.",
)
.short('L');
const EXTENTS: Flag = Flag::value(
    "extents",
    "Number[%{VG|FREE|PVS}]",
    "How many extents it has, or what share of the group, of what is free, or of the named \
     devices.",
)
.short('l');
const WIPE: Flag = Flag::value(
    "wipesignatures",
    "y|n",
    "Whether signatures of file systems and the like are looked for and wiped.",
)
.short('W');
const ACTIVATE: Flag = Flag::value(
    "activate",
    "y|n|ay",
    "Accepted for scripts: nothing is activated without `serve' or `attach'.",
)
.short('a');

/// `lvcreate`
pub(super) const COMMAND: Command = Command {
    name: "lvcreate",
    summary: "Create a logical volume",
    operands: "VG [PV[:PE[-PE]] ...]",
    description: "Takes free extents of a group for a new volume. Its first bytes are zeroed and \
        signatures in it wiped, so that nothing old is found in it.",
    flags: &[
        &[NAME, SIZE, EXTENTS, ZERO, WIPE, ACTIVATE, FORCE],
        CHANGE,
        flags::COMMON,
    ],
    examples: &[Example {
        line: "lvcreate -L 1g -n data vg0",
        does: "makes a volume of 1 GiB",
    }],
    run,
};

/// Makes the volume.
pub(super) fn core(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let [group, places @ ..] = arguments.operands() else {
        return Err(Error::usage("Please specify a volume group."));
    };
    let Target::Vg(group) = split_target(group) else {
        return Err(Error::usage(format!("{group} names no volume group.")));
    };
    let size = match (arguments.value(&SIZE), arguments.value(&EXTENTS)) {
        (Some(size), None) => SizeArgument::from_size(size),
        (None, Some(extents)) => SizeArgument::from_extents(extents),
        _ => return Err(Error::usage("Please specify either size or extents.")),
    };
    let size = size.map_err(|error| Error::usage(error.context))?;
    let wipe = choice(arguments, &WIPE)? != Some(Choice::No);
    let zero = choice(arguments, &ZERO)? != Some(Choice::No);
    let template = NewVolume {
        name: arguments.value(&NAME),
        zeroing: match (zero, wipe) {
            (true, true) => Zeroing::ZeroAndWipe,
            (true, false) => Zeroing::ZeroOnly,
            (false, _) => Zeroing::Nothing,
        },
        ..NewVolume::linear(size)
    };
    let finder = work.finder();
    let names: Vec<&str> = places.iter().map(String::as_str).collect();
    let request = work.request_of(&[&group]);
    work.change(&request, |scan, author| {
        let found = scan.find_group(&group)?;
        let find = |name: &str| finder.member(scan, found, name);
        let places = match names[..] {
            [] => None,
            _ => Some(Places::parse(&found.model, &names, find).map_err(refusal)?),
        };
        let new = NewVolume {
            places: places.as_ref(),
            ..template.clone()
        };
        planned(create_volume(&found.model, &new, author))
    })?;
    Ok(())
}
