//! `vgimportdevices`: lists the devices of volume groups in the devices file.

use ashlar::apply::{DeviceList, Naming};
use ashlar::scan::Scan;

use super::Session;
use super::lvmdevices::AllDevices;
use super::selected::{self, Groups};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::output::View;

const ALL: Flag = Flag::switch("all", "All volume groups.").short('a');

/// `vgimportdevices`
pub(super) const COMMAND: Command = Command {
    name: "vgimportdevices",
    summary: "List the devices of volume groups in the devices file",
    operands: "[VG|@TAG ...]",
    description: "Looks for the groups on all devices of this host, also on those that the devices \
        file lacks, and lists the devices of their physical volumes there.",
    flags: &[
        &[ALL, flags::FOREIGN, flags::SHARED, flags::REPORT_FORMAT],
        flags::COMMON,
    ],
    examples: &[Example {
        line: "vgimportdevices vg0",
        does: "lists the disks of a group that came from another host",
    }],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    match (arguments.has(&ALL), arguments.operands()) {
        (true, [name, ..]) => {
            let what = format!("Command does not accept argument: {name}.");
            return Err(Error::form(what));
        }
        (false, []) => {
            return Err(Error::form(
                "No command with matching syntax recognised.  Run 'vgimportdevices --help' for \
                 more information.",
            ));
        }
        _ => {}
    }
    let all = AllDevices::of(arguments, session)?;
    let (mut list, scan) = DeviceList::change(all.path.clone(), &all.host, || all.scan())?;
    let nodes = nodes(scan, arguments, session)?;
    let added = nodes.iter().filter(|node| list.add(node, Naming::Lasting));
    let count = added.count();
    if count == 0 {
        // Of a name that is no group's this was said.
        let are_tags = arguments
            .operands()
            .iter()
            .all(|word| word.starts_with('@'));
        if are_tags {
            session.line("No devices to add.")?;
        }
        return Ok(());
    }
    if !arguments.has(&flags::TEST) {
        list.write(&all.host, session.command())?;
    }
    Ok(session.line(&format!("Added {count} devices to devices file."))?)
}

/// The nodes of the physical volumes of the groups that are meant.
fn nodes(scan: Scan, arguments: &Arguments, session: &mut Session) -> Result<Vec<String>, Error> {
    let view = View::new(scan);
    let mut nodes = Vec::new();
    for named in selected::groups(&view, arguments, Groups::Only, session)? {
        let pvs = named.group.vg.pvs();
        let found = pvs.filter_map(|(pv, _)| named.group.found(pv));
        nodes.extend(found.map(|pv| view.scan.device(view.scan.pv(pv).device).name.clone()));
    }
    Ok(nodes)
}
