//! The runner: arms and replicates that have no line yet, on two threads or more.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::record::Record;
use super::spec::{Arm, Experiment};
use crate::error::Result;

/// How to run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The seed of the first replicate; the others follow it.
    pub seed: u64,
    /// Replicates instead of the experiment's own.
    pub replicates: Option<u64>,
    /// Threads.
    pub threads: usize,
}

/// What happens while experiments run; called from one thread at a time.
pub trait Progress: Send {
    /// One run is done; its line is to be kept. `false` ends everything.
    fn done(&mut self, record: &Record) -> bool;
}

impl<F: FnMut(&Record) -> bool + Send> Progress for F {
    fn done(&mut self, record: &Record) -> bool {
        self(record)
    }
}

/// A run to do.
#[derive(Debug, Clone, Copy)]
pub struct Pending<'a> {
    experiment: &'a Experiment,
    arm: &'a Arm,
    replicate: u64,
    seed: u64,
}

/// The runs of the experiments that `finished` does not have.
pub fn runs<'a>(
    experiments: &'a [Experiment],
    options: &Options,
    finished: &[Record],
) -> Vec<Pending<'a>> {
    let known: BTreeSet<(&str, &str, u64, u64, u64)> = finished
        .iter()
        .map(|run| {
            let (experiment, arm) = (run.experiment.as_str(), run.arm.as_str());
            (experiment, arm, run.replicate, run.seed, run.config)
        })
        .collect();
    let mut pending = Vec::new();
    for experiment in experiments {
        for replicate in 0..options.replicates.unwrap_or(experiment.replicates) {
            let seed = options.seed.wrapping_add(replicate);
            for arm in &experiment.arms {
                let key = arm.key();
                let same = (
                    experiment.name.as_str(),
                    key.as_str(),
                    replicate,
                    seed,
                    arm.hash,
                );
                if !known.contains(&same) {
                    pending.push(Pending {
                        experiment,
                        arm,
                        replicate,
                        seed,
                    });
                }
            }
        }
    }
    pending
}

/// Does the runs; lines come in an order that depends on the threads, their content does not.
pub fn run(pending: &[Pending<'_>], options: &Options, progress: &mut dyn Progress) -> Result<()> {
    let next = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let told = Mutex::new((progress, Ok(())));
    thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, 64) {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let Some(one) = pending.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        return;
                    };
                    let outcome = one.run();
                    let mut told = told.lock().expect("no thread panics while it tells");
                    match outcome {
                        Ok(record) => {
                            if !told.0.done(&record) {
                                over.store(true, Ordering::Relaxed);
                            }
                        }
                        Err(error) => {
                            told.1 = Err(error);
                            over.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    told.into_inner()
        .expect("no thread panics while it tells")
        .1
}

impl Pending<'_> {
    fn run(&self) -> Result<Record> {
        let values = self
            .arm
            .work
            .run(&self.arm.layout.moved(self.seed)?, self.seed)?;
        Ok(Record {
            experiment: self.experiment.name.clone(),
            arm: self.arm.key(),
            replicate: self.replicate,
            seed: self.seed,
            config: self.arm.hash,
            values,
        })
    }
}
