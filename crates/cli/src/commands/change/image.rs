//! `image minimise`: an image gets as short as what is in it.
//!
//! ```text
//!   extents to the front ─▶ zeros behind them ─▶ physical volume ─▶ partition ─▶ file
//!         one commit                one commit, and under its locks
//! ```
//!
//! Each step leaves everything whole, and the same command goes on where one was interrupted: what
//! is done already needs nothing more. The plan is made and told first; whatever it meets that it
//! does not understand, it meets then, with nothing written.
//!
//! Does not: other programs' formats such as qcow2, block devices, and groups that are in use.

use ashlar::apply::{Cut, Planned, Preview, Question, Request, foresee_cut};
use ashlar::live::Client;
use ashlar::lock::ImageUse;
use ashlar::scan::{DeviceIndex, FoundDevice, FoundPv, FoundVg, Member, PvIndex, Scan};
use ashlar::{Error as Failure, Kind};
use lvm2::Sectors;
use lvm2::model::{PvId, VolumeGroup};
use lvm2::plan::physical::{pack_pv, shorten_pv};
use lvm2::plan::{Author, Change, Message};

use super::arguments::{CHANGE, RESIZE_FS, pv_min_size};
use super::finder::Finder;
use super::shrink::{self, Smaller};
use super::work::{Work, failed, inactive};
use crate::args::{Arguments, Command, Error, Example, flags};

/// `image`
pub(super) const COMMAND: Command = Command {
    name: "image",
    summary: "Make disk images as short as what is in them",
    operands: "minimise IMAGE ...",
    description: "`minimise IMAGE ...' makes files shorter that carry a physical volume, whole or \
        in their last partition: extents move to the front, the physical volume ends behind the \
        last of them, then the partition (GPT or a primary one of an MBR) and the file. Logical \
        volumes keep their sizes, and what they hold stays as it is; -r makes ext2, ext3 and ext4 \
        as small as they can be first, each with its volume, as lvreduce -r does. `ashlar plan \
        image minimise IMAGE' shows all of it without doing it.\n\n\
        Linear volumes move. Stripes, parts of mirrors, RAIDs, snapshots and pools, and volumes \
        whose policy is contiguous stay where they are, and the image ends behind the last of \
        them. A physical volume with a second metadata area at its end keeps its size. Nothing is \
        moved to other physical volumes.\n\n\
        Only zeros and copies of the partition table are cut off. Where something else lies behind \
        the physical volume, or another partition does, nothing is changed. What is free in the \
        group is overwritten with zeros or becomes a hole, so that undo does not bring back what \
        removed volumes held.\n\n\
        The group must be whole, and nobody may use it: no volume attached, served or read, no \
        virtual machine on the image, no loop device over it. Killed at any moment, or without \
        power, the command leaves volumes that hold what they held, and run again it does the \
        rest. A GPT has \
        two copies: where the power goes while the first one is written, the copy at the end of \
        the file counts, and sgdisk or gdisk restores the first one.",
    flags: &[CHANGE, &[RESIZE_FS], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar plan image minimise disk.img",
            does: "shows how short an image would get",
        },
        Example {
            line: "ashlar image minimise -y disk.img",
            does: "makes it so, without a question",
        },
        Example {
            line: "ashlar image minimise -r disk.img",
            does: "makes the file systems in it as small as they can be first",
        },
    ],
    run: shrink::minimise,
};

/// Makes each image shorter; what is wrong with one does not keep others from it.
pub(super) fn handler(arguments: &Arguments, work: &mut Work<'_>) -> Result<(), Error> {
    let images = match arguments.operands() {
        [word, images @ ..] if word == "minimise" && !images.is_empty() => images,
        [word] if word == "minimise" => {
            return Err(Error::usage("image minimise: name an image"));
        }
        _ => {
            return Err(Error::usage(
                "image: say what to do, as in: ashlar image minimise disk.img",
            ));
        }
    };
    let resizes = arguments.has(&RESIZE_FS);
    if resizes && !work.is_shown() {
        // Who serves a volume cannot wait for tools that use it.
        return Err(Error::failed(
            "File systems are resized by the command where it is typed: leave --resizefs out on \
             the control socket.",
        ));
    }
    let finder = work.finder();
    for name in &finder.distinct(&*work.scan()?, images) {
        let image = Image {
            name,
            finder: &finder,
            least: pv_min_size(work),
        };
        if let Err(error) = image.minimise(work, resizes.then_some(arguments)) {
            work.fail_later(&error.to_string());
        }
    }
    Ok(())
}

/// Which volumes in an image can be smaller, and with them the file systems in them.
pub(super) fn smaller(
    name: &str,
    work: &Work<'_>,
    arguments: &Arguments,
) -> Result<Smaller, Error> {
    let finder = work.finder();
    let image = Image {
        name,
        finder: &finder,
        least: pv_min_size(work),
    };
    let scan = work.scan()?;
    let found = image.find(&scan).map_err(|error| failed(&error))?;
    shrink::look(work, (&scan, found.group, found.id), arguments)
}

/// An image, as people call it.
struct Image<'a> {
    name: &'a str,
    finder: &'a Finder,
    /// `devices/pv_min_size`.
    least: Sectors,
}

/// What was found of it.
struct Found<'s> {
    index: DeviceIndex,
    device: &'s FoundDevice,
    pv: &'s FoundPv,
    group: &'s FoundVg,
    id: PvId,
}

/// What would be done.
struct Outlook {
    /// Volumes that become smaller first.
    reduce: Vec<Change>,
    /// Extents that move, if that helps.
    pack: Option<Change>,
    /// The physical volume as it is afterwards; nothing if it is so already.
    shorten: Change,
    cut: Option<Cut>,
    /// What people should know of what cannot be done.
    notes: Vec<String>,
}

impl Image<'_> {
    /// `resizes` has the options with which file systems become smaller as well.
    fn minimise(&self, work: &mut Work<'_>, resizes: Option<&Arguments>) -> Result<(), Error> {
        let scan = work.scan()?;
        let found = self.find(&scan).map_err(|error| failed(&error))?;
        require_unused(work, found.group).map_err(|error| failed(&error))?;
        let smaller = match resizes {
            Some(arguments) => shrink::look(work, (&scan, found.group, found.id), arguments)?,
            None => Smaller::default(),
        };
        let request = request(work, found.group);
        let (mut notes, mut moves) = (Vec::new(), false);
        let mut preview = work.foresee(&request, |scan, author| {
            let outlook = self.outlook(&self.find(scan)?, &smaller, author)?;
            (notes, moves) = (outlook.notes.clone(), outlook.pack.is_some());
            Ok(outlook.together())
        })?;
        preview.flushes += more_flushes(found.group, &preview.planned.cuts, moves);
        if work.is_shown() {
            self.show(work, preview, &notes, &smaller);
            return Ok(());
        }
        for note in &notes {
            work.note(note);
        }
        let planned = &preview.planned;
        if planned.cuts.is_empty() && planned.change.groups.is_empty() {
            work.note(&format!("{} is as short as it can be.", self.name));
            return Ok(());
        }
        let mut questions = self.announce(work, planned);
        if moves {
            work.change(&request, |scan, author| {
                let outlook = self.outlook(&self.find(scan)?, &smaller, author)?;
                Ok(Planned {
                    questions: questions.clone(),
                    ..Planned::from(outlook.pack.unwrap_or_default())
                })
            })?;
            questions.clear();
            if work.is_test() {
                return Ok(());
            }
        }
        let made = work.change(&request, |scan, author| {
            let outlook = self.outlook(&self.find(scan)?, &smaller, author)?;
            if outlook.pack.is_some() {
                let what = format!(
                    "{} was changed by others meanwhile; run the command again",
                    found.group.name
                );
                return Err(Failure::new(Kind::Locked, what));
            }
            Ok(Planned {
                questions: questions.clone(),
                change: outlook.shorten,
                cuts: outlook.cut.into_iter().collect(),
                ..Planned::default()
            })
        })?;
        if !work.is_test() {
            for cut in made.iter().flat_map(|made| &made.planned.cuts) {
                let (was, is) = cut.lengths.file;
                work.note(&format!("{} has {is} bytes, and not {was}.", self.name));
            }
        }
        Ok(())
    }

    /// Keeps the plan, with what would be told and asked.
    fn show(&self, work: &mut Work<'_>, mut preview: Preview, notes: &[String], smaller: &Smaller) {
        let notes = notes.iter().map(Message::note);
        preview.planned.change.messages.splice(0..0, notes);
        if preview.planned.cuts.is_empty() && smaller.volumes.is_empty() {
            let done = format!("{} is as short as it can be.", self.name);
            preview.planned.change.messages.push(Message::note(done));
        } else {
            preview.questions.push(self.question().text);
        }
        if !smaller.volumes.is_empty() {
            let more = "File systems that became smaller are measured again: less may do then.";
            preview.planned.change.messages.push(Message::note(more));
        }
        work.show(preview);
    }

    /// Tells what will be done, and gives what is asked first.
    fn announce(&self, work: &mut Work<'_>, planned: &Planned) -> Vec<Question> {
        for message in &planned.change.messages {
            work.note(&format!("To be done: {}", message.text));
        }
        for cut in &planned.cuts {
            if let Some((number, was, is)) = cut.lengths.partition {
                work.note(&format!(
                    "To be done: Partition {number} has {is} bytes, and not {was}."
                ));
            }
            let (was, is) = cut.lengths.file;
            work.note(&format!(
                "To be done: {} has {is} bytes, and not {was}.",
                self.name
            ));
        }
        vec![self.question()]
    }

    fn question(&self) -> Question {
        let name = self.name;
        Question {
            text: format!(
                "What removed volumes held in {name} cannot be brought back then. Make it as short \
                 as it can be? [y/n]: "
            ),
            refusal: format!("{name} was not changed."),
        }
    }

    /// The physical volume of the image; of several the one that lies last.
    fn find<'s>(&self, scan: &'s Scan) -> ashlar::Result<Found<'s>> {
        let named = self.finder.device(scan, self.name)?;
        let place = &scan.device(named).location;
        let is_in = |pv: &FoundPv| {
            let location = &scan.device(pv.device).location;
            pv.device == named || (place.window.is_none() && location.place == place.place)
        };
        let all = scan.physical_volumes.iter().enumerate();
        let mut all: Vec<(usize, &FoundPv)> = all.filter(|(_, pv)| is_in(pv)).collect();
        all.sort_by_key(|(_, pv)| {
            let window = scan.device(pv.device).location.window;
            window.map(|window| window.start)
        });
        let refused = |why: &str| Failure::new(Kind::Refused, format!("{}: {why}", self.name));
        let &(index, pv) = all.last().ok_or_else(|| {
            refused("there is no physical volume in it, neither in the whole nor in a partition")
        })?;
        let group = scan.group_of(pv).ok_or_else(|| {
            refused("its physical volume belongs to no group, so that nothing in it is needed")
        })?;
        let mut members = group.members.iter();
        let is_it = |member: &&Member| member.presence.found() == Some(PvIndex(index));
        let member = members.find(is_it).ok_or_else(|| {
            refused("it is a copy of a physical volume, or the group went on without it")
        })?;
        Ok(Found {
            index: pv.device,
            device: scan.device(pv.device),
            pv,
            group,
            id: member.id,
        })
    }

    fn outlook(
        &self,
        found: &Found<'_>,
        smaller: &Smaller,
        author: &mut Author<'_>,
    ) -> ashlar::Result<Outlook> {
        let reduce = shrink::plan(&found.group.model, smaller, author)?;
        let reduced = reduce.last().and_then(Change::vg);
        let vg = reduced.unwrap_or(&found.group.model);
        let header = &found.pv.header;
        let device = found.device.size.whole_sectors();
        let shorten = |vg: &VolumeGroup, author: &mut Author<'_>| {
            let lengths = (device, self.least);
            shorten_pv(vg, found.id, header, lengths, author).map_err(ashlar::Error::from)
        };
        let as_it_is = shorten(vg, author)?;
        let (packed, fixed) = pack_pv(vg, found.id, header, author)?;
        let mut after = None;
        if let Some(vg) = packed.vg() {
            let made = shorten(vg, author)?;
            after = Some(made).filter(|made| made.1.new < as_it_is.1.new);
        }
        let mut notes = smaller.notes.clone();
        for lv in fixed {
            notes.push(format!(
                "Logical volume {}/{} stays where it is: only linear volumes move that are no \
                 part of others and not contiguous.",
                vg.name,
                vg.lv(lv).name()
            ));
        }
        let pack = after.is_some().then_some(packed);
        let (change, lengths) = after.unwrap_or(as_it_is);
        let bytes = |sectors: Sectors| sectors.to_bytes().unwrap_or_default();
        if header.metadata_areas.len() > 1 && lengths.new == lengths.old {
            notes.push(format!(
                "Physical volume {} keeps its size: its second metadata area is at its end.",
                found.device.name
            ));
        }
        let (held, end) = (bytes(lengths.old), bytes(lengths.new));
        let lengths = foresee_cut(&found.device.location, end, held);
        let lengths = lengths.map_err(|error| {
            let what = format!("{} is not made shorter", self.name);
            Failure::new(error.kind(), what).because(error)
        })?;
        Ok(Outlook {
            pack,
            reduce,
            shorten: change,
            cut: lengths.is_shorter().then_some(Cut {
                device: found.index,
                end,
                lengths,
            }),
            notes,
        })
    }
}

impl Outlook {
    /// All of it as one plan, to be looked at.
    fn together(self) -> Planned {
        let mut steps = self.reduce.into_iter().chain(self.pack);
        let mut change = steps.next().unwrap_or_default();
        for step in steps.chain([self.shorten]) {
            change.before.extend(step.before);
            change.headers.extend(step.headers);
            change.groups.extend(step.groups);
            change.freed.extend(step.freed);
            change.messages.extend(step.messages);
        }
        Planned {
            change,
            cuts: self.cut.into_iter().collect(),
            ..Planned::default()
        }
    }
}

/// The flushes of the image, and of a change of its own for extents that move: what was read, and
/// what is copied.
fn more_flushes(group: &FoundVg, cuts: &[Cut], moves: bool) -> usize {
    let of_cuts: usize = cuts.iter().map(|cut| cut.lengths.flushes).sum();
    let members = group.members.iter();
    let there = members.filter(|member| member.presence.found().is_some());
    of_cuts + if moves { there.count() + 1 } else { 0 }
}

/// What is asked for: nobody may even read meanwhile.
fn request(work: &Work<'_>, group: &FoundVg) -> Request {
    Request {
        images: ImageUse::Rewriting,
        ..work.request_of(&[&group.name])
    }
}

/// Fails where anybody uses volumes of the group: who serves it has its disks open.
fn require_unused(work: &Work<'_>, group: &FoundVg) -> ashlar::Result<()> {
    let pid = match Client::find(group.uuid)? {
        Some(client) => client.pid(),
        None if work.is_owner_of(group.uuid) => std::process::id(),
        None => return inactive(&work.host().sysfs, group),
    };
    let what = format!(
        "Volume group {} is served by process {pid}: its disks do not become shorter meanwhile; \
         stop that first (ashlar stop {})",
        group.name, group.name
    );
    Err(Failure::new(Kind::Refused, what))
}
