//! Waits until what is being moved is moved, and moves it where nobody else does.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar::apply::HostDisks;
use ashlar::live::{Client, VolumeStatus};
use ashlar::scan::{FoundVg, Options, scan};
use lvm2::model::{AllocationMap, VolumeGroup};
use lvm2::plan::physical::{Move, moves};
use lvm2::{Extents, Uuid};

use super::begin::plain;
use super::command::BACKGROUND;
use super::progress::{bytes_left, is_copied, sources, stands_still};
use crate::args::{Arguments, Error, flags};
use crate::commands::background::{leave_terminal, log_path, run_again};
use crate::commands::change::activation::require_usable;
use crate::commands::change::arguments::INTERVAL_DEFAULT;
use crate::commands::cp::{Bar, Signals};
use crate::commands::{Disks, Session};
use crate::live::{LocalGroup, Owned, own, stay};

/// Tells a process that it only follows.
const FOLLOWER_VARIABLE: &str = "ASHLAR_PVMOVE_FOLLOWS";
/// How often to ask the owner.
const PERIOD: Duration = Duration::from_millis(250);
/// How often to look at the disks while the owner says nothing of a move, at last.
const LOOK_MAX: Duration = Duration::from_secs(5);

/// For how long an owner may say nothing of a move: between two pieces it does so.
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// Whether this process was started to follow what another one began.
pub(super) fn is_follower() -> bool {
    std::env::var_os(FOLLOWER_VARIABLE).is_some()
}

/// Waits for the moves from the physical volume that is named, or for all.
pub(super) fn follow(
    arguments: &Arguments,
    interval: Duration,
    session: &mut Session,
) -> Result<(), Error> {
    let is_unseen = arguments.has(&BACKGROUND) && arguments.operands().is_empty();
    let disks = if is_unseen {
        session.quiet_disks(arguments)?
    } else {
        session.disks(arguments)?
    };
    let is_named = |group: &FoundVg, one: &Move| {
        let Some(source) = arguments.operands().first() else {
            return true;
        };
        let source = disks.scan.find_device(plain(source), None);
        one.sources.iter().any(|pv| {
            let found = group.member(*pv).and_then(|member| member.presence.found());
            found.is_some_and(|found| Some(disks.scan.pv(found).device) == source)
        })
    };
    for group in &disks.scan.groups {
        let all = moves(&group.model).into_iter();
        let all: Vec<Move> = all.filter(|one| is_named(group, one)).collect();
        if all.is_empty() {
            continue;
        }
        if let Some(error) = require_usable(group).err() {
            session.fail_later(&error.to_string());
            continue;
        }
        if arguments.has(&BACKGROUND) && !is_follower() {
            start_follower(group, session)?;
            continue;
        }
        let mut following = Following::new(group, all, interval, arguments.has(&flags::QUIET));
        following.run(&disks, group, session, None)?;
    }
    Ok(())
}

/// What comes when nothing is left of the moves that were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::change) enum Next {
    /// More moves, which have begun.
    Begun,
    /// Nothing more.
    End,
}

/// Begins what comes next.
type Begin<'b> = dyn FnMut(&mut Session) -> Result<Next, Error> + 'b;

/// Waits for all moves in a group, and for those that `next` begins when these have ended, until it
/// says that there are no more.
pub(in crate::commands::change) fn follow_group(
    arguments: &Arguments,
    disks: &Disks,
    group: &FoundVg,
    session: &mut Session,
    next: &mut Begin<'_>,
) -> Result<(), Error> {
    let interval = Duration::from_secs(INTERVAL_DEFAULT);
    let all = moves(&group.model);
    let mut following = Following::new(group, all, interval, arguments.has(&flags::QUIET));
    // It was looked at before the first of them began.
    following.take_all(disks)?;
    following.run(disks, group, session, Some(next))
}

/// Runs this command line again in the background, unless somebody owns the group.
fn start_follower(group: &FoundVg, session: &mut Session) -> Result<(), Error> {
    let client = Client::find(group.uuid).map_err(|error| Error::failed(error.to_string()))?;
    if client.is_some() {
        return Ok(());
    }
    run_again(FOLLOWER_VARIABLE, "Cannot go on in the background")?;
    session.tell(&format!(
        "{} is moved in the background; what is wrong there is said in {}.",
        group.name,
        log_path()?.display()
    ));
    Ok(())
}

/// Moves of one group that are waited for.
struct Following {
    group: Uuid,
    /// As they were when this began.
    all: Vec<Move>,
    /// Where what is moved lay: physical volumes and their extents.
    sources: Vec<(Uuid, Extents)>,
    /// Bytes of an extent.
    extent: u64,
    bar: Option<Bar>,
    interval: Duration,
    said: Option<Instant>,
    /// When the owner said last that it copies.
    copied: Instant,
    /// The group as it was found last, when that was, and how long to believe it while the owner
    /// says nothing of a move.
    found: Option<(Arc<VolumeGroup>, Instant)>,
    patience: Duration,
    is_quiet: bool,
}

/// What a look found.
enum Looked {
    Moving,
    Over,
    /// Nobody has the group any more.
    Unowned,
}

/// Who has the group.
enum Holder {
    Here(LocalGroup),
    Elsewhere(Client),
}

impl Following {
    fn new(group: &FoundVg, all: Vec<Move>, interval: Duration, is_quiet: bool) -> Self {
        let vg = &group.model;
        let extent = vg.extent_size.to_bytes().map_or(0, |bytes| bytes.0);
        let mut following = Self {
            group: group.uuid,
            sources: Vec::new(),
            all: Vec::new(),
            extent,
            bar: None,
            interval,
            said: None,
            copied: Instant::now(),
            found: None,
            patience: Duration::ZERO,
            is_quiet: is_quiet || is_follower(),
        };
        following.take(vg, all);
        following
    }

    /// Waits for these from now on.
    fn take(&mut self, vg: &VolumeGroup, all: Vec<Move>) {
        let total: u64 = all.iter().map(|one| one.extents.0).sum();
        let is_shown = std::io::stderr().is_terminal() && !self.is_quiet;
        self.sources = all.iter().flat_map(|one| sources(vg, one)).collect();
        self.bar = is_shown.then(|| Bar::new(total * self.extent));
        self.all = all;
        self.found = None;
        self.copied = Instant::now();
    }

    fn run(
        &mut self,
        disks: &Disks,
        group: &FoundVg,
        session: &mut Session,
        mut next: Option<&mut Begin<'_>>,
    ) -> Result<(), Error> {
        let signals = Signals::watch()?;
        let source = HostDisks {
            source: disks.source.clone(),
            options: Options::default(),
        };
        let mut holder = Self::holder(disks, &source, group)?;
        if is_follower() {
            session.line("ready")?;
            session.out().flush()?;
            leave_terminal()?;
        }
        let outcome = loop {
            match self.look(disks, group, &mut holder, session) {
                Ok(Looked::Moving) => {}
                Ok(Looked::Unowned) => {
                    // The owner has ended: somebody has to go on.
                    holder = Self::holder(disks, &source, group)?;
                    continue;
                }
                Ok(Looked::Over) => {
                    let Some(next) = &mut next else { break Ok(()) };
                    signals.check()?;
                    match next(session) {
                        Ok(Next::Begun) => {
                            self.take_all(disks)?;
                            continue;
                        }
                        Ok(Next::End) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                }
                Err(error) => break Err(error),
            }
            let is_stopped = matches!(&holder, Holder::Here(local) if local.is_stopped());
            if let Err(ended) = signals.check() {
                self.clear();
                self.rests(&holder, &group.name, session);
                return Err(ended);
            }
            if is_stopped {
                self.rests(&holder, &group.name, session);
                break Ok(());
            }
            std::thread::sleep(PERIOD);
        };
        self.clear();
        // Others may have come to use volumes here.
        Self::leave(holder, &signals)?;
        outcome
    }

    /// Looks how far all is, and says so.
    fn look(
        &mut self,
        disks: &Disks,
        group: &FoundVg,
        holder: &mut Holder,
        session: &mut Session,
    ) -> Result<Looked, Error> {
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        let statuses = match holder {
            Holder::Here(local) => Some(local.group.status()),
            Holder::Elsewhere(client) => client.status().map_err(failed)?,
        };
        let Some(statuses) = statuses else {
            return Ok(Looked::Unowned);
        };
        let vg = self.vg(disks, group, &statuses)?;
        let left = moves(&vg);
        let ours = |one: &&Move| self.all.iter().any(|all| all.uuid == one.uuid);
        let left: Vec<&Move> = left.iter().filter(ours).collect();
        if left.is_empty() {
            return self.outcome(&vg, &group.name).map(|()| Looked::Over);
        }
        self.show(&left, &statuses, session)?;
        if let Some(error) = stands_still(&left, &statuses, &group.name) {
            return Err(error);
        }
        if left.iter().all(|one| is_copied(one, &statuses)) {
            self.copied = Instant::now();
        } else if self.copied.elapsed() > SILENCE_MAX {
            let what = format!(
                "Nothing moves in {}: see the warnings of the process that serves it, and whether \
                 its disks are there; ashlar pvmove --abort ends it",
                group.name
            );
            return Err(Error::failed(what));
        }
        Ok(Looked::Moving)
    }

    /// The group. While the owner says of all moves how far they are, nothing else has changed that
    /// matters here; otherwise the disks are looked at, less and less often.
    fn vg(
        &mut self,
        disks: &Disks,
        group: &FoundVg,
        statuses: &[VolumeStatus],
    ) -> Result<Arc<VolumeGroup>, Error> {
        if let Some((vg, found)) = &self.found {
            let ours = |one: &&Move| self.all.iter().any(|all| all.uuid == one.uuid);
            let left = moves(vg);
            if left.iter().filter(ours).all(|one| is_copied(one, statuses)) {
                self.patience = Duration::ZERO;
                return Ok(Arc::clone(vg));
            }
            if found.elapsed() < self.patience {
                return Ok(Arc::clone(vg));
            }
            self.patience = (2 * self.patience).clamp(PERIOD, LOOK_MAX);
        }
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        let scan = scan(&disks.host, &disks.source, &Options::default()).map_err(failed)?;
        let Some(found) = scan.group(self.group) else {
            let what = format!("The volume group {} is gone", group.name);
            return Err(Error::failed(what));
        };
        let vg = Arc::clone(&found.model);
        self.found = Some((Arc::clone(&vg), Instant::now()));
        Ok(vg)
    }

    /// Says what becomes of a move that is not over.
    fn rests(&self, holder: &Holder, group: &str, session: &mut Session) {
        if matches!(holder, Holder::Here(_)) && !self.is_quiet {
            session.tell(&format!(
                "What is not moved yet rests: pvmove goes on with it, and so does whoever serves \
                 {group}; pvmove --abort ends it.",
            ));
        }
    }

    fn holder(disks: &Disks, source: &HostDisks, group: &FoundVg) -> Result<Holder, Error> {
        match own(&disks.host, source, group) {
            Ok(Owned::Local(local)) => Ok(Holder::Here(local)),
            Ok(Owned::Remote(client)) => Ok(Holder::Elsewhere(client)),
            Err(error) => Err(Error::failed(error.to_string())),
        }
    }

    /// Waits for all moves that there are in the group now; those that have ended meanwhile are not
    /// there any more.
    fn take_all(&mut self, disks: &Disks) -> Result<(), Error> {
        let failed = |error: ashlar::Error| Error::failed(error.to_string());
        let scan = scan(&disks.host, &disks.source, &Options::default()).map_err(failed)?;
        if let Some(found) = scan.group(self.group) {
            self.take(&found.model, moves(&found.model));
        }
        Ok(())
    }

    /// Stays for those who came to use volumes here meanwhile.
    fn leave(holder: Holder, signals: &Signals) -> Result<(), Error> {
        let Holder::Here(local) = holder else {
            return Ok(());
        };
        // It was interrupted once and for all: a volume that is in use then is waited for.
        let mut was_asked = false;
        let asked = || !std::mem::replace(&mut was_asked, signals.check().is_err()) && was_asked;
        stay(&[local], asked, || false);
        signals.check()
    }

    /// Whether what lay on the sources is gone from there.
    fn outcome(&self, vg: &VolumeGroup, name: &str) -> Result<(), Error> {
        let taken = AllocationMap::of(vg);
        let stays = |(pv, extent): &(Uuid, Extents)| {
            let pv = vg.pv_by_uuid(pv);
            pv.is_some_and(|pv| taken.owner(pv, *extent).is_some())
        };
        if !self.sources.iter().any(stays) {
            return Ok(());
        }
        Err(Error::failed(format!(
            "What was moved in {name} was aborted: some of it is where it was"
        )))
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.clear();
        }
    }

    /// Says how far it is.
    fn show(
        &mut self,
        left: &[&Move],
        statuses: &[VolumeStatus],
        session: &mut Session,
    ) -> Result<(), Error> {
        let total: u64 = self.all.iter().map(|one| one.extents.0).sum();
        let open = left
            .iter()
            .map(|one| bytes_left(one, self.extent, statuses));
        let open: u64 = open.sum();
        let done = (total * self.extent).saturating_sub(open);
        if let Some(bar) = &mut self.bar {
            bar.show(done, open, String::new);
            return Ok(());
        }
        let is_due = self.said.is_none_or(|said| said.elapsed() >= self.interval);
        if is_due && !self.is_quiet {
            self.said = Some(Instant::now());
            let percent = done as f64 * 100.0 / (total * self.extent).max(1) as f64;
            session.line(&format!("  Moved: {percent:.2}%"))?;
            session.out().flush()?;
        }
        Ok(())
    }
}
