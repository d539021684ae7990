//! A machine, its simulated disks, and a scheduler that decides what happens next.
//!
//! The legs of the machine are disks with the same numbers. They fail as it is arranged
//! ([`World::arrange`]). After a failed flush, or write with FUA, a disk fails all others, those
//! in flight too: [`block::Checked`] sees to that where disks are real. A leg may be smaller than
//! its disk, and grow.
//!
//! What the machine asks for is held against the rules of [`Machine`]: the first one that is
//! broken is kept for [`World::broken`]. What it answers and tells is kept for whoever looks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use block::sim::{Disk, Random, Ticket};
use block::{Buffer, Completion, Durability, Info, Kind, Operation, Range, Request};

use super::direct::Directly;
use super::{Mischief, Model, SECTOR, Sabotage, Saboteur};
use crate::machine::{Event, EventOf, Machine, Step, Steps};

/// One run of a machine, from its start to a cut.
pub(crate) struct World<M: Machine> {
    pub(crate) machine: M,
    /// The legs, by number.
    pub(crate) disks: Vec<Disk>,
    /// How many bytes of each disk are the leg.
    sizes: Vec<u64>,
    saboteur: Saboteur,
    /// What requests may go by, without the machine.
    pub(super) map: Option<Arc<M::Map>>,
    pub(super) directly: Directly<M>,
    /// What is done wrong with these.
    pub(crate) mischief: Option<Mischief>,
    /// What was answered and not looked at.
    pub(crate) done: Vec<Completion>,
    /// What was told and not looked at.
    pub(crate) notices: Vec<M::Notice>,
    /// Orders that were obeyed, or not, and that nobody looked at.
    pub(crate) obeyed: Vec<(u64, block::Result<()>)>,
    pub(crate) started: Option<block::Result<()>>,
    pub(crate) suspended: bool,
    pub(crate) stopped: bool,
    arranged: Vec<(usize, Sort)>,
    /// Disks that failed a flush or a write with FUA.
    latched: Vec<bool>,
    /// Disks that failed a write or a flush.
    pub(crate) failed: Vec<bool>,
    /// What is in flight, by leg.
    flying: BTreeMap<(usize, Ticket), Flying>,
    /// Writes that were answered and not begun or ended; the machine knows nothing of it.
    late: BTreeMap<(usize, Ticket), Range>,
    /// Answers to what was never begun.
    feigned: Vec<(usize, Completion)>,
    /// Tags in flight, by leg.
    tags: BTreeSet<(usize, u64)>,
    timers: Vec<(Duration, u64)>,
    now: Duration,
    steps: Steps<M::Notice>,
    broken: Option<String>,
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
struct Flying {
    sort: Sort,
    /// A flush, or a write with FUA, as far as the machine knows.
    durable: bool,
    /// Who asked, if not the machine.
    directly: Option<usize>,
}

/// A sort of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Read,
    Write,
    Flush,
}

impl Sort {
    pub(crate) fn of(request: &Request) -> Self {
        match request.operation {
            Operation::Read => Self::Read,
            Operation::Flush => Self::Flush,
            _ => Self::Write,
        }
    }
}

impl<M: Machine> World<M> {
    /// Starts `machine`, whose legs are these disks, or as many bytes of them as there are `sizes`.
    pub(crate) fn start(
        machine: M,
        (disks, sizes): (Vec<Disk>, Vec<u64>),
        saboteur: Saboteur,
    ) -> Self {
        let count = disks.len();
        assert_eq!(sizes.len(), count, "each leg has a size");
        let mut world = Self {
            machine,
            disks,
            sizes,
            saboteur,
            map: None,
            directly: Directly::new(),
            mischief: None,
            done: Vec::new(),
            notices: Vec::new(),
            obeyed: Vec::new(),
            started: None,
            suspended: false,
            stopped: false,
            arranged: Vec::new(),
            latched: vec![false; count],
            failed: vec![false; count],
            flying: BTreeMap::new(),
            late: BTreeMap::new(),
            feigned: Vec::new(),
            tags: BTreeSet::new(),
            timers: Vec::new(),
            now: Duration::ZERO,
            steps: Steps::default(),
            broken: None,
        };
        world.tell(Event::Start);
        world
    }

    /// What the legs say about themselves.
    pub(crate) fn infos(&self) -> Vec<Info> {
        infos(&self.disks, &self.sizes)
    }

    /// Whether nothing is in flight, as far as the machine knows.
    pub(crate) fn is_quiet(&self) -> bool {
        self.flying.is_empty() && self.feigned.is_empty() && self.directly.is_empty()
    }

    /// The first rule of machines that this one broke.
    pub(crate) fn broken(&self) -> Result<(), String> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// The next request of this sort to this leg fails.
    pub(crate) fn arrange(&mut self, leg: usize, sort: Sort) {
        self.arranged.push((leg, sort));
    }

    /// Puts another disk in the place of a leg, which nobody uses.
    pub(crate) fn put(&mut self, leg: usize, disk: Disk, size: u64) {
        assert!(self.flying.keys().all(|(other, _)| *other != leg), "unused");
        self.late.retain(|(other, _), _| *other != leg);
        self.arranged.retain(|(other, _)| *other != leg);
        self.disks[leg] = disk;
        self.sizes[leg] = size;
        self.latched[leg] = false;
        self.failed[leg] = false;
    }

    /// A leg has another size from now on; the machine has to be told by a reload.
    pub(crate) fn resize(&mut self, leg: usize, size: u64) {
        assert!(size <= self.disks[leg].info().size, "the disk is so large");
        self.sizes[leg] = size;
    }

    pub(crate) fn submit(&mut self, face: usize, request: Request) {
        if let Err(request) = self.submit_directly(face, request) {
            self.tell(Event::Request { face, request });
        }
    }

    /// Another machine takes the place of this one, which is suspended. It is told to start next.
    pub(crate) fn succeed(&mut self, machine: M) {
        assert!(self.suspended && self.is_quiet(), "nothing is under way");
        self.machine = machine;
        self.timers.clear();
        (self.started, self.map) = (None, None);
    }

    /// Reads so many sectors, one after the other, while nobody else asks; they must hold what
    /// `model` says.
    pub(crate) fn read_sectors(
        &mut self,
        model: &mut Model,
        count: u64,
    ) -> Result<Vec<Buffer>, String> {
        let mut random = Random::new(1);
        let mut read = Vec::new();
        for sector in 0..count {
            let range = Range::new(sector * SECTOR, SECTOR);
            let since = model.expected(false);
            let buffer = Buffer::zeroed(SECTOR as usize);
            self.submit(0, Request::read(sector, range.start(), buffer));
            while self.step(&mut random, 1) {}
            let answer = self.done.pop().ok_or("it does not answer")?;
            let failed = |error| format!("sector {sector}: {error}");
            answer.result.map_err(failed)?;
            model.judge(range, &answer.buffer, &since)?;
            read.push(answer.buffer);
        }
        Ok(read)
    }

    /// Reads and writes that the machine never heard of.
    pub(crate) fn asked_directly(&self) -> [u64; 2] {
        self.directly.ended
    }

    pub(crate) fn tell(&mut self, event: EventOf<M>) {
        let event = match event {
            Event::Suspend | Event::Stop => match self.wait_for_direct(event) {
                Some(event) => event,
                None => return,
            },
            event => event,
        };
        match &event {
            Event::Start | Event::Suspend | Event::Resume | Event::Stop => self.suspended = false,
            _ => {}
        }
        let (opens, changes) = match &event {
            Event::Start | Event::Resume => (true, false),
            Event::Reload(_) => (false, true),
            _ => (false, false),
        };
        self.now += Duration::from_micros(1);
        self.machine.event(event, self.now, &mut self.steps);
        if opens {
            self.open_direct();
        }
        if changes {
            self.map = Some(self.machine.map());
        }
        self.carry_out();
    }

    fn carry_out(&mut self) {
        while let Some(step) = self.steps.pop() {
            if self.stopped {
                self.accuse("it has stopped and asks for more".into());
            }
            match step {
                Step::Started(result) => {
                    self.map = Some(self.machine.map());
                    if self.started.replace(result).is_some() {
                        self.accuse("it starts twice".into());
                    }
                }
                Step::Done(answer) => self.done.push(answer),
                Step::Sub { leg, request } => self.begin(leg, request),
                Step::Timer { at, key } => self.timers.push((at, key)),
                Step::Suspended => {
                    self.quiet_or_broken("suspended");
                    self.suspended = true;
                }
                Step::Stopped => {
                    self.quiet_or_broken("stopped");
                    self.stopped = true;
                }
                Step::Notice(notice) => self.notices.push(notice),
                Step::Obeyed { id, result } => self.obeyed.push((id, result)),
            }
        }
    }

    fn accuse(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    fn quiet_or_broken(&mut self, what: &str) {
        if !self.is_quiet() {
            self.accuse(format!("it says that it is {what} with requests in flight"));
        }
    }

    /// What is improper about a request to a leg.
    fn objection(
        &self,
        leg: usize,
        request: &Request,
        is_of_machine: bool,
    ) -> Option<&'static str> {
        let (range, sort) = (request.range, Sort::of(request));
        let block = u64::from(self.disks[leg].info().logical_block);
        let has_buffer = matches!(request.operation, Operation::Read | Operation::Write);
        let len = if has_buffer { range.len() } else { 0 };
        if self.suspended {
            Some("comes while it is suspended")
        } else if range.end() > self.sizes[leg] {
            Some("reaches past its end")
        } else if !range.is_aligned(block) {
            Some("is not aligned")
        } else if sort != Sort::Flush && range.is_empty() {
            Some("is empty")
        } else if request.buffer.len() as u64 != len {
            Some("has a buffer of another length")
        } else if is_of_machine && self.tags.contains(&(leg, request.tag)) {
            Some("has a tag that is in flight")
        } else {
            None
        }
    }

    /// Begins a request that the machine does not know.
    pub(super) fn begin_sub(&mut self, leg: usize, request: Request, number: usize) {
        if let Some(what) = self.objection(leg, &request, false) {
            let (operation, range) = (request.operation, request.range);
            self.accuse(format!(
                "{operation:?} of {range:?} of leg {leg}, without the machine, {what}"
            ));
        }
        self.end_late(leg, request.range);
        let sort = Sort::of(&request);
        self.pass(leg, request, (sort, Some(number)));
    }

    fn begin(&mut self, leg: usize, request: Request) {
        if let Some(what) = self.objection(leg, &request, true) {
            let (operation, range) = (request.operation, request.range);
            self.accuse(format!("{operation:?} of {range:?} of leg {leg} {what}"));
        }
        self.end_late(leg, request.range);
        self.tags.insert((leg, request.tag));
        let sort = Sort::of(&request);
        let sabotage = self.saboteur.choose(leg, &request);
        match sabotage {
            None => self.pass(leg, request, (sort, None)),
            Some(Sabotage::Volatile) => {
                let request = Request {
                    durability: Durability::Volatile,
                    ..request
                };
                self.pass(leg, request, (sort, None));
            }
            Some(Sabotage::Skipped) => self.feigned.push((leg, request.complete(Ok(())))),
            Some(Sabotage::Elsewhere(other)) => {
                assert_eq!(sort, Sort::Read, "only reads go elsewhere");
                self.end_late(other, request.range);
                let ticket = self.disks[other].begin(request);
                let answer = self.disks[other].finish(ticket);
                self.feigned.push((leg, answer));
            }
            Some(Sabotage::Early) => {
                assert_eq!(sort, Sort::Write, "only writes can be late");
                let answer = Completion {
                    tag: request.tag,
                    result: Ok(()),
                    buffer: Buffer::copy_of(&request.buffer),
                };
                let range = request.range;
                let ticket = self.disks[leg].begin(request);
                self.late.insert((leg, ticket), range);
                self.feigned.push((leg, answer));
            }
        }
    }

    /// Gives a request to its disk.
    fn pass(&mut self, leg: usize, request: Request, (sort, directly): (Sort, Option<usize>)) {
        let durable = sort == Sort::Flush || request.durability == Durability::Fua;
        let arranged = self.arranged.iter().position(|one| *one == (leg, sort));
        if let Some(arranged) = arranged {
            self.arranged.remove(arranged);
        }
        let disk = &mut self.disks[leg];
        if arranged.is_some() || (durable && self.latched[leg]) {
            let next = disk.begun() + 1;
            disk.faults_mut().failing.insert(next, Kind::Io);
            self.failed[leg] |= sort != Sort::Read;
        }
        let ticket = disk.begin(request);
        let flying = Flying {
            sort,
            durable,
            directly,
        };
        self.flying.insert((leg, ticket), flying);
    }

    /// Ends late writes where somebody asks now: who sees that they are late loses nothing by it.
    fn end_late(&mut self, leg: usize, range: Range) {
        let late = self.late.iter();
        let met =
            late.filter(|((other, _), late)| *other == leg && late.intersection(range).is_some());
        for key in met.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.late.remove(&key);
            self.disks[leg].finish(key.1);
        }
    }

    /// Lets one thing happen: some disk answers, or, if `patience` is over, time passes. Whether
    /// there was anything.
    pub(crate) fn step(&mut self, random: &mut Random, patience: u64) -> bool {
        let direct = self.direct_count();
        let count = self.flying.len() + self.feigned.len() + direct;
        if !self.late.is_empty() && (count == 0 || random.chance(1, 64)) {
            let index = random.index(self.late.len());
            let key = *self.late.keys().nth(index).expect("there are so many");
            self.late.remove(&key);
            self.disks[key.0].finish(key.1);
            return true;
        }
        if !self.timers.is_empty() && (count == 0 || random.chance(1, patience)) {
            self.timers.sort_unstable();
            let (at, key) = self.timers.remove(0);
            self.now = self.now.max(at);
            self.tell(Event::Timer(key));
            return true;
        }
        if count == 0 {
            return false;
        }
        let index = random.index(count);
        if index < direct {
            self.step_direct(index, random);
            return true;
        }
        let index = index - direct;
        if let Some(feigned) = index.checked_sub(self.flying.len()) {
            let (leg, answer) = self.feigned.swap_remove(feigned);
            self.answer(leg, answer);
        } else {
            let key = *self.flying.keys().nth(index).expect("there are so many");
            self.finish(key);
        }
        true
    }

    fn finish(&mut self, key: (usize, Ticket)) {
        let (leg, ticket) = key;
        let flying = self.flying.remove(&key).expect("it is in flight");
        let Flying { sort, durable, .. } = flying;
        let mut answer = self.disks[leg].finish(ticket);
        if durable {
            self.latched[leg] |= answer.result.is_err();
            if self.latched[leg] && answer.result.is_ok() {
                let what = "another flush failed";
                answer.result = Err(block::Error::new(Kind::FlushFailed, what));
            }
        }
        self.failed[leg] |= answer.result.is_err() && sort != Sort::Read;
        match flying.directly {
            Some(number) => self.answer_directly(leg, number, answer),
            None => self.answer(leg, answer),
        }
    }

    fn answer(&mut self, leg: usize, answer: Completion) {
        self.tags.remove(&(leg, answer.tag));
        self.tell(Event::Answer { leg, answer });
    }

    /// Kills the process that runs the machine: of what is in flight some was sent, and of that
    /// some is seen and not durable, whatever was asked. What the caches of the disks hold is not
    /// lost.
    pub(crate) fn kill(mut self, random: &mut Random) -> Vec<Disk> {
        for disk in &mut self.disks {
            for ticket in disk.in_flight().collect::<Vec<_>>() {
                match random.below(3) {
                    0 => disk.abandon(ticket),
                    1 => disk.interrupt(ticket),
                    _ => disk.finish_unheard(ticket),
                }
            }
        }
        self.disks
    }
}

/// What legs say that are so many bytes of these disks.
pub(crate) fn infos(disks: &[Disk], sizes: &[u64]) -> Vec<Info> {
    let both = disks.iter().zip(sizes);
    both.map(|(disk, size)| Info {
        size: *size,
        ..disk.info().clone()
    })
    .collect()
}
