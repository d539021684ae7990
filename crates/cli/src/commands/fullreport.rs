//! `fullreport`: everything about each volume group, in five reports one behind the other.
//!
//! ```text
//!   for each group, and for the physical volumes that are in none:
//!     vg, pv, lv, pvseg, seg      columns and order as the settings …_cols_full say
//! ```

use std::io::{self, Write};

use super::Session;
use super::report::{Kind, Plan, Request, Subject, plan};
use super::rows::{of_devices, of_groups};
use super::selected::{self, Chosen, Groups, Named};
use crate::args::{Arguments, Command, Error, Example, flags};
use crate::output::View;
use crate::output::report::{Format, document, next_report, part, part_ends};

/// `fullreport`
pub(super) const COMMAND: Command = Command {
    name: "fullreport",
    summary: "Report everything about volume groups and what is in them",
    operands: "[VG|@TAG ...]",
    description: "For each volume group five reports: of the group, its physical volumes, its \
        logical volumes, the runs of extents of its physical volumes, and the segments of its \
        volumes; behind them the physical volumes that are in no group. Columns, order and \
        selection of one of the five stand behind --configreport.",
    flags: &[&[flags::ALL], flags::REPORT, flags::COMMON],
    examples: &[
        Example {
            line: "fullreport --reportformat json_std --units b --nosuffix",
            does: "prints all that there is, for programs",
        },
        Example {
            line: "fullreport --configreport lv -o lv_name,lv_size -S lv_size>1g vg0",
            does: "says little of volumes, and only of large ones",
        },
    ],
    run,
};

/// The five, in stock's order.
const PARTS: [Kind; 5] = [
    kind(Subject::Vg, "report/vgs_cols_full", "report/vgs_sort_full"),
    kind(Subject::Pv, "report/pvs_cols_full", "report/pvs_sort_full"),
    kind(Subject::Lv, "report/lvs_cols_full", "report/lvs_sort_full"),
    kind(
        Subject::PvSegment,
        "report/pvsegs_cols_full",
        "report/pvsegs_sort_full",
    ),
    kind(
        Subject::Segment,
        "report/segs_cols_full",
        "report/segs_sort_full",
    ),
];

const fn kind(subject: Subject, columns: &'static str, sort: &'static str) -> Kind {
    Kind {
        subject,
        columns: (columns, columns),
        sort,
        is_part: true,
    }
}

/// What one round of reports is about.
enum About<'a> {
    Group(Named<'a>),
    Labels(Vec<Chosen<'a>>),
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let mut plans = Vec::with_capacity(PARTS.len());
    for kind in PARTS {
        match plan(kind, arguments, session)? {
            Request::Report(plan) => plans.push(*plan),
            Request::Help => return Ok(()),
        }
    }
    let is_json = plans.iter().any(|plan| plan.format() != Format::Basic);
    if let Err(why) = selected::require_names(arguments, Groups::Only) {
        if is_json {
            document(session.out(), |_| Ok(()))?;
        }
        return Err(session.refused(Subject::Vg.name(), why));
    }
    let view = session.report_view(arguments)?;
    let groups = selected::groups(&view, arguments, Groups::Only, session)?;
    let mut rounds: Vec<About<'_>> = groups.into_iter().map(About::Group).collect();
    if arguments.operands().is_empty() {
        let mut labels = selected::devices(&view, arguments, session);
        labels.retain(|chosen| matches!(chosen, Chosen::Label(_)));
        session.log_successes(labels.len());
        if !labels.is_empty() {
            rounds.push(About::Labels(labels));
        }
    }
    let all = arguments.has(&flags::ALL);
    let out = session.out();
    if !is_json {
        for about in &rounds {
            round(&view, about, &plans, all, out)?;
        }
        return Ok(());
    }
    document(out, |out| {
        for (index, about) in rounds.iter().enumerate() {
            part(index, out)?;
            round(&view, about, &plans, all, out)?;
            part_ends(out)?;
        }
        Ok(())
    })?;
    Ok(())
}

fn round(
    view: &View,
    about: &About<'_>,
    plans: &[Plan],
    all: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let of_labels = |plan: &&Plan| matches!(plan.asked(), Subject::Pv | Subject::PvSegment);
    let is_due = |plan: &&Plan| matches!(about, About::Group(_)) || of_labels(plan);
    for (index, plan) in plans.iter().filter(is_due).enumerate() {
        if index > 0 && plan.format() != Format::Basic {
            next_report(out)?;
        }
        plan.print_within(out, |push| match about {
            About::Group(named) => {
                of_groups(view, plan.subject, std::slice::from_ref(named), all, push)
            }
            About::Labels(labels) => of_devices(view, plan.subject, labels, push),
        })?;
    }
    Ok(())
}
