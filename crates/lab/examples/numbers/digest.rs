//! One seed gives the same bits on every machine: a digest of runs through all layers, beside the
//! one that is kept here.

use std::fmt::Write;

use ashlar_lab::experiment::{self, Options, Record};
use ashlar_lab::layout;
use ashlar_lab::stack::{self, Plan};
use ashlar_lab::workload::fio;

use super::Result;
use super::row::{Effort, Goal, Unit, row};

/// Of the texts below; whoever changes what the models do changes it with them.
const STACK: u64 = 0xbe9f_57ff_28a6_a878;
/// What of a run of `PostMark` counts.
const KEPT: [&str; 6] = [
    "elapsed_s",
    "processor_s",
    "hits_percent",
    "commits",
    "file_data_s",
    "journal_s",
];
/// Of a run of `PostMark`.
const POSTMARK: u64 = 0xcebb_43ed_00c2_0fc4;

pub(crate) fn rows(_: Effort) -> Result<()> {
    let found = [
        ("a stack", stack()?, STACK),
        ("PostMark", postmark()?, POSTMARK),
    ];
    for (what, found, kept) in found {
        let case = format!("digest of {what}, {found:016x}: bits that differ from the kept one");
        let bits = f64::from((found ^ kept).count_ones());
        row(&case, Unit::Number, bits, Goal::AtMost(0.0));
    }
    Ok(())
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// A mirror and stripes of drives, with loops and a network above.
fn stack() -> Result<u64> {
    let text = "[disk.w]\nprofile = \"wd800bd-like\"\n[disk.h]\nprofile = \"HP 97560\"\n\
        scheduler = \"sptf\"\n[layout.x]\ndisks = [\"w*2\", \"h*2\"]\nmapping_ns = 20\n\
        loops = [{ request_us = 6.2, kib_ns = 50 }]\nlink = { megabits = 1000 }\n\
        volume = [{ striped = \"0..1\", chunk = \"64K\", size = \"20G\" },\n\
        { mirror = [\"2\", \"3\"], size = \"1G\" }]\n";
    let jobs = "[j]\nrw=randrw\nbs=16k\nsize=21G\niodepth=8\nruntime=20\ntime_based\nfsync=32\n";
    let layout = layout::parse("digest", text)?.remove(0);
    let jobs = fio::parse(jobs).map_err(|error| error.to_string())?;
    let mut model = stack::build(&layout, 3)?;
    let plan = Plan {
        jobs: &jobs,
        seed: 3,
        requests_max: None,
    };
    let seen = stack::run(model.as_mut(), &plan)?;
    Ok(digest(&format!("{}{:?}", seen.all().to_text(), seen.spent)))
}

/// Test 2 of the study, on a partition.
fn postmark() -> Result<u64> {
    let mut table = experiment::find("postmark")?;
    table.arms.retain(|arm| arm.is_named("test2 native"));
    let options = Options {
        seed: 3,
        replicates: Some(1),
        threads: 1,
    };
    let experiments = [table];
    let pending = experiment::runs(&experiments, &options, &[]);
    let mut text = String::new();
    let mut keep = |record: &Record| {
        for name in KEPT {
            let bits = record.values.get(name).map_or(0, |value| value.to_bits());
            writeln!(text, "{name} {bits:016x}").expect("a string takes all");
        }
        true
    };
    experiment::run(&pending, &options, &mut keep)?;
    Ok(digest(&text))
}
