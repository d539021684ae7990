//! The lines of `pvs`, `vgs` and `lvs`: which objects the operands name, and one row for each.

use std::io;
use std::mem::ManuallyDrop;

use ashlar::scan::{Content, Duplicate, FoundDevice, PvIndex};
use lvm2::model::{LvId, PvId};

use super::Session;
use super::dispatch::is_called_as_lvm2;
use super::report::{Plan, Subject};
use super::selected::{self, Chosen, Groups, Named};
use crate::args::{Arguments, Error, flags};
use crate::output::report::Format;
use crate::output::{Group, PvSegment, Row, View};

type Push<'p> = dyn FnMut(Row<'_>) -> io::Result<()> + 'p;

/// Prints a report about what the operands name.
pub(super) fn report(
    plan: &Plan,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let names = match (plan.asked(), plan.subject) {
        // A report about groups with fields of volumes has a line for each of these.
        (Subject::Lv | Subject::Segment, _) | (Subject::Vg, Subject::Lv | Subject::Segment) => {
            Some(Groups::WithVolumes)
        }
        (Subject::Vg, _) => Some(Groups::Only),
        _ => None,
    };
    let are_names = match names {
        Some(names) => selected::require_names(arguments, names),
        None => selected::require_tags(arguments),
    };
    if let Err(why) = are_names {
        // Stock's report has begun by then, which its JSON shows.
        if is_report(arguments) && plan.format() != Format::Basic {
            plan.print(session, |_| Ok(()))?;
        }
        return Err(session.refused(plan.asked().name(), why));
    }
    if plan.is_about_labels()
        // LVM2's shows labels alone then, also with --all.
        && (is_called_as_lvm2() || !arguments.has(&flags::ALL))
        && arguments
            .operands()
            .iter()
            .all(|word| !word.starts_with('@'))
    {
        return of_labels(plan, arguments, session);
    }
    // The process ends behind its report, and memory with it: taking apart what was found, piece
    // by piece, would be a tenth of what a large group costs.
    let view = if plan.is_about_volumes() {
        session.report_view(arguments)?
    } else {
        session.view(arguments)?
    };
    let view = ManuallyDrop::new(view);
    let subject = plan.subject;
    match plan.asked() {
        Subject::Pv | Subject::PvSegment => {
            let devices = selected::devices(&view, arguments, session);
            plan.print(session, |push| of_devices(&view, subject, &devices, push))
        }
        Subject::DeviceType | Subject::Log => {
            unreachable!("their rows are no groups' or devices'")
        }
        Subject::Vg | Subject::Lv | Subject::Segment => {
            let names = names.unwrap_or(Groups::WithVolumes);
            let named = selected::groups(&view, arguments, names, session)?;
            let all = arguments.has(&flags::ALL);
            plan.print(session, |push| of_groups(&view, subject, &named, all, push))
        }
    }
}

/// Whether a command prints reports and nothing else.
pub(super) fn is_report(arguments: &Arguments) -> bool {
    ["pvs", "vgs", "lvs", "fullreport"].contains(&arguments.command())
}

/// Prints a report that asks for nothing but what labels say: as in stock, no group is looked at.
fn of_labels(plan: &Plan, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let view = ManuallyDrop::new(session.view_of_labels(arguments)?);
    let labels = selected::labels(&view, arguments, session);
    plan.print(session, |push| {
        of_devices(&view, plan.subject, &labels, push)
    })
}

pub(super) fn of_groups(
    view: &View,
    subject: Subject,
    named: &[Named<'_>],
    all: bool,
    push: &mut Push<'_>,
) -> io::Result<()> {
    for named in named {
        let row = Row::of_group(view, named.group);
        match subject {
            Subject::Vg => push(row)?,
            Subject::Lv | Subject::Segment => {
                for lv in named.volumes(all) {
                    let row = row.with_lv(lv);
                    if subject == Subject::Lv {
                        push(row)?;
                        continue;
                    }
                    for index in 0..named.group.vg.lv(lv).segments.len() {
                        push(Row {
                            segment: Some(index),
                            ..row
                        })?;
                    }
                }
            }
            Subject::DeviceType | Subject::Log => {}
            Subject::Pv | Subject::PvSegment => {
                for (pv, _) in named.group.vg.pvs() {
                    of_pv(row.with_pv(pv), named.group, pv, subject, push)?;
                }
            }
        }
    }
    Ok(())
}

fn of_pv(
    row: Row<'_>,
    group: &Group,
    pv: PvId,
    subject: Subject,
    push: &mut Push<'_>,
) -> io::Result<()> {
    if subject != Subject::PvSegment {
        return push(row);
    }
    for run in group.pv_segments(pv) {
        let (lv, segment) = match run.used_by {
            Some((lv, segment)) => (Some(lv), Some(segment)),
            None => (None, None),
        };
        push(Row {
            lv,
            segment,
            pv_segment: Some(*run),
            ..row
        })?;
    }
    Ok(())
}

pub(super) fn of_devices(
    view: &View,
    subject: Subject,
    chosen: &[Chosen<'_>],
    push: &mut Push<'_>,
) -> io::Result<()> {
    for chosen in chosen {
        match chosen {
            Chosen::Member(group, pv) => {
                let row = Row::of_group(view, group).with_pv(*pv);
                of_pv(row, group, *pv, subject, push)?;
            }
            Chosen::Label(found) => {
                let row = Row {
                    found: Some(*found),
                    ..Row::new(view)
                };
                let nothing = PvSegment {
                    start: 0,
                    length: 0,
                    used_by: None,
                };
                let run = (subject == Subject::PvSegment).then_some(nothing);
                push(Row {
                    pv_segment: run,
                    ..row
                })?;
            }
            Chosen::Device(device) => push(Row {
                device: Some(device),
                ..Row::new(view)
            })?,
        }
    }
    Ok(())
}

/// What a device holds, for `pvs`.
pub(super) fn label_of(device: &FoundDevice) -> Option<PvIndex> {
    match device.content {
        Content::PhysicalVolume(found) => Some(found),
        _ => None,
    }
}

/// Whether another device is used instead of the one with this label.
pub(super) fn is_unchosen(view: &View, found: PvIndex) -> bool {
    view.scan.pv(found).duplicate == Duplicate::Unchosen
}

/// The volumes of a group in the order of reports, hidden ones if they are asked for.
pub(super) fn volumes(group: &Group, all: bool) -> Vec<LvId> {
    group
        .order
        .iter()
        .copied()
        .filter(|lv| all || group.is_visible(*lv))
        .collect()
}
