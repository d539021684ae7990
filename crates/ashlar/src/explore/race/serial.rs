//! What two commands leave one after the other, and what that means for an interleaving.

use block::sim::{Image, State};

use super::super::blocks::Blocks;
use super::super::campaign::contents;
use super::super::command::Command;
use super::super::judge::{Judge, Verdict, written};
use super::super::view::{GroupView, View, damage, devices, nonsense, scan, view};
use super::pairs::Pair;
use super::play::{Story, UUIDS};
use crate::commit::FlushPolicy;
use crate::host::Host;
use crate::{Error, Kind, Result};

/// What may come of a pair.
pub(super) struct Serial<'h> {
    host: &'h Host,
    /// After one of them alone.
    alone: [Ran; 2],
    /// After both, by which was first.
    both: [Ran; 2],
    /// What a cut of one of them may leave.
    judges: Vec<CutJudge<'h>>,
}

/// Disks after a command.
struct Ran {
    images: Vec<Image>,
    view: View,
    /// Whether each of the two commands succeeded.
    is_ok: [bool; 2],
    versions: Vec<GroupView>,
}

struct CutJudge<'h> {
    command: usize,
    /// Whether the other one ran before.
    is_second: bool,
    judge: Judge<'h>,
}

impl<'h> Serial<'h> {
    pub(super) fn of(host: &'h Host, pair: &Pair, before: &[Image]) -> Result<Self> {
        let run = |number: usize, on: &[Image], other_is_ok: bool| {
            let mut ran = ran(host, pair.commands[number], UUIDS[number], on)?;
            ran.is_ok = [ran.is_ok[0], other_is_ok];
            if number == 1 {
                ran.is_ok.swap(0, 1);
            }
            Ok::<_, Error>(ran)
        };
        let alone = [run(0, before, false)?, run(1, before, false)?];
        let both = [
            run(1, &alone[0].images, alone[0].is_ok[0])?,
            run(0, &alone[1].images, alone[1].is_ok[1])?,
        ];
        let mut versions = view(&scan(host, before)).groups;
        let of_all = alone.iter().chain(&both);
        versions.extend(of_all.flat_map(|ran| ran.versions.iter().cloned()));
        let mut judges = Vec::new();
        for command in 0..2 {
            let other = 1 - command;
            let runs = [
                (false, before, &alone[command]),
                (true, &alone[other].images, &both[other]),
            ];
            for (is_second, before, after) in runs {
                if after.is_ok[command] {
                    let images = [before, &after.images];
                    let what = pair.commands[command];
                    let judge = Judge::of_command(host, what, images, versions.clone());
                    judges.push(CutJudge {
                        command,
                        is_second,
                        judge,
                    });
                }
            }
        }
        Ok(Self {
            host,
            alone,
            both,
            judges,
        })
    }

    /// What an interleaving came to.
    pub(super) fn judge_end(&self, story: &Story) -> Verdict {
        if story.is_stuck {
            return Err("each waits for a lock that the other one has".to_owned());
        }
        let images = story.log.end_state();
        let found = scan(self.host, &images);
        if let Some(wrong) = nonsense(&found).or_else(|| damage(&found, &images, None)) {
            return Err(wrong);
        }
        let seen = view(&found);
        let is_ok = [story.results[0].is_ok(), story.results[1].is_ok()];
        let is_like = |ran: &&Ran| ran.is_ok == is_ok && ran.view == seen;
        if self.both.iter().any(|ran| is_like(&ran)) {
            return Ok("as one after the other");
        }
        let refusal = story
            .results
            .iter()
            .find_map(|result| result.as_ref().err());
        if self.alone.iter().any(|ran| is_like(&ran)) && refusal.is_some_and(is_refusal) {
            return Ok("one of them refused");
        }
        let said: Vec<String> = story.results.iter().map(said).collect();
        let groups = seen.groups.iter();
        let groups: Vec<String> = groups.map(|g| format!("{} {}", g.name, g.seqno)).collect();
        Err(format!(
            "not as one after the other: {said:?}, groups {groups:?}"
        ))
    }

    /// What a cut of an interleaving left, in which these commands had reported success.
    pub(super) fn judge_cut(&self, state: &State, succeeded: &[usize]) -> Verdict {
        let promised = &succeeded[..state.marks];
        let mut wrong = None;
        for one in &self.judges {
            let other = 1 - one.command;
            if promised.contains(&other) && !one.is_second {
                continue;
            }
            let is_promised = promised.contains(&one.command);
            match one.judge.judge_disks(&state.images, is_promised) {
                Ok(verdict) => return Ok(verdict),
                Err(what) => wrong = wrong.or(Some(what)),
            }
        }
        Err(wrong.unwrap_or_else(|| "no order of them leaves this".to_owned()))
    }
}

fn ran(host: &Host, command: Command, first: u64, on: &[Image]) -> Result<Ran> {
    let disks = devices(on, Blocks::Small);
    let result = command.run(host, &disks, FlushPolicy::Strict, first);
    let images = contents(&disks)?;
    Ok(Ran {
        view: view(&scan(host, &images)),
        images,
        is_ok: [result.is_ok(), false],
        versions: result.as_ref().map(written).unwrap_or_default(),
    })
}

/// Whether an error says that a command met another one, and not that something is broken.
fn is_refusal(error: &Error) -> bool {
    use Kind::{Locked, Missing, NotFound, Refused, Request, Space};
    [Locked, Missing, NotFound, Refused, Request, Space].contains(&error.kind())
}

fn said<T>(result: &Result<T>) -> String {
    match result {
        Ok(_) => "succeeded".to_owned(),
        Err(error) => error.to_string(),
    }
}
