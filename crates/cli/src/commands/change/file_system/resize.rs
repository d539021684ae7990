//! Both together: the file system in front of the volume where they become smaller, behind it where
//! they become larger.
//!
//! A volume that nobody has attached is attached for as long as this takes, as `run` does: its
//! server owns the group, and it detaches the volume whatever ends this process. Wherever it is
//! attached, its owner lets nobody else use or rename it meanwhile: others could write to it where
//! a tool moves what is in it. The tools have that promise, and the node, as open files, so that
//! both last as long as they do, even where this process was killed. The size of the volume is
//! changed by the plain command, without `--resizefs` and with the number of extents that was
//! planned at first; it runs in that server, or whoever owns the group, which looks again whether a
//! file system is cut.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ashlar::apply::{Answer, read_volume};
use ashlar::filesystem::{Content, End, content};
use ashlar::live::Console;
use ashlar::scan::Scan;
use lvm2::model::Relations;
use lvm2::plan::logical::is_of_that_size;
use lvm2::plan::size::ResizeTo;
use lvm2::{Bytes, Sectors, Uuid};

use super::decide::{Check, Decision, Mounts, Situation, Step, decide, shown};
use super::place::{self, Place};
use super::tools::{self, Asks};
use crate::args::{Arguments, Error, Flag, flags, parse};
use crate::commands::change::arguments::{FS, FS_MODE, NO_FSCK, RESIZE_FS};
use crate::commands::change::lvresize::change_size;
use crate::commands::change::run::{Caller, run};
use crate::commands::change::table::find;
use crate::commands::change::terminal::Terminal;
use crate::commands::change::volumes::{EXTENTS, SIZE, single};
use crate::commands::change::work::{Purpose, Work, failed};
use crate::commands::run::Held;
use crate::commands::{PrivateFolder, Session};

/// Whether the file system is to be resized as well.
pub(in crate::commands::change) fn is_wanted(arguments: &Arguments) -> bool {
    match arguments.value(&FS) {
        Some(value) => ["resize", "resize_fsadm"].contains(&value),
        None => arguments.has(&RESIZE_FS),
    }
}

/// What is to become of a volume.
struct Goal {
    name: String,
    group: Uuid,
    /// The size now, and then.
    sizes: (Bytes, Bytes),
    /// The extents then.
    extents: u64,
    content: Content,
    /// The time that is written instead of the machine's, in seconds since 1970 began.
    date: Option<u64>,
}

impl Goal {
    fn decide(&self, place: &Place, arguments: &Arguments) -> Result<Decision, Error> {
        decide(&Situation {
            name: &self.name,
            old: self.sizes.0,
            new: self.sizes.1,
            content: &self.content,
            mounts: &place.mounts,
            is_swap_on: place.is_swap_on,
            mode: mounts(arguments)?,
            check: if arguments.has(&NO_FSCK) {
                Check::No
            } else {
                Check::Needed
            },
        })
    }
}

fn mounts(arguments: &Arguments) -> Result<Mounts, Error> {
    match arguments.value(&FS_MODE) {
        None if arguments.has(&flags::YES) => Ok(Mounts::Managed),
        None => Ok(Mounts::Asked),
        Some("manage") => Ok(Mounts::Managed),
        Some("nochange") => Ok(Mounts::Unchanged),
        Some("offline") => Ok(Mounts::Ended),
        Some(other) => Err(Error::usage(format!("Unknown --fsmode value: {other}."))),
    }
}

/// Adds to a plan what would be done to the file system.
pub(in crate::commands::change) fn foresee(
    arguments: &Arguments,
    work: &mut Work<'_>,
    direction: ResizeTo,
) -> Result<(), Error> {
    let goal = goal(arguments, work, direction)?;
    let place = place::find(&goal.name, goal.group)?;
    let decision = goal.decide(&place, arguments)?;
    let node = place
        .node
        .clone()
        .unwrap_or_else(|| PathBuf::from(&goal.name));
    let mount = place.mounts.first();
    let point = mount.map_or_else(|| node.clone(), |mount| mount.point.clone());
    let line = |step: &Step| tools::shown(step, &node, &point);
    let steps = |what: &str, steps: &[Step]| -> Vec<String> {
        let lines = steps.iter().map(|step| format!("{what}: {}", line(step)));
        lines.collect()
    };
    let mut texts = decision.notes.clone();
    texts.extend(steps(
        "In front of the change it would run",
        &decision.before,
    ));
    texts.extend(steps("Behind the change it would run", &decision.after));
    texts.extend(steps("At the end it would run", &decision.finally));
    let size = shown(goal.sizes.1);
    if goal.sizes.0 == goal.sizes.1 {
        texts.push(format!("Logical volume {} has {size} already.", goal.name));
    }
    work.foretell(&texts, decision.question.as_deref());
    Ok(())
}

/// Plans the change of the volume, and looks into it.
fn goal(arguments: &Arguments, work: &mut Work<'_>, direction: ResizeTo) -> Result<Goal, Error> {
    let operand = arguments.operands().first();
    let volume = match change_size(arguments, work, direction) {
        Err(error) if is_of_that_size(&error.to_string()) && direction != ResizeTo::Smaller => {
            single(operand.map_or("", String::as_str))?
        }
        planned => {
            planned?;
            single(operand.map_or("", String::as_str))?
        }
    };
    let kept = work.scan()?;
    let (scan, after) = match work.last_shown() {
        Some(preview) => (&preview.scan, preview.planned.change.vg()),
        None => (&*kept, None),
    };
    let group = scan
        .find_group(&volume.vg)
        .map_err(|error| failed(&error))?;
    let missing = || Error::failed(format!("{} is gone.", volume.lv));
    let id = group.model.lv_by_name(&volume.lv).ok_or_else(missing)?;
    if Relations::of(&group.model).is_cow(id) {
        return Err(Error::failed(format!(
            "{}/{} is a snapshot: its size is that of its store, not of the file system that is \
             seen in it; leave --resizefs out.",
            volume.vg, volume.lv
        )));
    }
    let lv = group.model.lv(id);
    let extents = match after {
        None => lv.extents(),
        Some(after) => {
            let id = after.lv_by_uuid(&lv.uuid).ok_or_else(missing)?;
            after.lv(id).extents()
        }
    };
    let bytes = |size: Option<Sectors>| {
        let bytes = size.and_then(Sectors::to_bytes);
        bytes.ok_or_else(|| Error::failed(format!("{} is too large.", volume.lv)))
    };
    let size = group.model.extent_size;
    let sizes = (bytes(lv.size(size))?, bytes(extents.to_sectors(size))?);
    let found = read(work, scan, &volume.vg, &volume.lv)?;
    Ok(Goal {
        name: format!("{}/{}", group.name, lv.name()),
        group: group.uuid,
        sizes,
        extents: extents.0,
        content: found,
        date: work.host().config.source_date(),
    })
}

fn read(work: &Work<'_>, scan: &Scan, group: &str, lv: &str) -> Result<Content, Error> {
    let group = scan.find_group(group).map_err(|error| failed(&error))?;
    let id = group.model.lv_by_name(lv);
    let id = id.ok_or_else(|| Error::failed(format!("{lv} is gone.")))?;
    let found = read_volume(scan, work.host(), &work.ownership(), (group, id));
    found.map_err(|error| failed(&error))
}

/// Changes the size of a volume and of the file system in it.
pub(in crate::commands::change) fn resize(
    arguments: &Arguments,
    session: &mut Session,
    direction: ResizeTo,
) -> Result<(), Error> {
    // Before all else, so that nothing is interrupted in the middle.
    let mut asks = Asks::watch()?;
    let mut terminal = Terminal;
    let goal = {
        let caller = Caller::at(&mut terminal);
        let mut work = Work::new(arguments, caller, Purpose::Show)?;
        work.warn_of_disks(session.command(), arguments);
        let goal = goal(arguments, &mut work, direction);
        work.tell_found();
        goal?
    };
    let place = place::find(&goal.name, goal.group)?;
    let decision = goal.decide(&place, arguments)?;
    for note in &decision.notes {
        say(session, arguments, note)?;
    }
    let steps = [&decision.before, &decision.after, &decision.finally];
    tools::require(steps.into_iter().flatten())?;
    if arguments.has(&flags::TEST) {
        return Ok(());
    }
    if let Some(question) = &decision.question
        && terminal.ask(question) == Answer::No
    {
        let what = format!("Logical volume {} NOT resized.", goal.name);
        return Err(Error::failed(what));
    }
    if decision.before.is_empty() && decision.after.is_empty() {
        return change_volume(&goal, arguments, session);
    }
    let held = match place.node {
        Some(_) => None,
        None => Some(Held::attach(&goal.name, &shared(arguments, session))?),
    };
    let path = held.as_ref().map(|held| PathBuf::from(&held.path));
    let node = place.node.clone().or(path).unwrap_or_default();
    let alone = place::keep_alone(&goal.name, goal.group, &node)?;
    let job = Job::new(&goal, &decision, &place, node)?;
    let outcome = job.run(arguments, session, &mut asks);
    drop((job, alone));
    let ended = held.map_or(Ok(()), Held::end);
    outcome.and(ended)
}

/// The options that every command has.
fn shared(arguments: &Arguments, session: &Session) -> Vec<String> {
    let (command, _) = find(session.command()).expect("it is in the table");
    let is_shared = |flag: &Flag| flags::COMMON.iter().any(|one| one.long == flag.long);
    let own: Vec<&Flag> = command
        .all_flags()
        .filter(|flag| !is_shared(flag))
        .collect();
    arguments.options(&own)
}

fn say(session: &mut Session, arguments: &Arguments, text: &str) -> Result<(), Error> {
    if !arguments.has(&flags::QUIET) {
        session.line(text)?;
        session.out().flush()?;
    }
    Ok(())
}

/// The plain command, for the volume alone.
fn change_volume(goal: &Goal, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let (old, new) = goal.sizes;
    if old == new {
        return Ok(());
    }
    let (command, _) = find(session.command()).expect("it is in the table");
    let own = [&SIZE, &EXTENTS, &RESIZE_FS, &NO_FSCK, &FS, &FS_MODE];
    let mut words = vec![format!("--extents={}", goal.extents)];
    words.extend(arguments.options(&own));
    if new < old {
        words.push("--fs=resized".to_owned());
    }
    if !arguments.has(&flags::QUIET) {
        // What is wrong with the disks was told.
        words.push("--quiet".to_owned());
    }
    words.push("--".to_owned());
    words.extend_from_slice(arguments.operands());
    run(&parse(command, &words)?, session)
}

/// How far it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The volume has its old size.
    Before,
    /// It has the new one.
    After,
}

/// Everything that the steps need.
struct Job<'a> {
    goal: &'a Goal,
    decision: &'a Decision,
    node: PathBuf,
    point: PathBuf,
    /// The mount point, if it was made for this.
    _directory: Option<PrivateFolder>,
}

impl<'a> Job<'a> {
    fn new(
        goal: &'a Goal,
        decision: &'a Decision,
        place: &Place,
        node: PathBuf,
    ) -> Result<Self, Error> {
        // Others may have had it between the look and the attachment.
        if place.node.is_none() && read_node(&node)?.found != goal.content.found {
            let what = format!(
                "What {} holds was changed by others meanwhile; run the command again.",
                goal.name
            );
            return Err(Error::failed(what));
        }
        let mut steps = decision.before.iter().chain(&decision.after);
        let directory = if steps.any(|step| step.mounted.is_some()) {
            Some(PrivateFolder::make()?)
        } else {
            None
        };
        let mounted = place.mounts.first().map(|mount| mount.point.clone());
        let made = directory.as_ref().map(|made| made.path().to_owned());
        Ok(Self {
            goal,
            decision,
            node,
            point: mounted.or(made).unwrap_or_default(),
            _directory: directory,
        })
    }

    fn run(
        &self,
        arguments: &Arguments,
        session: &mut Session,
        asks: &mut Asks,
    ) -> Result<(), Error> {
        let mut stage = Stage::Before;
        let mut unmounted = false;
        let outcome = self.steps(arguments, session, asks, (&mut stage, &mut unmounted));
        let outcome = outcome.map_err(|error| self.explained(&error, stage, session));
        let mut ended = Ok(());
        for step in self.decision.finally.iter().filter(|_| unmounted) {
            ended = ended.and(self.step(step, arguments, session));
        }
        match (outcome, ended) {
            (Err(error), Err(later)) => Err(Error::failed(format!("{error}\n{later}"))),
            (outcome, ended) => outcome.and(ended),
        }
    }

    fn steps(
        &self,
        arguments: &Arguments,
        session: &mut Session,
        asks: &mut Asks,
        (stage, unmounted): (&mut Stage, &mut bool),
    ) -> Result<(), Error> {
        let (old, new) = self.goal.sizes;
        let (kind, name) = (self.decision.kind.unwrap_or_default(), &self.goal.name);
        let size = format!("to {} ({} bytes) on {name}...", shown(new), new.0);
        let interrupted = || Error::failed("Interrupted.");
        if new < old {
            let text = format!("Reducing file system {kind} {size}");
            say(session, arguments, &text)?;
        }
        for step in &self.decision.before {
            if asks.is_asked() {
                return Err(interrupted());
            }
            self.step(step, arguments, session)?;
            if step.program == "umount" {
                *unmounted = true;
                place::unmounted(name, &self.node)?;
            }
        }
        if new < old {
            // What was moved is on the disks before its old place is given back.
            self.flush()?;
            let text = format!("Reduced file system {kind} on {name}.");
            say(session, arguments, &text)?;
        }
        if asks.is_asked() {
            return Err(interrupted());
        }
        change_volume(self.goal, arguments, session)?;
        *stage = Stage::After;
        if self.decision.after.is_empty() {
            return Ok(());
        }
        let text = format!("Extending file system {kind} {size}");
        say(session, arguments, &text)?;
        for step in &self.decision.after {
            if asks.is_asked() {
                return Err(interrupted());
            }
            self.step(step, arguments, session)?;
        }
        self.flush()?;
        let text = format!("Extended file system {kind} on {name}.");
        say(session, arguments, &text)
    }

    fn step(&self, step: &Step, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
        let line = tools::shown(step, &self.node, &self.point);
        say(session, arguments, &line)?;
        tools::run(step, &self.node, &self.point, self.goal.date)?;
        let done = format!("{} done", step.program);
        say(session, arguments, &done)
    }

    fn flush(&self) -> Result<(), Error> {
        let file = File::options().write(true).open(&self.node);
        let flushed = file.and_then(|file| file.sync_all());
        flushed.map_err(|error| {
            let what = format!("Cannot flush {}", self.node.display());
            Error::failed(what).because(error)
        })
    }

    /// A failure, with the state in which it left everything and what to do.
    fn explained(&self, error: &Error, stage: Stage, session: &Session) -> Error {
        let (goal, (old, new)) = (self.goal, self.goal.sizes);
        let kind = self.decision.kind.unwrap_or_default();
        let now = read_node(&self.node).ok().and_then(|content| {
            let ours = content.found.iter().find(|fs| fs.name == kind)?;
            match ours.end {
                End::At(end) => Some(end),
                End::Open => None,
            }
        });
        let needs = match now {
            Some(end) => format!("the file system {kind} in it needs {}", shown(end)),
            None => format!("the file system {kind} in it is to be checked"),
        };
        let name = &goal.name;
        let state = match stage {
            Stage::Before => {
                let what = if new < old { "reduced" } else { "extended" };
                let old = shown(old);
                format!("Logical volume {name} NOT {what}: it has {old} as before, and {needs}.")
            }
            Stage::After => format!(
                "Logical volume {name} has its new size, {}, and {needs}. `{} -r -l {} {name}' \
                 does the rest when the cause is mended.",
                shown(new),
                session.command(),
                goal.extents
            ),
        };
        let said = error.to_string();
        let said = said.trim_end();
        let between = if said.is_empty() { "" } else { "\n" };
        Error::failed(format!("{said}{between}{state}"))
    }
}

/// What is in a node or file.
pub(super) fn read_node(node: &Path) -> Result<Content, Error> {
    let mut file = File::open(node)?;
    let size = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0))?;
    let mut failure = None;
    let found = content(Bytes(size), |at, length| {
        let mut bytes = vec![0; length];
        let read = file.read_exact_at(&mut bytes, at.0);
        read.map(|()| bytes)
            .map_err(|error| failure = Some(error))
            .ok()
    });
    match failure {
        None => Ok(found),
        Some(error) => {
            let what = format!("Cannot read {}", node.display());
            Err(Error::failed(what).because(error))
        }
    }
}
