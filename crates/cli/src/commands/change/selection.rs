//! `-S` in commands that change something: of what the operands name, only what meets the criteria.
//!
//! Criteria are those of the reports. A group is chosen if one of its volumes or physical volumes
//! meets what is said about volumes or physical volumes, a volume if one of its segments does.

use std::time::{SystemTime, UNIX_EPOCH};

use ashlar::scan::{PvIndex, Scan};
use lvm2::Uuid;
use lvm2::model::PvId;

use super::chosen::Chosen;
use super::work::Work;
use crate::args::{Arguments, Error, Flag};
use crate::commands::activity;
use crate::output::fields;
use crate::output::report::{Field, FieldGroup, Selection, SelectionError, Zone};
use crate::output::{Group, Row, Style, View};

/// `-S`
pub(super) const SELECT: Flag = Flag::value(
    "select",
    "Criteria",
    "Only those that match, for instance 'lv_size>1g && segtype=mirror'. `-S help' lists fields \
     and operators.",
)
.short('S');

/// What criteria are about first of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// Groups: `vg_` may be left out.
    Groups,
    /// Volumes: `lv_` may be left out.
    Volumes,
    /// Physical volumes: `pv_` may be left out.
    Pvs,
}

/// Criteria that were given.
pub(super) struct Criteria {
    selection: Selection,
    style: Style,
    of_segments: bool,
    of_volumes: bool,
    of_pvs: bool,
    is_mixed: bool,
}

/// What the arguments say about who is meant.
pub(super) enum Asked {
    /// Nothing beside the operands.
    Operands,
    /// Only those that meet these.
    Criteria(Box<Criteria>),
    /// What criteria there are, which has been shown.
    Help,
}

/// Reads the criteria, if there are any.
pub(super) fn asked(
    arguments: &Arguments,
    about: About,
    work: &mut Work<'_>,
) -> Result<Asked, Error> {
    let Some(text) = arguments.value(&SELECT) else {
        return Ok(Asked::Operands);
    };
    let prefix = match about {
        About::Groups => "vg_",
        About::Volumes => "lv_",
        About::Pvs => "pv_",
    };
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let style = Style {
        zone: Zone::local(),
        ..Style::default()
    };
    let now = now.as_secs().cast_signed();
    let selection = match Selection::parse(text, fields::ALL, prefix, now, &style.zone) {
        Ok(selection) => selection,
        Err(SelectionError::Help) => {
            work.print(&fields::selection_help(fields::ALL))?;
            return Ok(Asked::Help);
        }
        Err(error) => return Err(Error::failed(error.to_string())),
    };
    let groups: Vec<FieldGroup> = selection.fields().iter().map(|field| field.group).collect();
    let has = |wanted: &[FieldGroup]| groups.iter().any(|group| wanted.contains(group));
    let of_segments = has(&[FieldGroup::Segment]);
    let of_pvs =
        about == About::Pvs || has(&[FieldGroup::Label, FieldGroup::Pv, FieldGroup::PvSegment]);
    let of_volumes = about == About::Volumes || of_segments || has(&FieldGroup::OF_VOLUMES);
    let is_mixed = of_pvs && of_volumes && about != About::Pvs;
    if is_mixed && about == About::Groups {
        return Err(mixed());
    }
    Ok(Asked::Criteria(Box::new(Criteria {
        selection,
        style,
        of_segments,
        of_volumes,
        of_pvs,
        is_mixed,
    })))
}

/// Criteria that nothing can meet or miss.
fn mixed() -> Error {
    Error::failed("Can't select by fields of logical and of physical volumes at the same time.")
}

impl Criteria {
    /// Whether they are about volumes and about physical volumes.
    pub(super) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Leaves the volumes that meet them. Where there is one, criteria that are about disks, too,
    /// are refused.
    pub(super) fn retain(&self, all: &mut Vec<Chosen>, scan: &Scan) -> Result<(), Error> {
        if self.is_mixed && !all.is_empty() {
            return Err(mixed());
        }
        let met = self.volumes(scan);
        all.retain(|one| met.contains(&one.uuid));
        Ok(())
    }

    /// The volumes that meet them.
    fn volumes(&self, scan: &Scan) -> Vec<Uuid> {
        let view = live(scan);
        let mut met = Vec::new();
        for group in &view.groups {
            let row = Row::of_group(&view, group);
            for (id, lv) in group.vg.lvs() {
                if self.is_met_by_volume(row.with_lv(id), lv.segments.len()) {
                    met.push(lv.uuid);
                }
            }
        }
        met
    }

    /// The names of the devices of the physical volumes that meet them.
    pub(super) fn pvs(&self, scan: &Scan) -> Vec<String> {
        let view = View::new(scan.clone());
        let mut met = Vec::new();
        for group in &view.groups {
            let row = Row::of_group(&view, group);
            for (id, _) in group.vg.pvs() {
                if group.found(id).is_some() && self.is_met_by_pv(group, row.with_pv(id), id) {
                    met.push(view.pv_name(group, id).to_owned());
                }
            }
        }
        for (index, pv) in view.scan.physical_volumes.iter().enumerate() {
            let row = Row {
                found: Some(PvIndex(index)),
                ..Row::new(&view)
            };
            if pv.group.is_none() && self.is_met_by(row) {
                met.push(view.scan.device(pv.device).name.clone());
            }
        }
        met
    }

    /// The groups that meet them, by UUID.
    pub(super) fn groups(&self, scan: &Scan) -> Vec<Uuid> {
        let view = if self.of_volumes {
            live(scan)
        } else {
            View::new(scan.clone())
        };
        let mut met = Vec::new();
        for group in &view.groups {
            let row = Row::of_group(&view, group);
            let mut volumes = group.vg.lvs();
            let mut pvs = group.vg.pvs();
            let is_met = if self.of_volumes {
                volumes.any(|(id, lv)| self.is_met_by_volume(row.with_lv(id), lv.segments.len()))
            } else if self.of_pvs {
                pvs.any(|(id, _)| self.is_met_by(row.with_pv(id)))
            } else {
                self.is_met_by(row)
            };
            if is_met {
                met.push(group.vg.uuid);
            }
        }
        met
    }

    /// Whether one line about a physical volume meets them: where they are about volumes, too,
    /// there is one for each run of its extents.
    fn is_met_by_pv(&self, group: &Group, row: Row<'_>, pv: PvId) -> bool {
        if !self.of_volumes {
            return self.is_met_by(row);
        }
        group.pv_segments(pv).iter().any(|run| {
            self.is_met_by(Row {
                lv: run.used_by.map(|(lv, _)| lv),
                segment: run.used_by.map(|(_, segment)| segment),
                pv_segment: Some(*run),
                ..row
            })
        })
    }

    fn is_met_by_volume(&self, row: Row<'_>, segments: usize) -> bool {
        if !self.of_segments {
            return self.is_met_by(row);
        }
        (0..segments).any(|index| {
            self.is_met_by(Row {
                segment: Some(index),
                ..row
            })
        })
    }

    fn is_met_by(&self, row: Row<'_>) -> bool {
        let mut read = |field: &'static Field| (field.read)(&row, &self.style);
        self.selection.matches(&mut read)
    }
}

/// What was found, with which volumes are active; one whose owner does not say is not chosen by
/// that.
fn live(scan: &Scan) -> View {
    let mut view = View::new(scan.clone());
    let _ = activity::look(&mut view);
    view
}
