//! Rings with large texts, which go round the end, and areas that are filled to the last block.
//!
//! The other cases make a few small commits and never leave the first quarter of a ring. Here tags
//! make texts large, and more commits move the place of the next one on, until it is at the start
//! again. Where stock left a large text in the middle, the next one has to lie on both sides of the
//! end. What fits just so is looked for: a little more must be refused with nothing written.

use block::Range;
use block::sim::Image;
use lvm2::ondisk::{AreaHeader, Ring};
use lvm2::plan::group::GroupAttribute as G;
use lvm2::plan::initialise::AreaCount;

use super::blocks::Blocks;
use super::campaign::{contents, host, prepare};
use super::cases::{Case, Mishap};
use super::command::Command as C;
use super::settle::settle;
use super::view::{devices, scan};
use crate::commit::FlushPolicy;
use crate::host::Host;
use crate::{Error, Kind, Result};

/// Bytes of tags in a group, for texts of an eighth to a third of a ring.
const FILLS: [usize; 3] = [16_000, 24_000, 45_000];
/// For a text that leaves no room for the next one before it or behind it alone.
const SPLITTING: usize = 50_000;
/// Small changes before the command: each moves its text on by one text.
const MOVES: [&str; 8] = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"];
/// Where the largest text that fits is looked for.
const STEP: usize = 64;
const STEPS_MAX: usize = 1024;
/// Bytes of tags that the command adds.
const ADDED: usize = 700;
/// The first number of these cases: far behind the others.
const NUMBER: usize = 1000;

/// Cases on one disk, and what was found while they were made.
#[derive(Debug, Clone, Default)]
pub struct Rings {
    /// What is to be explored.
    pub cases: Vec<Case>,
    /// How many of them write a text before the last one: round the end of a ring.
    pub round: u64,
    /// How many write one that lies on both sides of the end.
    pub split: u64,
    /// How many areas were filled to the last block, and more of it refused.
    pub full: u64,
}

impl Rings {
    /// Makes the cases for disks with so many areas, with each kind of blocks. Fails for two: the
    /// second one is too small.
    pub fn of(areas: AreaCount) -> Result<Self> {
        let mut rings = Self::default();
        for blocks in [Blocks::Small, Blocks::LargePhysical, Blocks::LargeLogical] {
            rings.go_round(areas, blocks)?;
        }
        // Where the last blocks are taken, texts share physical ones: their loss is no promise.
        for blocks in [Blocks::Small, Blocks::LargeLogical] {
            rings.fill(areas, blocks)?;
        }
        // With larger blocks there is no place for it: it would share one with other texts.
        rings.split(areas)?;
        for (number, case) in rings.cases.iter_mut().enumerate() {
            case.set_number(NUMBER + number);
        }
        Ok(rings)
    }

    /// For each size of a text: the change that writes it round the end, and the one after it.
    fn go_round(&mut self, areas: AreaCount, blocks: Blocks) -> Result<()> {
        let host = host()?;
        for fill in FILLS {
            for moves in 0..MOVES.len() {
                let case = case((areas, blocks), fill, moves);
                let before = prepare(&host, &case)?;
                let after = run(&host, &case, &before)?;
                let [was, is] = [&before, &after].map(|images| places(&host, images));
                if was[0].0 > is[0].0 {
                    let next = self::case((areas, blocks), fill, moves + 1);
                    self.cases.extend([case, next]);
                    self.round += 1;
                    break;
                }
            }
        }
        Ok(())
    }

    /// The change whose text lies on both sides of the end.
    fn split(&mut self, areas: AreaCount) -> Result<()> {
        let host = host()?;
        let mut case = case((areas, Blocks::Small), SPLITTING, 0);
        case.mishap = Mishap::InTheMiddle;
        let after = run(&host, &case, &prepare(&host, &case)?)?;
        self.split += u64::from(places(&host, &after).iter().all(|(_, pieces)| *pieces > 1));
        self.cases.push(case);
        Ok(())
    }

    /// The largest text that leaves room for the command and the next one.
    fn fill(&mut self, areas: AreaCount, blocks: Blocks) -> Result<()> {
        let host = host()?;
        for moves in 0..2 {
            let case = |steps: usize| case((areas, blocks), steps * STEP, moves);
            let fits = |case: &Case| {
                let before = prepare(&host, case)?;
                let after = run(&host, case, &before)?;
                let settled = settle(&host, case.command, &after);
                settled.map_err(|what| Error::new(Kind::Space, what))
            };
            let (mut fit, mut over) = (1, STEPS_MAX);
            while over - fit > 1 {
                let middle = usize::midpoint(fit, over);
                match fits(&case(middle)) {
                    Ok(_) => fit = middle,
                    Err(_) => over = middle,
                }
            }
            self.cases.push(case(fit));
            self.full += 1;
            require_refusal(&host, (over..STEPS_MAX).map(case))?;
        }
        Ok(())
    }
}

/// The first of `cases` whose command is refused leaves the disks as they were, and says why.
fn require_refusal(host: &Host, cases: impl Iterator<Item = Case>) -> Result<()> {
    for case in cases {
        let before = prepare(host, &case)?;
        let disks = devices(&before, case.blocks);
        let result = case.command.run(host, &disks, FlushPolicy::Strict, 600_000);
        let Err(error) = result else { continue };
        let after = contents(&disks)?;
        let text = error.to_string();
        let is_clear = error.kind() == Kind::Refused && text.contains("disk0");
        let is_same = before
            .iter()
            .zip(&after)
            .all(|(was, is)| was.is_same_in(is, Range::new(0, was.size())));
        if !is_clear || !is_same {
            let what = format!("{case:?} is not refused as it should be: {text}");
            return Err(Error::new(Kind::Damaged, what));
        }
        return Ok(());
    }
    Err(Error::new(Kind::Damaged, "no text is too large"))
}

fn case((areas, blocks): (AreaCount, Blocks), fill: usize, moves: usize) -> Case {
    let mut setup = vec![
        C::PvCreate(0, areas),
        C::VgCreate("vg0", &[0]),
        C::VgFill("vg0", fill),
    ];
    let moves = MOVES.iter().take(moves);
    setup.extend(moves.map(|name| C::VgChange("vg0", G::AddTag(name))));
    Case::on_one_disk((areas, blocks), &setup, C::VgFill("vg0", ADDED))
}

fn run(host: &Host, case: &Case, before: &[Image]) -> Result<Vec<Image>> {
    let disks = devices(before, case.blocks);
    case.command
        .run(host, &disks, FlushPolicy::Strict, 600_000)?;
    contents(&disks)
}

/// For each area where its text begins in the ring, and in how many pieces it lies.
fn places(host: &Host, images: &[Image]) -> Vec<(u64, usize)> {
    let found = scan(host, images);
    let areas = found.physical_volumes.iter().flat_map(|pv| &pv.areas);
    let place = |header: AreaHeader| {
        let text = header.committed?;
        let pieces = Ring::new(&header).spans(&text).ok()?.len();
        Some((text.offset.0, pieces))
    };
    let headers = areas.filter_map(|area| area.header);
    headers.filter_map(place).collect()
}
