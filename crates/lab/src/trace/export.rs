//! A trace as fio's log of version 2, which fio replays with `read_iolog`.
//!
//! fio's waits are relative to each other in whole microseconds, and it leaves out those under 100.
//! Flags, labels, durations and dependencies have no place there. Writes of zeros become writes.

use std::fmt::Write as _;

use super::record::{Operation, Trace};

/// Shorter waits fio leaves out; they are added to the next one.
const WAIT_MIN_US: u64 = 100;

/// The log; `file` is the path that fio shall ask.
pub fn to_iolog(trace: &Trace, file: &str) -> String {
    let mut text = format!("fio version 2 iolog\n{file} add\n{file} open\n");
    let mut waited_us = 0;
    for record in &trace.records {
        let time_us = record.time_ns / 1000;
        if time_us >= waited_us + WAIT_MIN_US {
            let _ = writeln!(text, "{file} wait {} 0", time_us - waited_us);
            waited_us = time_us;
        }
        let action = match record.operation {
            Operation::Read => "read",
            Operation::Write | Operation::WriteZeroes => "write",
            Operation::Discard => "trim",
            Operation::Flush => "datasync",
        };
        if record.preflush {
            let _ = writeln!(text, "{file} datasync 0 0");
        }
        let (offset, length) = (
            record.start.saturating_mul(512),
            record.count.saturating_mul(512),
        );
        let _ = writeln!(text, "{file} {action} {offset} {length}");
        if record.fua {
            let _ = writeln!(text, "{file} datasync 0 0");
        }
    }
    let _ = writeln!(text, "{file} close");
    text
}
