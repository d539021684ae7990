//! Eq. 1 predicted by formula beside Eq. 1 emulated: `PostMark` Tests 1 to 3 at the end of a disk.
//!
//! `cargo run --release -p lab --example files -- [MEMORY_MIB]…`

use ashlar_lab::component::Component;
use ashlar_lab::disk::catalog;
use ashlar_lab::filesystem::Options;
use ashlar_lab::filesystem::postmark::Outcome;
use ashlar_lab::layout::{Area, Buses, Disk, DiskKind, Layout, Segment};
use ashlar_lab::predict::files::{FilePrediction, Files, emulate};
use ashlar_lab::stats::median;
use ashlar_lab::workload::postmark::Settings;

const GIB: u64 = 1 << 30;

/// A partition of 20 GiB at the end of the first study's drive.
fn partition() -> Layout {
    let profile = catalog::find("wd800bd-like").expect("a disk of the catalogue");
    let disk = Disk {
        name: profile.name.clone(),
        kind: DiskKind::Drive(Box::new(profile)),
        link: None,
    };
    let start = disk.size().expect("a possible disk") - 20 * GIB;
    Layout {
        name: "partition".to_owned(),
        disks: vec![disk],
        buses: Buses::Own,
        volume: vec![Segment::Linear {
            len: 20 * GIB,
            area: Area { disk: 0, start },
            cut: None,
        }],
        mapping_ns: 0,
        loops: Vec::new(),
        link: None,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let memories: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let memories = if memories.is_empty() {
        vec![256, 512, 1024, 2048, 4096]
    } else {
        memories
    };
    let layout = partition();
    let tests = [Settings::pm1(), Settings::pm2(), Settings::pm3()];
    let mut errors = Vec::new();
    for memory in memories {
        let options = Options {
            memory_bytes: memory << 20,
            ..Options::default()
        };
        for (settings, number) in tests.iter().zip(1..) {
            let found = Files::new(&layout, settings, &options, 1)?.predict()?;
            let run = emulate(&layout, settings, &options, 1)?;
            println!("\n{memory} MiB, Test {number}      predicted   emulated    error");
            errors.push(compared(&found, &run));
        }
    }
    let worst = errors.iter().copied().fold(0.0, f64::max);
    println!(
        "\n{} runs: seconds off by {:.1} % (median), {worst:.1} % (worst)",
        errors.len(),
        median(&errors).unwrap_or(0.0)
    );
    Ok(())
}

/// A run's numbers, one below the other; by how many per cent the time is off.
fn compared(found: &FilePrediction, run: &Outcome) -> f64 {
    let line = |name: &str, predicted: f64, emulated: f64| {
        let error = (predicted / emulated.max(1e-9) - 1.0) * 100.0;
        println!("  {name:24} {predicted:10.1} {emulated:10.1} {error:+8.1} %");
        error.abs()
    };
    let time = |name: &str, predicted_ns: f64, emulated_ns: u64| {
        line(name, predicted_ns / 1e9, emulated_ns as f64 / 1e9)
    };
    let account = &run.account;
    let off = time("seconds", found.elapsed_ns.value, run.elapsed_ns);
    time("processor, s", found.processor_ns, account.processor_ns);
    for (class, term) in Component::ALL.into_iter().zip(found.terms) {
        let name = format!("{}, s", class.term());
        time(&name, term.value, account.class(class).waited_ns);
    }
    let data = account.class(Component::FileData);
    let log = account.class(Component::Journal);
    let blocks = |bytes: u64| (bytes >> 12) as f64;
    line("commits", found.commits, account.commits as f64);
    let written = blocks(data.written_bytes);
    line("data blocks written", found.data_written, written);
    line("data blocks read", found.data_read, blocks(data.read_bytes));
    let logged = blocks(log.written_bytes);
    line("log blocks written", found.log_written, logged);
    off
}
