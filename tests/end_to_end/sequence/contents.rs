//! What was written into volumes, and whether it is still there.
//!
//! A volume that is new or has grown is filled anew, through `ashlar cp`. A volume that became
//! smaller keeps what is left. A volume that came back, by undoing its removal, holds what it held.

use std::collections::BTreeMap;
use std::fs;

use block::sim::Random;
use tests::sha256;

use super::bench::Bench;
use super::state::{Row, State, number};

const SECTOR: u64 = 512;

/// What is known of one volume.
struct Known {
    /// None where somebody else's bytes may be in it.
    bytes: Option<Vec<u8>>,
    /// In bytes, when it was last seen.
    size: u64,
}

/// Everything that was written, by the volumes' UUIDs.
pub(super) struct Contents {
    known: BTreeMap<String, Known>,
    file: std::path::PathBuf,
}

fn size_of(volume: &Row) -> u64 {
    number(volume, "lv_size") * SECTOR
}

impl Contents {
    pub(super) fn new(bench: &Bench) -> Self {
        Self {
            known: BTreeMap::new(),
            file: bench.file("content"),
        }
    }

    /// Fills what is new or has grown.
    pub(super) fn follow(&mut self, bench: &Bench, state: &State, random: &mut Random) {
        for volume in state.volumes() {
            let size = size_of(volume);
            let known = self.known.get_mut(&volume["lv_uuid"]);
            match known {
                Some(known) if known.size >= size => {
                    known.size = size;
                    if let Some(bytes) = &mut known.bytes {
                        bytes.truncate(size as usize);
                    }
                }
                _ => {
                    let bytes = self.fill(bench, state, volume, random);
                    let known = Known { bytes, size };
                    self.known.insert(volume["lv_uuid"].clone(), known);
                }
            }
        }
    }

    fn fill(
        &self,
        bench: &Bench,
        state: &State,
        volume: &Row,
        random: &mut Random,
    ) -> Option<Vec<u8>> {
        let size = size_of(volume) as usize;
        if state.segment_type(volume) == "zero" {
            return Some(vec![0; size]);
        }
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            bytes.extend_from_slice(&random.number().to_le_bytes());
        }
        fs::write(&self.file, &bytes).expect("room for a file");
        let copy = bench.ashlar().arg("cp").arg(&self.file);
        let copied = copy.arg(&volume["lv_full_name"]).run();
        if copied.code != Some(0) {
            // What is read-only cannot be filled, and says so.
            let said = copied.complaints();
            assert!(said.contains("read-only"), "{copied}");
            return None;
        }
        Some(bytes)
    }

    /// We read what was written.
    pub(super) fn verify(&self, bench: &Bench, state: &State) {
        for volume in state.volumes() {
            let known = &self.known[&volume["lv_uuid"]];
            let name = &volume["lv_full_name"];
            let read = bench.ashlar().args(["cat", name]).succeed();
            if let Some(bytes) = &known.bytes {
                assert!(
                    read.stdout == *bytes,
                    "{name} does not hold what it was filled with"
                );
            }
        }
    }

    /// What the kernel must read: sums by name, where known.
    pub(super) fn sums(&self, state: &State) -> BTreeMap<String, Option<String>> {
        let sum = |volume: &&Row| {
            let known = &self.known[&volume["lv_uuid"]];
            let sum = known.bytes.as_ref().map(|bytes| sha256(bytes));
            (volume["lv_full_name"].clone(), sum)
        };
        state.volumes().iter().map(sum).collect()
    }
}
