//! Texts that people give the lab: layouts, experiments, results, job files, parameter files of
//! drives, and what other programs printed. Any text is read or refused, and refused in words.
#![no_main]

use lab::disk::import::{Files, profile};
use lab::experiment::Experiment;
use lab::workload::fio;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(error) = lab::layout::parse("fuzz", text) {
        assert!(!error.to_string().is_empty());
    }
    if let Err(error) = fio::parse(text) {
        assert!(!error.to_string().is_empty());
    }
    if let Ok(profile) = lab::disk::file::read("fuzz", text) {
        let written = lab::disk::file::write(&profile);
        let again = lab::disk::file::read("fuzz", &written);
        assert_eq!(again.expect("what was written can be read"), profile);
    }
    let _ = Experiment::parse("fuzz", text);
    let _ = lab::audit::audit(text);
    if let Ok(read) = lab::experiment::read("fuzz", text) {
        // What was kept of a file is kept when it is written again.
        let lines: Vec<String> = read.records.iter().map(|record| record.to_line()).collect();
        let again = lab::experiment::read("fuzz", &(lines.join("\n") + "\n"));
        let again = again.expect("what was written can be read");
        assert_eq!(again.records.len(), read.records.len());
    }
    if let Ok(files) = Files::read("fuzz", |_| Ok(text.to_owned())) {
        let _ = profile(&files);
    }
});
