//! Measures lookups: nanoseconds each, at random and in order, by the number of segments.
//!
//! `cargo run --release -p target --example lookup`. The random offsets are independent of each
//! other, as those of requests are; the best of several rounds is printed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ashlar_dm::table::{Area, Hint, Layout, Piece, Table};
use block::Device;
use block::memory::MemoryDevice;

const GRAIN: u64 = 64 << 10;
const LOOKUPS: u64 = 1 << 16;
const ROUNDS: usize = 40;

fn main() {
    println!("{:>22} {:>10} {:>10}", "segments", "random ns", "in order");
    for segments in [1, 4, 16, 64, 256, 1024, 4096] {
        let table = table(pieces(segments));
        assert_eq!(table.segment_count() as u64, segments, "nothing merged");
        report(&segments.to_string(), &table);
    }
    for (name, chunk) in [("striped 3 x 64 KiB", 128), ("striped 3 x 60 KiB", 120)] {
        report(name, &table(vec![striped(chunk * 512)]));
    }
    let mut mixed = pieces(4095);
    mixed.push(striped(64 << 10));
    report("4096, one striped", &table(mixed));
}

fn disk() -> Arc<dyn Device> {
    Arc::new(MemoryDevice::new("disk", 3 * GRAIN))
}

/// Runs that never go on where the one before ended.
fn pieces(count: u64) -> Vec<Piece> {
    let disk = disk();
    let run = |at: u64| Piece::linear(GRAIN, Arc::clone(&disk), (2 - at % 3) * GRAIN);
    (0..count).map(run).collect()
}

fn striped(chunk: u64) -> Piece {
    let areas = [disk(), disk(), disk()].map(|disk| Area::device(disk, 0));
    Piece::striped(3 * chunk, chunk, areas.to_vec())
}

fn table(pieces: Vec<Piece>) -> Table {
    let layout = Layout::new("layout", pieces).expect("well formed");
    Table::compile(&layout).expect("compiles")
}

fn report(name: &str, table: &Table) {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 20) % table.size()
    };
    let scattered: Vec<u64> = (0..LOOKUPS).map(|_| random()).collect();
    let ordered: Vec<u64> = (0..LOOKUPS).map(|at| at * 512 % table.size()).collect();
    let (scattered, ordered) = (measure(table, &scattered), measure(table, &ordered));
    println!("{name:>22} {scattered:>10.1} {ordered:>10.1}");
}

/// Nanoseconds per lookup, in the best round.
fn measure(table: &Table, offsets: &[u64]) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let mut hint = Hint::default();
        let start = Instant::now();
        for at in offsets {
            black_box(table.lookup(black_box(*at), &mut hint));
        }
        start.elapsed().as_nanos() as f64 / offsets.len() as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}
