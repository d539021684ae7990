//! The machine: what it is told, and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use block::{Access, BufferPool, Completion, Info, Kind, Request};

use super::clean::CLEAN_TIMER;
use super::config::{Content, LogPlace, MirrorConfig, Sync};
use super::control::{Control, Event, Notice, Status, Step, Steps};
use super::health::{Drops, ImageState};
use super::journal::{Journal, Waiter};
use super::limits::Limits;
use super::log_image::LogImage;
use super::map::MirrorMap;
use super::operation::{Operation, Operations};
use super::reads::Reads;
use super::regions::Regions;
use super::resync::{COPY_TIMER, Copies};
use crate::Result;
use crate::legs::info_over;
use crate::machine::sealed::Sealed;
use crate::machine::{Face, Machine};

/// Memory for copies of what is written that is kept when nobody uses it, in bytes.
const POOL_MAX: usize = 16 << 20;
/// Bytes of the log that are read at once, at the start.
const LOAD_PIECE: u64 = 1 << 20;

/// A mirror. Give it to a [`crate::home::Home`], with the devices that it was made for.
#[derive(Debug)]
pub struct Mirror {
    pub(super) config: MirrorConfig,
    pub(super) images: Vec<ImageState>,
    pub(super) regions: Regions,
    /// What was read last.
    pub(super) reads: Reads,
    pub(super) journal: Journal,
    pub(super) operations: Operations,
    pub(super) drops: Drops,
    pub(super) copies: Copies,
    pub(super) pool: BufferPool,
    /// Whether discards are carried out, as zeros on all images.
    pub(super) discards: bool,
    pub(super) requests_in_flight: usize,
    pub(super) is_cleaning: bool,
    pub(super) clean_timer: bool,
    pub(super) limits: Limits,
    pub(super) log_block: u32,
    loading: Vec<u8>,
    phase: Phase,
    pub(super) claim: Claim,
    /// What came in while the log was being claimed.
    waiting: Vec<Request>,
}

/// Whether the log speaks of the regions that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// It does, or is read-only.
    Held,
    /// It has to, before the mirror goes on.
    Due,
    /// It is about to; requests wait.
    Underway,
}

#[derive(Debug)]
enum Phase {
    Loading,
    Running,
    /// What is said when all has ended, and what it waits for.
    Ending {
        last: Step,
        until: Ending,
    },
    Suspended,
    Stopped,
}

/// What must be over before a mirror has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// What was asked.
    Drained,
    /// Resting regions become clean.
    Cleaned,
    /// The log becomes one like the kernel's, if all is in sync.
    Released,
}

impl Mirror {
    /// A mirror of what `config` says, on devices that say `devices` of themselves.
    pub fn new(config: MirrorConfig, devices: &[Info]) -> Result<Self> {
        config.validate(devices)?;
        let legs = config.images.iter().map(|image| image.device);
        let map = MirrorMap::new(&config, legs);
        let log_block = config.log_block(devices);
        let present = config.images.iter().filter_map(|image| image.device);
        let discards = present.clone().all(|image| {
            let info = &devices[image];
            info.discard_granularity > 0 && info.discard_zeroes
        });
        let images = config.images.iter().map(|image| ImageState {
            id: image.id,
            device: image.device,
            lost: false,
            in_sync: true,
            errors: 0,
        });
        Ok(Self {
            images: images.collect(),
            regions: Regions::new(Arc::new(map)),
            reads: Reads::default(),
            journal: Journal::default(),
            operations: Operations::default(),
            drops: Drops::default(),
            copies: Copies::default(),
            pool: BufferPool::new(POOL_MAX),
            discards,
            requests_in_flight: 0,
            is_cleaning: false,
            clean_timer: false,
            limits: Limits::default(),
            log_block,
            loading: Vec::new(),
            phase: Phase::Loading,
            claim: Claim::Held,
            waiting: Vec::new(),
            config,
        })
    }

    pub(super) fn is_running(&self) -> bool {
        let is_open = matches!(self.phase, Phase::Running) && self.claim == Claim::Held;
        is_open && self.config.access == Access::ReadWrite
    }

    fn start(&mut self, steps: &mut Steps) {
        if let LogPlace::Disk(device) = self.config.log {
            self.journal.device = device;
            self.load_more(steps);
            return;
        }
        let known = self.config.sync == Sync::Assumed;
        for region in 0..self.regions.count() {
            self.regions.set_in_sync(region, known);
        }
        self.settle_images(&[]);
        self.log_ready(Ok(()), steps);
    }

    fn load_more(&mut self, steps: &mut Steps) {
        let at = self.loading.len() as u64;
        let end = LogImage::len_for(self.regions.count(), self.log_block);
        let len = LOAD_PIECE.min(end - at) as usize;
        self.read_log(at, len, steps);
    }

    fn log_loaded(&mut self, at: u64, answer: Completion, steps: &mut Steps) {
        assert_eq!(at, self.loading.len() as u64);
        if let Err(error) = answer.result {
            let what = format!("{}: the log cannot be read", self.config.name);
            return self.log_ready(Err(error.within(what)), steps);
        }
        self.loading.extend_from_slice(&answer.buffer);
        let count = self.regions.count();
        if (self.loading.len() as u64) < LogImage::len_for(count, self.log_block) {
            return self.load_more(steps);
        }
        let bytes = std::mem::take(&mut self.loading);
        match LogImage::load(bytes, count, self.log_block, self.config.sync) {
            Ok(log) => self.use_log(log, steps),
            Err(error) => {
                let error = error.within(&self.config.name);
                self.log_ready(Err(error), steps);
            }
        }
    }

    fn use_log(&mut self, mut log: LogImage, steps: &mut Steps) {
        log.run_max = self.limits.log_run;
        for region in 0..self.regions.count() {
            self.regions.set_in_sync(region, log.get(region));
        }
        let in_sync = log.recorded_images();
        self.journal.log = Some(log);
        self.settle_images(&in_sync);
        if self.config.access == Access::ReadOnly {
            if let Some(log) = &mut self.journal.log {
                // What would be corrected is not.
                log.take_changed();
            }
            self.log_ready(Ok(()), steps);
        } else {
            self.journal.wait(Waiter::Claim);
        }
    }

    /// The log says what is so; now it says too that it was us who wrote it.
    pub(super) fn claim_log(
        &mut self,
        result: block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        match (result, &mut self.journal.log) {
            (Ok(()), Some(log)) => {
                log.claim(self.config.size / self.config.region_size);
                self.journal.wait(Waiter::Start);
            }
            (result, _) => self.log_claimed(result, now, steps),
        }
    }

    /// The log says what is so, and that it was us; or it cannot be written.
    pub(super) fn log_claimed(
        &mut self,
        result: block::Result<()>,
        now: Duration,
        steps: &mut Steps,
    ) {
        if self.claim != Claim::Underway {
            return self.log_ready(result, steps);
        }
        self.claim = Claim::Held;
        if let Err(error) = &result {
            // Where the log says that images may differ, that may not be durable: nothing is
            // written.
            self.drops.fail(error);
        }
        self.begin_primary_round(steps);
        for request in std::mem::take(&mut self.waiting) {
            self.request(request, now, steps);
        }
    }

    /// Goes on after it was suspended.
    fn resume(&mut self, now: Duration, steps: &mut Steps) {
        self.phase = Phase::Running;
        if self.claim == Claim::Due {
            self.claim = Claim::Underway;
            match self.journal.log {
                Some(_) => self.journal.wait(Waiter::Claim),
                None => self.log_claimed(Ok(()), now, steps),
            }
        }
    }

    /// Decides which images are in sync, of those on record.
    ///
    /// Where all regions are in sync, all are. Without a record it is the first one that holds
    /// anything. An image that is missing misses what is written from now on.
    fn settle_images(&mut self, record: &[u64]) {
        let new = |image: &super::MirrorImage| image.content == Content::Rebuild;
        if self.config.images.iter().any(new) {
            for region in 0..self.regions.count() {
                self.regions.set_in_sync(region, false);
                if let Some(log) = &mut self.journal.log {
                    log.set(region, false);
                }
            }
        }
        let settled = self.regions.all_in_sync();
        let known = |image: &super::MirrorImage| settled || record.contains(&image.id);
        let recorded = self
            .config
            .images
            .iter()
            .any(|image| !new(image) && known(image));
        let mut first = !recorded;
        for (image, state) in self.config.images.iter().zip(&mut self.images) {
            state.in_sync = !new(image) && (known(image) || std::mem::take(&mut first));
        }
        if self.is_usable() {
            for image in &mut self.images {
                image.in_sync &= image.device.is_some();
            }
            self.record_in_sync();
        }
    }

    /// Whether an image is there that is in sync everywhere.
    fn is_usable(&self) -> bool {
        self.images
            .iter()
            .any(|image| image.in_sync && image.is_live())
    }

    /// The log is read and, if it may be written, says what is so.
    pub(super) fn log_ready(&mut self, result: block::Result<()>, steps: &mut Steps) {
        let read_only = self.config.access == Access::ReadOnly;
        let some_in_sync = self.regions.in_sync_count() > 0;
        let result = result.and_then(|()| {
            // Reading what is in sync does no harm; the rest fails.
            if self.is_usable() || (read_only && some_in_sync) {
                return Ok(());
            }
            let what = format!(
                "{}: the remaining images are out of date: others were written while they were \
                 away; bring back the disk of the image that was written last",
                self.config.name
            );
            Err(block::Error::new(Kind::Invalid, what))
        });
        let runs = result.is_ok() && matches!(self.phase, Phase::Loading);
        if runs {
            self.phase = Phase::Running;
        }
        steps.push(Step::Started(result));
        if runs {
            self.begin_primary_round(steps);
        }
    }

    fn answer(&mut self, device: usize, answer: Completion, now: Duration, steps: &mut Steps) {
        let id = answer.tag as usize;
        let place = |image: &ImageState| image.device == Some(device);
        let image = self.images.iter().position(place);
        let image = move || image.expect("the log is not asked this");
        match self.operations.get_mut(id) {
            Operation::LoadLog { at } => {
                let at = *at;
                self.operations.remove(id);
                self.log_loaded(at, answer, steps);
            }
            Operation::LogWrite => {
                self.operations.remove(id);
                self.log_written(answer.result, now, steps);
            }
            Operation::Read(_) => self.read_answered(id, answer, steps),
            Operation::Write(_) => self.write_answered(id, image(), answer, now, steps),
            Operation::Flush(_) => self.flush_answered(id, image(), answer, now, steps),
            Operation::Clean(_) => self.clean_flush_answered(id, image(), answer.result),
            Operation::DropFlush(_) => {
                self.drop_flush_answered(id, image(), answer.result, now, steps);
            }
            Operation::FinishFlush(_) => {
                self.finish_flush_answered(id, image(), answer.result, steps);
            }
            Operation::Copy(_) => self.copy_answered(id, image(), answer, now, steps),
        }
    }

    /// Does what can be done now, after each event.
    fn pump(&mut self, now: Duration, steps: &mut Steps) {
        // What a reload changed is written when the mirror goes on.
        if !matches!(self.phase, Phase::Suspended) {
            while self.drops.wants_round() || self.journal.wants_round() {
                self.pump_drops(now, steps);
                self.pump_journal(now, steps);
            }
            self.pump_copies(now, steps);
            if self.is_running() {
                self.pump_clean(now, steps);
            }
            self.pump_ending(now, steps);
        }
        self.publish();
        if cfg!(debug_assertions) {
            self.regions.check();
            let is_sound = |image: &ImageState| !(image.lost && image.in_sync);
            assert!(
                self.images.iter().all(is_sound),
                "what is lost is out of sync"
            );
        }
    }

    /// Whether a write to a dirty region goes to all images, and is answered when these have done
    /// it.
    pub(super) fn has_all(&self) -> bool {
        let is_recorded = self.drops.is_idle() && self.drops.failure().is_none();
        self.all_live() && is_recorded
    }

    /// Says what may be asked without the home.
    fn publish(&mut self) {
        if !self.has_all() {
            self.regions.close_all();
        }
        let bits = |is: fn(&ImageState) -> bool| {
            let images = self.images.iter().enumerate();
            images.fold(0, |bits, (place, image)| {
                bits | u32::from(is(image)) << place
            })
        };
        let is_open = matches!(self.phase, Phase::Running) && self.claim == Claim::Held;
        if !is_open {
            return self.regions.map().publish(0, None);
        }
        let live = bits(ImageState::is_live);
        let well = bits(|image| image.is_live() && image.errors == 0);
        let is_primary = |image: &ImageState| image.in_sync && image.is_live();
        let primary = self.images.iter().position(is_primary);
        let anywhere = if well == 0 { live } else { well };
        self.regions.map().publish(anywhere, primary);
    }

    fn pump_ending(&mut self, now: Duration, steps: &mut Steps) {
        let Phase::Ending { last, until } = &mut self.phase else {
            return;
        };
        let is_written = self.journal.is_idle() && self.drops.is_idle();
        if !self.operations.is_empty() || !is_written {
            return;
        }
        let stops = matches!(last, Step::Stopped);
        let writes = self.config.access == Access::ReadWrite;
        match *until {
            Ending::Drained if writes => {
                *until = Ending::Cleaned;
                self.clean(now, now, steps);
            }
            Ending::Cleaned if stops => {
                *until = Ending::Released;
                self.release_log();
            }
            _ => {
                self.phase = if stops {
                    Phase::Stopped
                } else {
                    Phase::Suspended
                };
                assert!(self.waiting.is_empty(), "the log is claimed by now");
                return steps.push(if stops {
                    Step::Stopped
                } else {
                    Step::Suspended
                });
            }
        }
        self.pump_journal(now, steps);
        self.pump_ending(now, steps);
    }

    fn release_log(&mut self) {
        let in_sync = self.images.iter().all(|image| image.in_sync);
        let settled = self.regions.all_in_sync() && self.regions.dirty_count() == 0;
        let written = self.journal.failure().is_none();
        // Of a last region that is not whole the record has to say which images are right.
        let whole = self.config.size.is_multiple_of(self.config.region_size);
        if let Some(log) = &mut self.journal.log
            && (in_sync && settled && written && whole)
        {
            log.release();
        }
    }

    fn end(&mut self, last: Step) {
        let until = Ending::Drained;
        self.phase = Phase::Ending { last, until };
    }
}

impl Mirror {
    fn info_of(&self, config: &MirrorConfig, devices: &[Info]) -> Info {
        let images = config.images.iter().filter_map(|image| image.device);
        let images: Vec<&Info> = images.map(|image| &devices[image]).collect();
        let mut info = info_over(&config.name, config.size, &images);
        if self.discards {
            let granularity = images.iter().map(|image| image.discard_granularity);
            info.discard_granularity = granularity.max().unwrap_or(0);
            info.discard_zeroes = true;
        }
        info.read_only = config.access == Access::ReadOnly;
        info
    }
}

impl Sealed for Mirror {}

impl Machine for Mirror {
    type Control = Control;
    type Status = Status;
    type Notice = Notice;
    type Config = MirrorConfig;
    type Map = MirrorMap;

    fn map(&self) -> Arc<MirrorMap> {
        Arc::clone(self.regions.map())
    }

    fn faces(&self, devices: &[Info]) -> Vec<Option<Face>> {
        vec![Some(Face {
            info: self.info_of(&self.config, devices),
            extents_of_leg: None,
        })]
    }

    fn foresee(&self, config: &MirrorConfig, devices: &[Info]) -> Result<Vec<Option<Face>>> {
        self.may_become(config, devices)?;
        let info = self.info_of(config, devices);
        Ok(vec![Some(Face {
            info,
            extents_of_leg: None,
        })])
    }

    fn status(&self) -> Status {
        self.health()
    }

    fn event(&mut self, event: Event, now: Duration, steps: &mut Steps) {
        match event {
            Event::Start => self.start(steps),
            Event::Request { request, .. } if self.claim != Claim::Held => {
                self.waiting.push(request);
            }
            Event::Request { request, .. } => self.request(request, now, steps),
            Event::Answer { leg: image, answer } => self.answer(image, answer, now, steps),
            Event::Timer(CLEAN_TIMER) if self.is_running() => self.clean_timer_fired(now, steps),
            Event::Timer(CLEAN_TIMER) => self.clean_timer = false,
            Event::Timer(COPY_TIMER) => self.copy_timer_fired(),
            Event::Timer(key) => unreachable!("there is no timer {key}"),
            Event::Suspend => self.end(Step::Suspended),
            Event::Reload(config) => self.reload(config),
            Event::Resume => self.resume(now, steps),
            Event::Control {
                id,
                control: Control::Finish,
            } => self.finish(id, steps),
            Event::Control { id, control } => {
                let result = self.obey(control, now, steps);
                steps.push(Step::Obeyed { id, result });
            }
            // It ends with a change: what its legs were may be something else by now.
            Event::Stop if matches!(self.phase, Phase::Suspended) => {
                self.phase = Phase::Stopped;
                return steps.push(Step::Stopped);
            }
            Event::Returned { returned, .. } => self.returned(returned, now, steps),
            Event::Freed => self.regions.reap(now),
            Event::Stop => self.end(Step::Stopped),
        }
        self.pump(now, steps);
    }
}
