//! `PostMark`: the volumes of the first study, and how long its whole table takes.

use std::time::Instant;

use ashlar_lab::experiment::{self, Options, Record};
use ashlar_lab::workload::postmark::{Counts, Settings, Stream};

use super::Result;
use super::row::{Effort, Goal, Unit, row};

/// Megabytes read and written, as the study prints them.
const VOLUMES: [(u32, f64, f64); 3] = [
    (1, 1554.04, 1817.21),
    (2, 13.61, 31.35),
    (3, 4668.08, 5420.03),
];
/// Seconds that the table may take.
const TABLE_MAX: f64 = 120.0;

pub(crate) fn rows(effort: Effort) -> Result<()> {
    for (test, read, written) in VOLUMES {
        let settings = match test {
            1 => Settings::pm1(),
            2 => Settings::pm2(),
            _ => Settings::pm3(),
        };
        let stream = Stream::new(&settings).map_err(|error| error.to_string())?;
        let counts = Counts::of(stream);
        for (what, bytes, study) in [
            ("read", counts.bytes_read, read),
            ("written", counts.bytes_written, written),
        ] {
            let megabytes = (bytes as f64 / 1_048_576.0 * 100.0).round() / 100.0;
            let case = format!("PostMark Test {test}, megabytes {what}");
            row(&case, Unit::Number, megabytes, Goal::Within(study, study));
        }
    }
    let mut table = experiment::find("postmark")?;
    if effort == Effort::Smoke {
        table.arms.retain(|arm| arm.is_named("test2 native"));
    }
    let options = Options {
        // Seed 0 is the program's own stream.
        seed: 0,
        replicates: Some(1),
        threads: 1,
    };
    let experiments = [table];
    let pending = experiment::runs(&experiments, &options, &[]);
    let begin = Instant::now();
    let mut keep = |_: &Record| true;
    experiment::run(&pending, &options, &mut keep)?;
    let case = format!("PostMark, the table of {} runs", pending.len());
    let seconds = begin.elapsed().as_secs_f64();
    row(&case, Unit::Seconds, seconds, Goal::AtMost(TABLE_MAX));
    Ok(())
}
