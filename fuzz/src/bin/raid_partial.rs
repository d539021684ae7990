//! md's logs of partial parity: whatever legs hold, recovering reads and writes on them alone, and
//! writes nothing but parity. Done again it finds as much, and changes nothing.
//!
//! The first bytes say how many legs there are, which is missing and which rotation they have; the
//! others are logs. The sums of headers and entries are mended, since no mutation finds them.
#![no_main]

use block::Range;
use dm::raid::md::partial::{HEADER, Header, Logs, Recovery};
use dm::raid::{Geometry, Parity, Rotation, Scheme};
use libfuzzer_sys::fuzz_target;

const CHUNK: u64 = 4096;
const LEG: u64 = 8 * CHUNK;
const LOG: usize = 5 * HEADER as usize;
const SIGNATURE: u32 = 7;

struct Legs {
    logs: Vec<Vec<u8>>,
    data: Vec<Vec<u8>>,
    geometry: Geometry,
}

impl Logs for Legs {
    fn log(&mut self, leg: usize, range: Range) -> dm::Result<Vec<u8>> {
        Ok(self.logs[leg][range.start() as usize..range.end() as usize].to_vec())
    }

    fn read(&mut self, leg: usize, range: Range) -> dm::Result<Vec<u8>> {
        Ok(self.data[leg][range.start() as usize..range.end() as usize].to_vec())
    }

    fn write(&mut self, leg: usize, start: u64, bytes: &[u8]) -> dm::Result<()> {
        let end = start + bytes.len() as u64;
        assert_eq!(start / CHUNK, (end - 1) / CHUNK, "a row at a time");
        assert_eq!(
            self.geometry.row(start / CHUNK).p,
            leg,
            "parity alone is written"
        );
        self.data[leg][start as usize..end as usize].copy_from_slice(bytes);
        Ok(())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some(([count, missing, rotation], logs)) = bytes.split_first_chunk() else {
        return;
    };
    let legs = 3 + usize::from(count % 3);
    let fits: Vec<Rotation> = Rotation::all()
        .filter(|one| one.suits(Parity::One))
        .collect();
    let scheme = Scheme::Parity(Parity::One, fits[usize::from(*rotation) % fits.len()]);
    let geometry = Geometry::new(scheme, legs, CHUNK, LEG).expect("it can be");
    let len = logs.len().div_ceil(legs).max(1);
    let mut logs: Vec<Vec<u8>> = logs.chunks(len).take(legs).map(log).collect();
    logs.resize(legs, vec![0; LOG]);
    let data = |leg: usize| vec![leg as u8 * 0x11; LEG as usize];
    let mut io = Legs {
        logs,
        data: (0..legs).map(data).collect(),
        geometry,
    };
    let known = |leg: usize| (leg != usize::from(*missing)).then_some((LEG, LOG as u64));
    let recovery = Recovery {
        geometry,
        signature: SIGNATURE,
        legs: (0..legs).map(known).collect(),
    };
    let first = recovery.run(&mut io).expect("all can be read");
    let held = io.data.clone();
    let again = recovery.run(&mut io).expect("all can be read");
    assert_eq!(first, again);
    assert!(io.data == held, "it is done once");
});

/// A log that begins with these bytes, behind what each header begins with; its header is written
/// anew where it says one.
fn log(start: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; LOG];
    let len = start.len().min(LOG - 512);
    bytes[512..512 + len].copy_from_slice(&start[..len]);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let count = (word(528) as usize).min(4);
    let entry = |number: usize| {
        let at = 536 + 24 * number;
        let (low, lens) = (word(at), (word(at + 8), word(at + 12)));
        let partial = HEADER as usize..(HEADER as usize + lens.0 as usize).min(LOG);
        dm::raid::md::partial::Entry {
            sector: u64::from(low % 256),
            parity_len: lens.0,
            data_len: lens.1,
            leg: word(at + 16),
            sum: dm::raid::md::partial::sum(&bytes[partial]),
        }
    };
    let header = Header {
        signature: SIGNATURE,
        generation: u64::from(word(520)),
        entries: (0..count).map(entry).collect(),
    };
    bytes[..HEADER as usize].copy_from_slice(&header.encode());
    bytes
}
