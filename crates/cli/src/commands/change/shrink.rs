//! `image minimise --resizefs`: file systems and their volumes get as small as they can be first.
//!
//! ```text
//!   plan of all ─▶ question ─▶ [ least size ─▶ lvreduce -r ] of each volume ─▶ the rest
//! ```
//!
//! Each volume becomes smaller as `lvreduce -r` makes it, in the process of whoever typed the
//! command, and each of these commands takes its own locks. Between two of them everything is
//! whole and looked at again, so that what interrupts this leaves what works, and the same command
//! does the rest. Killed between a file system and its volume, it leaves one that ends before its
//! volume does; as what lies behind such a one may be somebody's, it is kept until somebody says
//! `lvreduce -r`. A tool that has made a file system smaller may say that less is enough; it is
//! asked until it does not.

use ashlar::apply::{Answer, read_volume};
use ashlar::host::DEVICES_VARIABLE;
use ashlar::live::Console;
use ashlar::scan::{FoundVg, Scan};
use lvm2::model::{Area, LvFlag, PvId, Segment, VolumeGroup};
use lvm2::plan::logical::{Resize, resize_volume};
use lvm2::plan::physical::movable_volumes;
use lvm2::plan::size::{Amount, ResizeTo, Sign, SizeArgument};
use lvm2::plan::{Author, Change};
use lvm2::{Bytes, Extents, Sectors};

use super::arguments::{CHANGE, FS_MODE, RESIZE_FS};
use super::file_system::{self, Asks, Least};
use super::image::{self, COMMAND};
use super::lvresize::REDUCE;
use super::run::{Caller, run};
use super::shown::{Summary, show};
use super::terminal::Terminal;
use super::volumes::EXTENTS;
use super::work::{Purpose, Work, failed};
use crate::args::{Arguments, Error, flags, parse};
use crate::commands::Session;

/// How often one file system is made smaller. Two or three times are usual.
const PASSES_MAX: usize = 8;

/// Volumes that can be smaller, and what is to be said of others.
#[derive(Debug, Default)]
pub(super) struct Smaller {
    /// Their names, and how many extents are enough.
    pub(super) volumes: Vec<(String, Extents)>,
    /// Why others keep their size.
    pub(super) notes: Vec<String>,
}

impl Smaller {
    /// Notes why a volume keeps its size.
    fn keep(&mut self, name: &str, why: &str) {
        let note = format!("Logical volume {name} keeps its size: {why}.");
        self.notes.push(note);
    }
}

/// What `image` has as its `run`.
pub(super) fn minimise(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if !arguments.has(&RESIZE_FS) {
        return run(arguments, session);
    }
    let mut terminal = Terminal;
    {
        // What it refuses, it refuses before anything is written.
        let mut work = Work::new(arguments, Caller::at(&mut terminal), Purpose::Show)?;
        image::handler(arguments, &mut work)?;
        let shown = work.take_shown();
        work.finish()?;
        if arguments.has(&flags::TEST) {
            let summaries: Vec<Summary> = shown.iter().map(Summary::of).collect();
            return Ok(session.print(&show(arguments.line(), &summaries, false))?);
        }
    }
    ask(arguments, &mut terminal)?;
    // Until here nothing was written, and a signal ends it.
    let mut asks = Asks::watch()?;
    for name in &arguments.operands()[1..] {
        shrink(name, arguments, session, &mut asks)?;
    }
    require_unasked(&mut asks)?;
    drop(asks);
    let mut words = arguments.options(&[&RESIZE_FS, &flags::YES]);
    words.extend(["--yes".to_owned(), "--".to_owned()]);
    words.extend_from_slice(arguments.operands());
    run(&parse(&COMMAND, &words)?, session)
}

/// Fails once this process was asked to end.
fn require_unasked(asks: &mut Asks) -> Result<(), Error> {
    if asks.is_asked() {
        let what = "Interrupted; the same command does the rest.";
        return Err(Error::failed(what));
    }
    Ok(())
}

/// Asks once for all of it.
fn ask(arguments: &Arguments, terminal: &mut Terminal) -> Result<(), Error> {
    if arguments.has(&flags::YES) {
        return Ok(());
    }
    let names = arguments.operands()[1..].join(", ");
    let question = format!(
        "What removed volumes held in {names} cannot be brought back then. Make the file systems \
         in it as small, and it as short, as they can be? [y/n]: "
    );
    if arguments.count(&flags::QUIET) < 2 && terminal.ask(&question) == Answer::Yes {
        return Ok(());
    }
    Err(Error::failed(format!("{names} was not changed.")))
}

/// Makes the volumes in an image smaller until their tools say that it is enough.
fn shrink(
    name: &str,
    arguments: &Arguments,
    session: &mut Session,
    asks: &mut Asks,
) -> Result<(), Error> {
    let mut failed: Vec<String> = Vec::new();
    for pass in 0..PASSES_MAX {
        let mut terminal = Terminal;
        let smaller = {
            let work = Work::new(arguments, Caller::at(&mut terminal), Purpose::Show)?;
            match image::smaller(name, &work, arguments) {
                // What failed before fails again; it was told.
                Err(_) if !failed.is_empty() => return Ok(()),
                smaller => smaller?,
            }
        };
        require_unasked(asks)?;
        for note in smaller.notes.iter().filter(|_| pass == 0) {
            session.tell(note);
        }
        let mut volumes = smaller.volumes;
        volumes.retain(|(name, _)| !failed.contains(name));
        if volumes.is_empty() {
            return Ok(());
        }
        for (name, extents) in volumes {
            if let Err(error) = reduce(&name, extents, arguments, session) {
                session.fail_later(&error.to_string());
                failed.push(name);
            }
            require_unasked(asks)?;
        }
    }
    Ok(())
}

/// `lvreduce --resizefs`. Whoever mounts the volume meanwhile keeps it as it is.
fn reduce(
    name: &str,
    extents: Extents,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let mut words = arguments.options(&[&RESIZE_FS, &flags::YES]);
    words.extend(devices(arguments));
    words.push(format!("--{}={}", EXTENTS.long, extents.0));
    words.push(format!("--{}=nochange", FS_MODE.long));
    words.extend(["--resizefs", "--yes", "--", name].map(str::to_owned));
    let inner = parse(&REDUCE, &words)?;
    session.begin(&REDUCE, &inner);
    let reduced = file_system::resize(&inner, session, ResizeTo::Smaller);
    session.begin(&COMMAND, arguments);
    reduced
}

/// Where the volumes of an image are that is named as an operand alone.
fn devices(arguments: &Arguments) -> Vec<String> {
    if std::env::var_os(DEVICES_VARIABLE).is_some() {
        return Vec::new();
    }
    let named = arguments.named_devices("".as_ref()).into_iter();
    named
        .map(|path| format!("--{}={}", flags::DEVICES.long, path.display()))
        .collect()
}

/// Which volumes of a physical volume can be smaller.
pub(super) fn look(
    work: &Work<'_>,
    (scan, group, pv): (&Scan, &FoundVg, PvId),
    arguments: &Arguments,
) -> Result<Smaller, Error> {
    let mut own: Vec<_> = CHANGE.iter().collect();
    own.push(&RESIZE_FS);
    let mut options = arguments.options(&own);
    options.extend(devices(arguments));
    let vg = &*group.model;
    let mut smaller = Smaller::default();
    let movable = movable_volumes(vg, pv);
    for (lv, volume) in vg.lvs() {
        let mut areas = volume.segments.iter().flat_map(Segment::areas);
        let is_here = |area: &Area| matches!(area, Area::Pv { pv: on, .. } if *on == pv);
        if !volume.flags.has(LvFlag::Visible) || !areas.clone().any(is_here) {
            continue;
        }
        let name = format!("{}/{}", vg.name, volume.name());
        let kept = if !volume.is_writable() {
            Some("it is read-only")
        } else if !areas.all(is_here) {
            Some("a part of it is on another disk (lvreduce -r makes it smaller)")
        } else if !movable.contains(&lv) {
            Some("it is not linear, it may not move, or others stand on it")
        } else {
            None
        };
        if let Some(why) = kept {
            smaller.keep(&name, why);
            continue;
        }
        let content = read_volume(scan, work.host(), &work.ownership(), (group, lv));
        let content = content.map_err(|error| failed(&error))?;
        let sectors = volume.extents().to_sectors(vg.extent_size);
        let size = sectors
            .and_then(Sectors::to_bytes)
            .unwrap_or(Bytes(u64::MAX));
        match file_system::least(&name, size, &content, &options)? {
            Least::Kept(why) => smaller.keep(&name, &why),
            Least::Size(size) => {
                let extents = needed(size, vg);
                if extents < volume.extents() {
                    smaller.volumes.push((name, extents));
                }
            }
        }
    }
    Ok(smaller)
}

fn needed(size: Bytes, vg: &VolumeGroup) -> Extents {
    let extent = vg.extent_size.to_bytes().map_or(1, |bytes| bytes.0.max(1));
    Extents(size.0.div_ceil(extent).max(1))
}

/// The group with its volumes as small as they can be, as changes one after the other.
pub(super) fn plan(
    vg: &VolumeGroup,
    smaller: &Smaller,
    author: &mut Author<'_>,
) -> ashlar::Result<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for (name, extents) in &smaller.volumes {
        let size = SizeArgument {
            sign: Sign::Absolute,
            amount: Amount::Extents(*extents),
        };
        let resize = Resize::to(
            name.rsplit('/').next().unwrap_or_default(),
            size,
            ResizeTo::Smaller,
        );
        let vg = changes.last().and_then(Change::vg).unwrap_or(vg);
        let change = resize_volume(vg, &resize, author)?;
        changes.push(change);
    }
    Ok(changes)
}
