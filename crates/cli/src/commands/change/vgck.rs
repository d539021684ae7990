//! `vgck --updatemetadata`: the same group once more on every area.

use ashlar::apply::{Request, Tolerated, update_metadata};

use super::groups::{Unnamed, each, named};
use super::work::Work;
use crate::args::{Arguments, Error, Flag, flags};

/// `--keep`
pub(in crate::commands) const KEEP: Flag = Flag::value(
    "keep",
    "PV",
    "With --updatemetadata, where metadata areas hold different texts with the same sequence \
     number: the device whose text is the right one.",
);

/// Writes each group again.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let what = match arguments.operands() {
        [] => Some(format!("option: --{}", flags::UPDATE_METADATA.long)),
        [_, more, ..] => Some(format!("argument: {more}")),
        [_] => None,
    };
    if let Some(what) = what {
        return Err(Error::form(format!("Command does not accept {what}.")));
    }
    let names = named(arguments, Unnamed::Nothing, &[], work)?;
    let keep = arguments.value(&KEEP);
    let finder = work.finder();
    each(&names, work, |name, work| {
        let request = Request {
            tolerated: vec![Tolerated::Disagreement, Tolerated::Absent],
            ..work.request_of(&[name])
        };
        let written = work.change(&request, |scan, author| {
            let group = scan.find_group(name)?;
            let keep = keep.map(|keep| finder.device(scan, keep)).transpose()?;
            let keep = keep.map(|keep| scan.device(keep).name.as_str());
            let planned = update_metadata(scan, group, keep, author);
            planned.map_err(|error| {
                // The library does not know what the option is called.
                if keep.is_none() && error.kind() == ashlar::Kind::Ambiguous {
                    let what = format!("{error}, with --keep");
                    return ashlar::Error::new(error.kind(), what);
                }
                error
            })
        });
        written.map(drop)
    });
    Ok(())
}
