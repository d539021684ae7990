//! Goes through the arrays of a subject, from their beginnings to their ends.

use std::time::{Duration, Instant};

use block::Range;
use dm::raid::LegState;
use dm::raid::scrub::{
    Blame, Course, Holds, Judged, Member, SECTOR, Unchecked, Unit, judge_copies, judge_row,
};

use super::finding::{Finding, FindingKind, LegPlace, Standing};
use super::reader::{Reader, Run};
use super::subject::{Part, Subject};
use super::summary::Summary;
use super::window::Window;
use crate::{Error, Result};

/// How long a pause is at a time.
const NAP: Duration = Duration::from_millis(200);
const SECTOR_LEN: u64 = SECTOR as u64;

/// How it is scrubbed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Bytes of each leg that are read in a second, at most; `None`: as fast as they answer.
    pub rate: Option<u64>,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// So many bytes of the arrays are behind it. Comes also while nothing happens.
    Looked(u64),
    /// Something was found.
    Found(&'a Finding),
}

/// One array that is scrubbed.
struct Scrub<'a> {
    subject: &'a Subject<'a>,
    part: &'a Part,
    reader: Reader,
    summary: Summary,
    /// Bytes of the arrays that are done.
    done: u64,
}

/// Compares all that the arrays of `subject` have more than once, and tells `tell` what does not go
/// together, in order.
///
/// # Errors
///
/// Those of `tell`; an array cannot be put together; somebody wrote to it meanwhile.
pub fn scrub<E: From<Error>>(
    subject: &Subject<'_>,
    options: Options,
    tell: &mut dyn FnMut(Event<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<Summary, E> {
    let mut summary = Summary {
        size: subject.size(),
        ..Summary::default()
    };
    let mut done = 0;
    for part in &subject.parts {
        let mut scrub = Scrub {
            subject,
            part,
            reader: Reader::new(&part.data())?,
            summary,
            done,
        };
        scrub.run(options, tell)?;
        (summary, done) = (scrub.summary, scrub.done);
    }
    subject.require_unchanged()?;
    assert_eq!(done, summary.size, "all of it was looked at");
    Ok(summary)
}

impl Scrub<'_> {
    fn run<E: From<Error>>(
        &mut self,
        options: Options,
        tell: &mut dyn FnMut(Event<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut course = self.part.course.clone();
        let (begin, mut read) = (Instant::now(), 0);
        let mut ahead = self.ask(&mut course);
        while let Some((window, id)) = ahead {
            read += window.load(self.part.config.legs.len());
            while let Some(rest) = pause(options, begin, read) {
                tell(Event::Looked(self.done))?;
                std::thread::sleep(rest.min(NAP));
            }
            ahead = self.ask(&mut course);
            let done = self.done;
            let runs = self.reader.take(id, &mut || tell(Event::Looked(done)))?;
            for (unit, places) in window.units {
                let runs: Vec<&Run> = places.iter().map(|place| &runs[*place]).collect();
                self.unit(&unit, &runs, tell)?;
                self.done += unit.covers;
            }
            tell(Event::Looked(self.done))?;
        }
        Ok(())
    }

    /// Begins to read what comes next.
    fn ask(&mut self, course: &mut Course) -> Option<(Window, u64)> {
        let legs = 0..self.part.config.legs.len();
        let gone: Vec<bool> = legs.map(|leg| self.reader.is_given_up(leg)).collect();
        let window = Window::next(course, &gone)?;
        let id = self.reader.ask(&window.runs);
        Some((window, id))
    }

    /// What goes together, of which `runs` hold the members.
    fn unit<E: From<Error>>(
        &mut self,
        unit: &Unit,
        runs: &[&Run],
        tell: &mut dyn FnMut(Event<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for leg in &unit.left_out {
            let why = self.part.absence(*leg);
            let name = &self.part.config.leg_names[*leg];
            self.summary.leave_out(name, &why, unit.len);
        }
        if unit.unchecked.is_some() {
            self.summary.cover(unit.covers, unit.unchecked);
            return Ok(());
        }
        assert_eq!(runs.len(), unit.members.len(), "each member was read");
        let mut findings = self.unreadable(unit, runs)?;
        // Between two places where what can be read changes.
        let mut cuts = vec![0, unit.len];
        for (member, run) in unit.members.iter().zip(runs) {
            let own = Range::new(member.start, unit.len);
            for bad in run.bad.iter().filter_map(|bad| bad.intersection(own)) {
                cuts.extend([bad.start() - own.start(), bad.end() - own.start()]);
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        for cut in cuts.windows(2) {
            let judged = self.judge(unit, runs, (cut[0], cut[1]));
            for one in judged {
                findings.push(self.mismatch(unit, runs, (cut[0], cut[1]), one)?);
            }
        }
        for finding in &findings {
            self.summary.count(finding);
            tell(Event::Found(finding))?;
        }
        Ok(())
    }

    /// What does not go together of the bytes from one to another of each member.
    fn judge(&mut self, unit: &Unit, runs: &[&Run], (from, to): (u64, u64)) -> Vec<Judged> {
        let read = readable(unit, runs, (from, to));
        let bytes = |place: &usize| {
            let start = unit.members[*place].start + from;
            runs[*place].bytes(Range::new(start, to - from))
        };
        let is_enough = unit.is_enough(read.len());
        let covers = (to - from) * (unit.covers / unit.len);
        let unchecked = (!is_enough).then_some(Unchecked::Unreadable);
        self.summary.cover(covers, unchecked);
        if !is_enough {
            return Vec::new();
        }
        if let Some(row) = &unit.row {
            let mut legs = vec![None; self.part.config.legs.len()];
            for place in &read {
                legs[unit.members[*place].leg] = Some(bytes(place));
            }
            return judge_row(row, &legs);
        }
        let copies = read.iter().map(|at| (unit.members[*at].leg, bytes(at)));
        judge_copies(&copies.collect::<Vec<_>>())
    }

    /// A finding where members do not go together.
    fn mismatch(
        &self,
        unit: &Unit,
        runs: &[&Run],
        (from, to): (u64, u64),
        judged: Judged,
    ) -> Result<Finding> {
        let start = from + judged.sectors.start as u64 * SECTOR_LEN;
        let len = judged.sectors.len() as u64 * SECTOR_LEN;
        let legs = readable(unit, runs, (from, to)).into_iter().map(|place| {
            let member = &unit.members[place];
            self.place(
                member,
                (start, len),
                Standing::of(member.leg, &judged.blame),
            )
        });
        let finding = Finding {
            len,
            sync: unit.sync + start,
            row: unit.row_number,
            legs: legs.collect::<Result<_>>()?,
            kind: FindingKind::Mismatch(judged.blame),
        };
        if let FindingKind::Mismatch(Blame::Legs(wrong)) = &finding.kind {
            assert_eq!(
                finding.wrong().count(),
                wrong.len(),
                "who is wrong was read"
            );
        }
        Ok(finding)
    }

    /// What of a unit's members cannot be read.
    fn unreadable(&self, unit: &Unit, runs: &[&Run]) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for (member, run) in unit.members.iter().zip(runs) {
            let own = Range::new(member.start, unit.len);
            for bad in run.bad.iter().filter_map(|bad| bad.intersection(own)) {
                let from = bad.start() - own.start();
                let place = self.place(member, (from, bad.len()), Standing::Unknown)?;
                findings.push(Finding {
                    kind: FindingKind::Unreadable,
                    len: bad.len(),
                    sync: unit.sync + from,
                    row: unit.row_number,
                    legs: vec![place],
                });
            }
        }
        Ok(findings)
    }

    /// Where `len` bytes of a member are, `from` bytes behind its beginning.
    fn place(
        &self,
        member: &Member,
        (from, len): (u64, u64),
        standing: Standing,
    ) -> Result<LegPlace> {
        let start = member.start + from;
        let holds = match member.holds {
            Holds::Data(at) => Holds::Data(self.part.start + at + from),
            holds @ (Holds::P | Holds::Q) => holds,
        };
        let extent = match holds {
            Holds::Data(at) => self.subject.extent(at),
            Holds::P | Holds::Q => None,
        };
        Ok(LegPlace {
            leg: member.leg,
            name: self.part.config.leg_names[member.leg].clone(),
            start,
            holds,
            extent,
            on: self.subject.disks(self.part, member.leg, (start, len))?,
            standing,
        })
    }
}

impl Part {
    /// Why a leg is not read, as a clause that begins with its name.
    fn absence(&self, leg: usize) -> String {
        let name = &self.config.leg_names[leg];
        let state: &LegState = &self.course.legs()[leg];
        let absence = state.absence(name);
        absence.unwrap_or_else(|| format!("{name} does not answer"))
    }
}

/// The members all of whose bytes from one to another were read.
fn readable(unit: &Unit, runs: &[&Run], (from, to): (u64, u64)) -> Vec<usize> {
    let members = unit.members.iter().zip(runs).enumerate();
    let is_read = |(member, run): (&Member, &&Run)| {
        let own = Range::new(member.start + from, to - from);
        run.bad.iter().all(|bad| bad.intersection(own).is_none())
    };
    members
        .filter(|(_, pair)| is_read(*pair))
        .map(|(place, _)| place)
        .collect()
}

/// How long to wait until so many bytes may be read since `begin`; `None`: they may.
fn pause(options: Options, begin: Instant, read: u64) -> Option<Duration> {
    let due = Duration::from_secs_f64(read as f64 / options.rate?.max(1) as f64);
    due.checked_sub(begin.elapsed())
        .filter(|rest| !rest.is_zero())
}
