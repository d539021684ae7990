//! A mirror that runs over simulated disks, and its description.
//!
//! Whoever keeps the description writes it when the mirror wants another one, and says so later;
//! other things may happen before and in between.

use std::rc::Rc;

use block::Request;
use block::sim::{Disk, Random};

use super::fault::{Activity, SeededFault, saboteur};
use crate::explore;
use crate::mirror::control::Event;
use crate::mirror::{Control, ImageOrder, Mirror, Notice};

/// One run of a mirror, from its start to a cut.
pub(super) struct World {
    /// The mirror and its disks.
    pub(super) runs: explore::World<Mirror>,
    /// How the mirror is described to whoever runs it next.
    pub(super) described: Described,
    /// How it is about to be described.
    pub(super) wanted: Option<Described>,
    /// The description was written, and nobody has said so yet.
    written: bool,
    /// How it was described when it was started: in this order it speaks of its legs.
    started_as: Described,
    /// Whether the next description will be said to have failed.
    pub(super) undescribable: bool,
    /// It was said to have failed.
    pub(super) undescribed: bool,
    pub(super) activity: Rc<Activity>,
    fault: Option<SeededFault>,
    /// What was called written by mistake, and is written some time later.
    late: Option<Described>,
}

/// What everybody knows of a mirror.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Described {
    /// The legs, by their disks; where they may differ the first one is right.
    pub(super) order: Vec<usize>,
    /// They do not differ, wherever nothing else is known.
    pub(super) assumed: bool,
    /// How many of the sectors that are looked at there are.
    pub(super) sectors: u64,
}

impl Described {
    /// In another order of what are its legs now.
    fn reordered(&self, order: &ImageOrder) -> Self {
        let all = order.in_sync.iter().chain(&order.out_of_sync);
        Self {
            order: all.map(|leg| self.order[*leg]).collect(),
            assumed: false,
            sectors: self.sectors,
        }
    }
}

impl World {
    /// `described` is what the mirror was made from: its legs are in that order.
    pub(super) fn start(
        mirror: Mirror,
        disks: Vec<Disk>,
        described: Described,
        (fault, activity): (Option<SeededFault>, Activity),
    ) -> Self {
        let sizes = disks.iter().map(|disk| disk.info().size).collect();
        let activity = Rc::new(activity);
        let mut world = Self {
            runs: explore::World::start(mirror, (disks, sizes), saboteur(fault, &activity)),
            activity,
            fault,
            late: None,
            started_as: described.clone(),
            described,
            wanted: None,
            written: false,
            undescribable: false,
            undescribed: false,
        };
        world.heed();
        world
    }

    pub(super) fn tell(&mut self, event: Event) {
        self.observe();
        self.runs.tell(event);
        self.heed();
    }

    /// Looks which leg a mistake would copy from.
    fn observe(&self) {
        let mut legs = self.runs.machine.images.iter();
        let outdated = legs.find(|leg| leg.is_live() && !leg.in_sync);
        self.activity
            .outdated
            .set(outdated.and_then(|leg| leg.device));
    }

    pub(super) fn submit(&mut self, request: Request) {
        self.observe();
        self.runs.submit(0, request);
        self.heed();
    }

    /// Looks at what the mirror has told.
    fn heed(&mut self) {
        for notice in std::mem::take(&mut self.runs.notices) {
            match notice {
                Notice::Persist(order) => {
                    assert!(self.wanted.is_none(), "one question at a time");
                    let wanted = Described {
                        sectors: self.described.sectors,
                        ..self.started_as.reordered(&order)
                    };
                    if self.fault == Some(SeededFault::AnswerBeforeTold) {
                        self.late = Some(wanted);
                        let control = Control::Persisted;
                        self.tell(Event::Control { id: 0, control });
                    } else {
                        self.wanted = Some(wanted);
                    }
                }
                // Asks for nothing.
                Notice::Lost(_) | Notice::Copied | Notice::Stuck(_) => {}
            }
        }
    }

    /// Lets one thing happen: the description is written, some disk answers, or, if `patience` is
    /// over, time passes. Whether there was anything.
    pub(super) fn step(&mut self, random: &mut Random, patience: u64) -> bool {
        if self.wanted.is_some() && (self.runs.is_quiet() || random.chance(1, 8)) {
            self.describe(random);
            return true;
        }
        if self.late.is_some()
            && random.chance(1, 64)
            && let Some(late) = self.late.take()
        {
            self.described.order = late.order;
            self.described.assumed = late.assumed;
        }
        self.observe();
        let any = self.runs.step(random, patience);
        self.heed();
        any
    }

    /// Writes the description that was asked for; the next time, says so. Where that fails, it may
    /// be written all the same.
    fn describe(&mut self, random: &mut Random) {
        let fails = self.undescribable;
        if !self.written {
            self.written = true;
            if !fails || random.chance(1, 2) {
                self.described = self.wanted.clone().expect("somebody asked");
            }
            return;
        }
        self.written = false;
        self.wanted = None;
        self.undescribable = false;
        self.undescribed |= fails;
        let control = if fails {
            Control::PersistFailed("there is no room".to_owned())
        } else {
            Control::Persisted
        };
        self.tell(Event::Control { id: 0, control });
    }
}
