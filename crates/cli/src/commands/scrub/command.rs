//! The command.

use ashlar::apply::Answer;
use ashlar::live::Console;
use ashlar::scrub::{Event, Options, Subject, Summary, scrub};

use super::repair::Repair;
use super::{json, words};
use crate::args::{Arguments, Command, Error, Example, Flag, bytes, flags};
use crate::commands::Session;
use crate::commands::change::Terminal;
use crate::commands::cp::{Bar, Signals};
use crate::commands::open::take;
use crate::commands::session::Disks;
use crate::output::json::line;

/// The exit status where something was found.
const FOUND: u8 = 1;

/// `--rate`
pub(in crate::commands) const RATE: Flag = Flag::value(
    "rate",
    "Size",
    "How much of each leg is read in a second, at most, as in 50m; without it as fast as the disks \
     answer.",
);
/// `--json`
pub(in crate::commands) const JSON: Flag = Flag::switch(
    "json",
    "Print one JSON object on a line for each finding, and one for the summary of each volume.",
);

/// `--repair`
const REPAIR: Flag = Flag::switch(
    "repair",
    "Show how what was found would be repaired, ask (-y: do not), repair it, and compare again.",
);

/// `scrub`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "scrub",
    summary: "Compare the legs of RAID volumes, and name what does not go together",
    operands: "VG/LV|md:NAME ...",
    description: "Reads all legs of a RAID volume (raid1, raid4, raid5, raid6, raid10), and \
        compares what they have more than once: copies with copies, parity with data. Each \
        mismatch is told with its sectors and extents in the volume, its row of chunks (a stripe, \
        to mdadm), the legs, and their bytes and extents on the disks. Nothing is written \
        without --repair. An array of md's that was found on the disks (`pvs -a' lists it as \
        md:NAME) is compared in the same way.\
        \n\n\
        Which leg is wrong is said where it can be known: with two parities, where one leg \
        explains what both are off by, and with three copies or more, where most agree. With one \
        parity, or two copies, or several wrong legs in one row nobody can know, and all that \
        may be wrong are listed.\n\n\
        What may differ is not compared, and counted: what the bitmap calls dirty, what was never \
        in sync, what is being rebuilt or reshaped, and where too few legs are left. A leg that is \
        not believed is left out. A block that cannot be read is told, and the other legs are \
        compared without it.\n\n\
        With --repair the leg that is wrong gets what the others say. Where nobody can know which \
        one that is it is done as LVM2 does it always: parity is computed of the data, and the \
        first copy goes over the others. The plan says of how much that is so, and nothing is \
        written before it is agreed to. All legs must be there. Of md's arrays nothing is \
        repaired.\n\n\
        While it is scrubbed a volume must not be written: one whose group is served is refused, \
        and nobody serves the group meanwhile; so is one that the kernel has active, which \
        LVM2's lvchange --syncaction check looks at. On a terminal a bar shows how far it is.\n\n\
        The exit status is 0 where all that was compared goes together, 1 where something does not \
        or cannot be read, and 5 where it could not be compared.",
    flags: &[&[RATE, REPAIR, JSON], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar scrub vg0/data",
            does: "compares the legs of a volume",
        },
        Example {
            line: "ashlar scrub --rate 20m vg0/data vg0/logs",
            does: "compares those of two, and leaves the disks time for others",
        },
        Example {
            line: "ashlar scrub --repair vg0/data",
            does: "shows what would be repaired, and does that after a question",
        },
        Example {
            line: "ashlar scrub --json vg0/data | jq -r '.mismatch.wrong[]?' | sort | uniq -c",
            does: "counts the mismatches of each leg that is known to be wrong",
        },
    ],
    run,
};

/// Who is told.
struct Teller<'s> {
    session: &'s mut Session,
    bar: Bar,
    signals: Signals,
    size: u64,
    form: Form,
}

/// How findings are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Words,
    Json,
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if arguments.operands().is_empty() {
        return Err(Error::usage(
            "scrub: name a RAID volume, as in: ashlar scrub vg0/data",
        ));
    }
    let disks = session.disks(arguments)?;
    compare(arguments.operands(), arguments, &disks, session)
}

/// Compares the legs of these, as the options say.
pub(in crate::commands) fn compare(
    names: &[String],
    arguments: &Arguments,
    disks: &Disks,
    session: &mut Session,
) -> Result<(), Error> {
    let rate = arguments.value(&RATE).map(|text| match bytes(text, 'm') {
        Ok(0) => Err(Error::usage("--rate: nothing is read at no bytes a second")),
        Ok(rate) => Ok(rate),
        Err(error) => Err(Error::usage(format!("--rate: {error}"))),
    });
    let options = Options {
        rate: rate.transpose()?,
    };
    let form = if arguments.has(&JSON) {
        Form::Json
    } else {
        Form::Words
    };
    let (mut is_clean, mut is_failed) = (true, false);
    for name in names {
        let compared = if arguments.has(&REPAIR) {
            repair(name, arguments, disks, (options, form), session)
        } else {
            let mut found = Repair::default();
            one(name, disks, (options, form), &mut found, session)
        };
        match compared {
            Ok(summary) => {
                is_clean &= summary.is_clean();
                if summary.checked == 0 {
                    session.fail_later(&format!("{name}: nothing of it could be compared"));
                    is_failed = true;
                }
            }
            Err(error) if matches!(error.kind(), crate::args::Kind::Failed) => {
                session.fail_later(&error.to_string());
                is_failed = true;
            }
            Err(error) => return Err(error),
        }
    }
    if is_clean || is_failed {
        return Ok(());
    }
    Err(Error::ended(FOUND))
}

/// Scrubs one volume, repairs what was found if that is agreed to, and scrubs it again.
fn repair(
    name: &str,
    arguments: &Arguments,
    disks: &Disks,
    (options, form): (Options, Form),
    session: &mut Session,
) -> Result<Summary, Error> {
    let mut found = Repair::default();
    let summary = one(name, disks, (options, form), &mut found, session)?;
    if found.is_empty() {
        return Ok(summary);
    }
    let (group, id) = disks.scan.find_volume(name)?;
    let lv = group.model.lv(id);
    let volume = format!("{}/{}", group.name, lv.name());
    for text in found.plan(&volume) {
        match form {
            Form::Json => session.tell(&text),
            Form::Words => session.line(&text)?,
        }
    }
    session.out().flush()?;
    let is_agreed = arguments.has(&flags::YES)
        || (arguments.count(&flags::QUIET) < 2
            && Terminal.ask(&format!("Repair {volume} like this? [y/n]: ")) == Answer::Yes);
    if !is_agreed || arguments.has(&flags::TEST) {
        session.tell(&format!("{volume} was not changed."));
        return Ok(summary);
    }
    let live = take(disks, group.uuid)?;
    let signals = Signals::watch()?;
    let mut bar = Bar::new(summary.size);
    let carried = found.carry_out(
        &live,
        (lv.name(), lv.uuid),
        options.rate,
        &mut |done, all| {
            signals.check()?;
            bar.show(done as u64, (all - done) as u64, String::new);
            Ok(())
        },
    );
    bar.clear();
    drop(live);
    carried?;
    // What was written since is on the disks.
    one(
        name,
        disks,
        (options, form),
        &mut Repair::default(),
        session,
    )
}

/// Scrubs one volume, and tells what came of it.
fn one(
    name: &str,
    disks: &Disks,
    (options, form): (Options, Form),
    found: &mut Repair,
    session: &mut Session,
) -> Result<Summary, Error> {
    let subject = Subject::named(&disks.scan, &disks.host, name)?;
    for gap in &subject.gaps {
        session.tell(&format!("WARNING: {gap}."));
    }
    let mut teller = Teller {
        session,
        bar: Bar::new(subject.size()),
        signals: Signals::watch()?,
        size: subject.size(),
        form,
    };
    let scrubbed = scrub(&subject, options, &mut |event| {
        if let Event::Found(finding) = &event {
            found.note(finding);
        }
        teller.tell(&subject.name, &event)
    });
    teller.bar.clear();
    let summary = scrubbed?;
    match form {
        Form::Json => session.print(&line(&json::summary(&subject.name, &summary)))?,
        Form::Words => {
            let lines = words::summary(&subject.name, &summary);
            // That nothing was compared is an error, and told as such.
            for text in lines.iter().skip(usize::from(summary.checked == 0)) {
                session.line(text)?;
            }
        }
    }
    Ok(summary)
}

impl Teller<'_> {
    fn tell(&mut self, volume: &str, event: &Event<'_>) -> Result<(), Error> {
        self.signals.check()?;
        match event {
            Event::Looked(done) => {
                let left = self.size.saturating_sub(*done);
                self.bar.show(*done, left, String::new);
            }
            Event::Found(finding) => {
                let (session, form) = (&mut *self.session, self.form);
                self.bar.aside(|| -> Result<(), Error> {
                    match form {
                        Form::Json => session.print(&line(&json::finding(volume, finding)))?,
                        Form::Words => {
                            for text in words::finding(volume, finding) {
                                session.line(&text)?;
                            }
                        }
                    }
                    Ok(session.out().flush()?)
                })?;
            }
        }
        Ok(())
    }
}
