//! The command.

use lab::layout::Layout;
use lab::predict::{Explanation, Question, Trial, Uncertainty, trial};
use lab::workload::fio::{Job, parse_on};

use super::shown;
use super::stack::{Stack, workload};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::Session;

/// `--workload`
const WORKLOAD: Flag = Flag::value(
    "workload",
    "Load|File",
    "What is asked of the volume: a job file of fio, RW:SIZE[:KEY=VALUE ...] as in \
     randread:4k:depth=32, or the name of a common load (oltp, lookup, vm, stream, ingest, log).",
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
const EMULATE: Flag = Flag::switch(
    "emulate",
    "Run the load on emulated disks, too, in virtual time, and show by how much the prediction is \
     off.",
);
/// `--json`
const JSON: Flag = Flag::switch("json", "Print one JSON object; times are nanoseconds.");

/// The seed of phases and draws of an emulation.
const SEED: u64 = 1;
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
        To measure: attach the volume, and run fio on its node with the job that --json \
        prints.",
    flags: &[&[WORKLOAD, DISK, EMULATE, JSON], flags::COMMON],
    examples: &[
        Example {
            line: "ashlar explain vg0/data --workload randread:4k:depth=32 --emulate",
            does: "predicts random reads, and checks the prediction on emulated disks",
        },
        Example {
            line: "ashlar explain vg0/data --workload oltp --disk cap:iops=3000:mbps=125",
            does: "predicts a database on volumes of a cloud with those limits",
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
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let [name] = arguments.operands() else {
        return Err(Error::usage(
            "explain: name one logical volume, as in: ashlar explain vg0/data --workload oltp",
        ));
    };
    let Some(word) = arguments.value(&WORKLOAD) else {
        return Err(Error::usage(
            "explain: say what is asked of it, as in --workload randread:4k:depth=32",
        ));
    };
    let text = workload(word)?;
    let words: Vec<&str> = arguments.values(&DISK).collect();
    let disks = session.disks(arguments)?;
    let stack = Stack::of(&disks.scan, name, &words)?;
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
    let jobs = parse_on(&text, stack.layout.size())
        .map_err(|error| Error::failed(format!("workload {word}: {error}")))?;
    let mut told = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let beside = index > 0 && !job.waits || jobs.get(index + 1).is_some_and(|job| !job.waits);
        told.push(explained(&stack.layout, job, beside, arguments)?);
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
    })
}
