//! The command.

use lab::layout::Layout;
use lab::measure::JobMeasured;
use lab::predict::{Explanation, Question, Trial, Uncertainty, trial};
use lab::workload::fio::{Job, parse_on};
use lab::workload::postmark::Short;

use super::measured::{agreed, measured};
use super::stack::{Stack, workload};
use super::{files, raid, shown};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::Session;
use crate::commands::open;
use crate::commands::session::Disks;

/// `--workload`
const WORKLOAD: Flag = Flag::value(
    "workload",
    "Load|File",
    "What is asked of the volume: a job file of fio, RW:SIZE[:KEY=VALUE ...] as in \
     randread:4k:depth=32, the name of a common load (oltp, lookup, vm, stream, ingest, log), or \
     postmark[:KEY=VALUE ...].",
);
/// `--disk`
const DISK: Flag = Flag::value(
    "disk",
    "[PV=]Profile",
    "What a physical volume is, or all that are not named: a drive of the catalogue (lab disk list \
     shows them), a profile FILE.toml that `lab calibrate --output' wrote, cap:iops=600:mbps=100, \
     flash, or FILE.toml:NAME, a disk of a file of layouts. May be repeated.",
);
/// `--emulate`
pub(super) const EMULATE: Flag = Flag::switch(
    "emulate",
    "Run the load on emulated disks, too, in virtual time, and show by how much the prediction is \
     off.",
);
/// `--json`
pub(super) const JSON: Flag = Flag::switch("json", "Print one JSON object; times are nanoseconds.");

/// `--measure`
const MEASURE: Flag = Flag::switch(
    "measure",
    "Run the load on the volume itself, too, and show by how much the prediction is off. A load \
     that writes destroys what the volume holds, and is refused without --yes.",
);
/// `--seconds`
pub(super) const SECONDS: Flag = Flag::value(
    "seconds",
    "Number",
    "How long each job is measured; 3 by default.",
);

/// The seed of phases and draws of an emulation.
pub(super) const SEED: u64 = 1;
/// What an emulation is planned for where there is no prediction.
const EXPECTED: f64 = 100.0;

/// `explain`
pub(in crate::commands) const COMMAND: Command = Command {
    name: "explain",
    summary: "Say where the time of a volume's requests goes",
    operands: "VG/LV",
    description: "Reads from the metadata which extents of which physical volumes a volume lies \
        on, and predicts by formula what it does under a load: requests per second and \
        response time with 95 % intervals, and an account of the time by layer: looking up \
        (map), loops, links, waiting (queue), the controller (overhead), seek, rotation, \
        transfer, caches, and waiting for the slowest of several disks. Nothing of the volume \
        is read or written.\n\n\
        What the disks are is not in the metadata: say it with --disk. Without it every \
        physical volume is taken for a wd800bd-like, a desktop drive of 2003, and that is \
        said. A drive of the catalogue that is smaller than the physical volume is stretched: \
        it gets more heads and cylinders, and is as fast as before.\n\n\
        A load in short is RW:SIZE and then KEY=VALUE, each behind a colon. RW is read, write, \
        rw, randread, randwrite or randrw; keys are depth (requests outstanding), jobs \
        (processes), reads (percent), size and offset (the part of the volume that is used), \
        rate (requests per second) with arrivals (even or poisson), and hot (80/20: four \
        fifths of the requests go to the first fifth of the part). Jobs of a file that wait \
        for those before them (stonewall) are explained one by one.\n\n\
        Elasticities say what to buy: by how much the time gets shorter where a part of the \
        disks gets a tenth better. Compare other layouts with `lab advise'.\n\n\
        With --measure the load runs on the volume, too, for --seconds, through the data path \
        that serves users, in this process; the beginning is cut off where it is not steady. \
        What is measured is whatever the volume really lies on, past the page cache where that \
        can be, and --disk does not change it. Jobs with a rate, pauses or flushes are for fio \
        on the attached volume; --json prints the job.\n\n\
        Of RAID with redundancy no time is predicted. What is shown, without --workload too, is \
        how chunks and parity lie on the images, how these are, and how many reads and writes of \
        images a request costs: whole, with one image or two lost, and as it is now.\n\n\
        postmark is a program on an ext3 of the volume's size: the terms of Eq. 1 of a study of \
        LVM (directories, metadata, free lists, file data, journal) are predicted, and emulated \
        with --emulate. Keys are test (1 to 3, the study's), files, size (MIN-MAX bytes), \
        transactions, reads and creations (of ten), seed and memory (of the page cache).",
    flags: &[
        &[WORKLOAD, DISK, EMULATE, MEASURE, SECONDS, JSON],
        open::FLAGS,
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "ashlar explain vg0/data --workload randread:4k:depth=32 --emulate",
            does: "predicts random reads, and checks the prediction on emulated disks",
        },
        Example {
            line: "ashlar explain vg0/data --workload randread:4k:depth=8 --measure --disk flash",
            does: "predicts random reads on flash, and measures them on the volume for 3 seconds",
        },
        Example {
            line: "ashlar explain vg0/data --workload postmark:test=1:memory=1G --emulate",
            does: "predicts and emulates a mail server's files, by the terms of Eq. 1",
        },
        Example {
            line: "ashlar explain vg0/data --workload oltp --disk cap:iops=3000:mbps=125",
            does: "predicts a database on volumes of a cloud with those limits",
        },
        Example {
            line: "ashlar explain vg0/raid5",
            does: "shows where parity lies, and what requests cost, healthy and degraded",
        },
        Example {
            line: "ashlar explain vg0/data --workload jobs.fio --disk sda1=flash --disk 'HP 97560'",
            does: "one disk is flash, the others are old drives; each job is explained",
        },
    ],
    run,
};

/// A job, and what it does.
pub(super) struct Told {
    pub(super) job: Job,
    /// The prediction and the number of runs of segments it is made of, or why there is none.
    pub(super) predicted: Result<(Explanation, usize), String>,
    /// Whether the load is one of a rate, judged by its response time.
    pub(super) open: bool,
    pub(super) emulated: Option<Trial>,
    pub(super) measured: Option<JobMeasured>,
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [name] = arguments.operands() else {
        return Err(Error::usage(
            "explain: name one logical volume, as in: ashlar explain vg0/data --workload oltp",
        ));
    };
    let word = arguments.value(&WORKLOAD);
    let disks = session.disks(arguments)?;
    let volume = disks.scan.find_volume(name);
    if volume.is_ok_and(|(group, lv)| raid::array_of(group, lv).is_some()) {
        return array(&disks, name, arguments, session);
    }
    let Some(word) = word else {
        return Err(Error::usage(
            "explain: say what is asked of it, as in --workload randread:4k:depth=32",
        ));
    };
    let words: Vec<&str> = arguments.values(&DISK).collect();
    if Short::is_meant(word) {
        if arguments.has(&MEASURE) {
            let what = "explain: postmark is not measured; attach the volume, mount it, and run \
                the program by `lab drive'";
            return Err(Error::usage(what));
        }
        let stack = found(&disks, name, &words, session)?;
        return files::explained(word, &stack, arguments, session);
    }
    let text = workload(word)?;
    let stack = found(&disks, name, &words, session)?;
    let jobs = parse_on(&text, stack.layout.size())
        .map_err(|error| Error::failed(format!("workload {word}: {error}")))?;
    if arguments.has(&MEASURE) {
        agreed(name, &jobs, arguments)?;
    }
    let mut told = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let beside = index > 0 && !job.waits || jobs.get(index + 1).is_some_and(|job| !job.waits);
        let mut one = explained(&stack.layout, job, beside, arguments)?;
        if arguments.has(&MEASURE) && !beside {
            one.measured = Some(measured(name, job, &disks, arguments, session)?);
        }
        told.push(one);
    }
    if arguments.has(&JSON) {
        session.print(&shown::json(&stack, &text, &told))?;
    } else {
        shown::print(&stack, word, &told, session)?;
    }
    for one in &told {
        if let Err(why) = &one.predicted {
            session.fail_later(&format!("{name}, job {}: {why}", one.job.name));
        }
    }
    Ok(())
}

/// An array: how it lies, and what requests cost it.
fn array(
    disks: &Disks,
    name: &str,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let timed = [&DISK, &EMULATE, &MEASURE].map(|flag| arguments.has(flag));
    if timed.contains(&true) {
        return Err(Error::usage(
            "explain: of an array requests are counted, and no time is predicted, emulated or \
             measured; leave --disk, --emulate and --measure away",
        ));
    }
    let (group, lv) = disks
        .scan
        .find_volume(name)
        .map_err(|error| Error::failed(error.to_string()))?;
    let size = group.model.lv(lv).size(group.model.extent_size);
    let size = size.and_then(lvm2::Sectors::to_bytes);
    let jobs = match arguments.value(&WORKLOAD) {
        Some(word) if Short::is_meant(word) => {
            return Err(Error::usage(
                "explain: what postmark does to an array is not known; name a load of blocks",
            ));
        }
        Some(word) => parse_on(&workload(word)?, size.map_or(0, |size| size.0))
            .map_err(|error| Error::failed(format!("workload {word}: {error}")))?,
        None => Vec::new(),
    };
    let explained = raid::Explained::of(&disks.scan, group, lv, &jobs)?;
    if arguments.has(&JSON) {
        session.print(&explained.json())?;
        return Ok(());
    }
    explained.print(session)
}

/// The volume and its disks, with what had to be assumed said aloud.
fn found(disks: &Disks, name: &str, words: &[&str], session: &mut Session) -> Result<Stack, Error> {
    let stack = Stack::of(&disks.scan, name, words)?;
    if !stack.assumed.is_empty() {
        session.tell(&format!(
            "WARNING: no --disk says what {} {}: taken for {}. The numbers are about such a drive, \
             not about yours.",
            stack.assumed.join(", "),
            if stack.assumed.len() == 1 {
                "is"
            } else {
                "are"
            },
            super::stack::ASSUMED
        ));
    }
    Ok(stack)
}

/// A job, predicted and, where that is asked for, emulated.
fn explained(
    layout: &Layout,
    job: &Job,
    beside: bool,
    arguments: &Arguments,
) -> Result<Told, Error> {
    let mut open = false;
    let predicted = if beside {
        Err(
            "jobs that run together cannot be predicted; add stonewall, or emulate them with \
             `lab run'"
                .to_owned(),
        )
    } else {
        let ask = || -> lab::error::Result<(Explanation, usize, bool)> {
            let question = Question::new(layout, std::slice::from_ref(job), None, SEED)?;
            let told = question.explain(&Uncertainty::default())?;
            Ok((told, question.runs(), question.is_open()?))
        };
        ask()
            .map(|(told, runs, is_open)| {
                open = is_open;
                (told, runs)
            })
            .map_err(|error| error.to_string())
    };
    let emulated = if arguments.has(&EMULATE) && !beside {
        let expected = predicted
            .as_ref()
            .map_or(EXPECTED, |(told, _)| told.per_second.value);
        let found = trial(layout, job, expected, SEED);
        Some(found.map_err(|error| Error::failed(error.to_string()))?)
    } else {
        None
    };
    Ok(Told {
        job: job.clone(),
        predicted,
        open,
        emulated,
        measured: None,
    })
}
