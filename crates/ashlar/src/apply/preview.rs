//! Looking at a change without making it: `ashlar plan`.
//!
//! Everything up to the first write happens as it would, but without a lock and without holding a
//! device alone; so what is shown was true when it was looked at, and no longer. Questions are
//! collected instead of asked, and flushes are counted from what the commit is known to do.

use std::collections::BTreeSet;

use block::Range;
use block::file::Claim;
use lvm2::Uuid;
use lvm2::model::VolumeGroup;
use lvm2::ondisk::{AreaUse, LABEL_SCAN_SIZE, PvHeader};
use lvm2::plan::{Before, GroupChange, HeaderEdit, Message, When};

use super::open::{Open, new_uuid};
use super::prompt::{Answer, Prompt};
use super::request::{Planned, Request};
use super::session::{Plan, Session, is_concerned};
use super::steps::ask_for_wipes;
use crate::Result;
use crate::commit::label_sectors;
use crate::scan::{FoundPv, FoundVg, PvIndex, Scan};

/// What a change would do.
#[derive(Debug)]
pub struct Preview {
    /// What the plan began with.
    pub scan: Scan,
    /// The plan.
    pub planned: Planned,
    /// What would be asked, in this order.
    pub questions: Vec<String>,
    /// How many flushes would be made, where nothing has to be repaired on the way.
    pub flushes: usize,
}

/// Agrees to everything, and remembers what it was asked.
#[derive(Default)]
struct Recorder {
    questions: Vec<String>,
}

impl Prompt for Recorder {
    fn ask(&mut self, question: &str) -> Answer {
        self.questions.push(question.to_owned());
        Answer::Yes
    }

    fn tell(&mut self, _message: &Message) {}
}

impl Session<'_> {
    /// Says what a change would do.
    pub fn preview(&mut self, request: &Request, plan: &mut Plan<'_>) -> Result<Preview> {
        let scan = self.look()?;
        let groups = self.permitted(&scan, request)?;
        let planned = self.permitted_plan(&scan, &groups, request, plan)?;
        let mut questions: Vec<String> = Vec::new();
        questions.extend(
            planned
                .questions
                .iter()
                .map(|question| question.text.clone()),
        );
        let contents = self.contents(&scan, request, &groups, &planned)?;
        questions.extend(contents.questions.iter().cloned());
        let flushes = flushes(&scan, request, &groups, &planned, &contents);
        Ok(Preview {
            scan,
            planned,
            questions,
            flushes,
        })
    }

    /// What the devices hold that becomes something else.
    fn contents(
        &self,
        scan: &Scan,
        request: &Request,
        groups: &[&FoundVg],
        planned: &Planned,
    ) -> Result<Contents> {
        let change = &planned.change;
        let looks = |step: &Before| matches!(step, Before::WipeSignatures { .. });
        let mut contents = Contents::default();
        if planned.new.is_empty() && !change.before.iter().any(looks) {
            return Ok(contents);
        }
        let mut recorder = Recorder::default();
        let mut session = Session::new(self.host, self.disks, &mut recorder);
        let open = Open::of(&session, scan, request, groups, planned, Claim::Shared)?;
        for (_, mut io) in open.devices_to_label(|_| true)? {
            let head = (LABEL_SCAN_SIZE as u64).min(io.info().size);
            let head = io.read(Range::new(0, head)).unwrap_or_default();
            contents.labelled += usize::from(label_sectors(&head).next().is_some());
        }
        session.ask_for_devices(open.new_devices()?)?;
        let mut members = open.members()?;
        let mut read = |uuid, range| {
            let mut all = members.iter_mut();
            let (.., io) = all.find(|(now, then, _)| [*now, *then].contains(&uuid))?;
            io.read(range).ok()
        };
        let wipes = ask_for_wipes(change, &mut read, &mut recorder)?;
        if let Some(vg) = change.vg() {
            contents.wiped = wipes.iter().flat_map(|wipe| wipe.written(vg)).collect();
        }
        contents.questions = recorder.questions;
        Ok(contents)
    }
}

/// What is to be written over.
#[derive(Debug, Default)]
struct Contents {
    /// What would be asked about signatures.
    questions: Vec<String>,
    /// How many devices that become physical volumes have a label.
    labelled: usize,
    /// Physical volumes on which signatures are wiped from new volumes.
    wiped: BTreeSet<Uuid>,
}

/// The flushes of a change, in the order of the commit.
fn flushes(
    scan: &Scan,
    request: &Request,
    groups: &[&FoundVg],
    planned: &Planned,
    contents: &Contents,
) -> usize {
    let change = &planned.change;
    let is_touched = |pv: &FoundPv| {
        let new = planned.new.iter().any(|new| new.device == pv.device);
        new || planned.removed.contains(&pv.device)
    };
    let pvs = scan.physical_volumes.iter().enumerate();
    let open: Vec<&FoundPv> = pvs
        .filter(|(index, pv)| {
            !is_touched(pv) && is_concerned(pv, PvIndex(*index), groups, request, planned)
        })
        .map(|(_, pv)| pv)
        .collect();
    let pieces = change.before.iter().flat_map(|step| match step {
        Before::Fill { pieces, .. } => pieces.iter().map(|piece| piece.pv).collect(),
        Before::Write { piece, .. } | Before::Copy { to: piece, .. } => vec![piece.pv],
        Before::WipeSignatures { .. } => Vec::new(),
    });
    let prepared: BTreeSet<Uuid> = pieces.chain(contents.wiped.iter().copied()).collect();
    let commits = change.groups.iter().map(|group| match group {
        GroupChange::Commit(vg) => commit(vg, &open, planned),
        GroupChange::Erase(vg) => open
            .iter()
            .filter(|pv| vg.pv_by_uuid(&pv.uuid).is_some() && uses(pv, planned).0)
            .count(),
    });
    let released = change.released.iter().collect::<BTreeSet<_>>().len();
    let is_erased = |group: &GroupChange| matches!(group, GroupChange::Erase(_));
    let cleared = if change.groups.iter().any(is_erased) {
        0
    } else {
        released
    };
    open.len()
        + contents.labelled
        + 2 * planned.new.len()
        + prepared.len()
        + edited(&open, planned)
        + commits.sum::<usize>()
        + cleared
        + planned.removed.len()
}

/// Labels that do not say yet what they are to say: each is written and flushed once before the
/// commits, between them, and after them.
fn edited(open: &[&FoundPv], planned: &Planned) -> usize {
    let known = open.iter().map(|pv| &pv.header);
    let made = planned.new.iter().map(|new| &new.layout.label.pv);
    let headers = &planned.change.headers;
    let of_label = |header: &PvHeader| {
        let edits = headers.iter().filter(|edit| edit.pv == header.uuid);
        let changes = edits.filter(|edit| match edit.edit {
            HeaderEdit::Usage(usage) => header.usage() != usage,
            HeaderEdit::DeviceSize(size) => header.device_size != size,
            HeaderEdit::Uuid(uuid) => header.uuid != uuid,
            HeaderEdit::Areas(_) => true,
        });
        // Nothing is written between the commits where there is one.
        let is_reached =
            |when: &When| *when != When::BetweenCommits || planned.change.groups.len() > 1;
        let times: BTreeSet<When> = changes.map(|edit| edit.when).filter(is_reached).collect();
        times.len()
    };
    let count = known.chain(made).map(of_label).sum();
    let labels = open.len() + planned.new.len();
    assert!(count <= 3 * labels, "a label is written once at each time");
    count
}

/// Texts, then headers, on each physical volume with an area in use; then the areas set aside.
fn commit(vg: &VolumeGroup, open: &[&FoundPv], planned: &Planned) -> usize {
    let is_known = |pv: &&&FoundPv| {
        let then = new_uuid(&planned.change, pv.uuid);
        vg.pv_by_uuid(&then).is_some()
    };
    let mut count = 0;
    for pv in open.iter().filter(is_known) {
        let (is_used, is_set_aside) = uses(pv, planned);
        count += 2 * usize::from(is_used) + usize::from(is_set_aside);
    }
    for new in &planned.new {
        let is_member = vg.pv_by_uuid(&new.layout.label.pv.uuid).is_some();
        let mut areas = new.layout.areas.iter();
        let is_used = areas.any(|area| area.usage == AreaUse::Used);
        count += 2 * usize::from(is_member && is_used);
    }
    count
}

/// Whether a physical volume has an area in use after the change, and one that is set aside by it.
fn uses(pv: &FoundPv, planned: &Planned) -> (bool, bool) {
    let (mut is_used, mut is_set_aside) = (false, false);
    for (index, area) in pv.areas.iter().enumerate() {
        let mut changes = planned.change.areas.iter();
        let change = changes.find(|change| change.pv == pv.uuid && change.area == index);
        match (area.usage(), change.map(|change| change.usage)) {
            (_, Some(AreaUse::Used)) | (AreaUse::Used, None) => is_used = true,
            (AreaUse::Used, Some(AreaUse::Ignored)) => is_set_aside = true,
            (AreaUse::Ignored, _) => {}
        }
    }
    (is_used, is_set_aside)
}
