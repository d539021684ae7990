//! Measures what state costs, one measurement for each line that it is told: who asks compares.
//!
//! ```text
//!   states FOLDER           files lie there, in the page cache unless its file system does without
//!   states FOLDER small     the same, small: shows that all of it works
//!
//!   in    WHO read|write|zero|rows DEPTH THREADS       one of `devices.rs`, in real time
//!   out   rate in 1/s, processor time of a request in s, waits of threads for a request
//!
//!   in    timed CASE                                one of `timed.rs`, on disks in virtual time
//!   out   what that says
//! ```
//!
//! Requests of 4 KiB in random order (`rows`: writes of 768 KiB, whole rows), for 60 ms at a
//! time. All devices stand on the same files and are all there from the start, so whoever asks in
//! turn for one and the other compares them in the same moments. Processor time is the process's,
//! all its threads; waits are those that a thread began by itself, all threads, and are 0 where
//! several threads ask. A failure ends the program.

mod arrays;
mod devices;
mod load;
mod timed;

use std::cell::LazyCell;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use block::{Operation, Unmap};
use devices::Devices;
use load::Asked;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let is_small = arguments.next().is_some_and(|word| word == "small");
    let size = if is_small { 4 << 20 } else { 64 << 20 };
    // Made when one is asked for.
    let devices = LazyCell::new(|| Devices::on(&folder, size));
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("lines come");
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words.as_slice() {
            ["timed", case] => timed::measure(case, is_small),
            [who, what, depth, threads] => {
                let asked = Asked {
                    operation: operation(what),
                    bytes: bytes(what),
                    depth: depth.parse().expect("a depth"),
                    threads: threads.parse().expect("a number of threads"),
                };
                load::measure(devices.get(who), asked).to_string()
            }
            _ => panic!("'{line}' is not understood"),
        };
        println!("{answer}");
        std::io::stdout().flush().expect("somebody listens");
    }
}

fn operation(word: &str) -> Operation {
    match word {
        "read" => Operation::Read,
        "write" | "rows" => Operation::Write,
        "zero" => Operation::WriteZeroes(Unmap::Forbidden),
        _ => panic!("'{word}' is no operation"),
    }
}

fn bytes(word: &str) -> u64 {
    match word {
        "rows" => load::ROWS,
        _ => load::BLOCK,
    }
}
