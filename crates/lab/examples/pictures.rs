//! Draws the charts of `docs/hypotheses.md` from results:
//! `cargo run -p lab --example pictures -- RESULTS FOLDER`.

use std::path::Path;

use ashlar_lab::experiment::{find, read};
use ashlar_lab::report::{Drawing, picture};

/// File, experiment, what is drawn, of which arms, and the title.
type Chart = (
    &'static str,
    &'static str,
    Drawing<'static>,
    &'static [&'static str],
    &'static str,
);

const CHARTS: [Chart; 7] = [
    (
        "postmark.svg",
        "postmark",
        Drawing::Parts,
        &["test1", "test3"],
        "PostMark's Tests 1 and 3: where the time goes, s",
    ),
    (
        "same-place.svg",
        "postmark-same-place",
        Drawing::Values("elapsed_s"),
        &["test1", "test2", "test3"],
        "The same file system on the same blocks: time of PostMark, s",
    ),
    (
        "causes.svg",
        "postmark-causes",
        Drawing::Parts,
        &["plain", "barriers", "no-journal"],
        "What slows Test 1 down: where the time goes, s",
    ),
    (
        "read-ahead.svg",
        "postmark-causes",
        Drawing::Parts,
        &["large", "large-alone"],
        "Test 3 with reading ahead and without: where the time goes, s",
    ),
    (
        "segments-random.svg",
        "segments",
        Drawing::Values("mean_us"),
        &["ordered random", "shuffled random"],
        "Random reads of a volume in pieces: mean time, µs",
    ),
    (
        "segments-sequential.svg",
        "segments",
        Drawing::Values("mean_us"),
        &[
            "merged sequential",
            "ordered sequential",
            "shuffled sequential",
        ],
        "Sequential reads of a volume in pieces: mean time, µs",
    ),
    (
        "workloads.svg",
        "one-disk",
        Drawing::Parts,
        &["bs=4k depth=1"],
        "Four workloads on the same blocks: where the time of a request goes, µs",
    ),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [results, folder] = words.as_slice() else {
        panic!("RESULTS and FOLDER are expected");
    };
    let text = std::fs::read_to_string(results).expect("the results can be read");
    let results = read(results, &text).expect("they are results");
    for (file, experiment, drawing, words, title) in CHARTS {
        let experiment = find(experiment).expect("it is part of the program");
        let drawn = picture(&experiment, &results.records, drawing, words, title);
        let Some(drawn) = drawn else {
            println!("{file}: {} was not run", experiment.name);
            continue;
        };
        std::fs::write(Path::new(folder).join(file), drawn).expect("the folder can be written");
    }
}
