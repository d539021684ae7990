//! Lists that become shorter, on devices in memory.

use std::sync::Arc;

use block::memory::MemoryDevice;
use block::{BlockingDevice, Device, Range};

use super::{Listed, ListedLeg};

const LEN: usize = 4096;

fn entry(sector: u64, count: u64) -> (u64, Range) {
    (sector << 10 | count, Range::new(sector * 512, count * 512))
}

fn list_of(entries: &[(u64, Range)]) -> Vec<u8> {
    let mut bytes = vec![0xff; LEN];
    for (number, (entry, _)) in entries.iter().enumerate() {
        bytes[number * 8..number * 8 + 8].copy_from_slice(&entry.to_le_bytes());
    }
    bytes
}

/// A leg is not read where it is listed; what covers an entry takes it off with the next flush, and
/// not before; part of one leaves it on the list, and what was written of it is read.
#[test]
fn what_is_written_and_durable_is_taken_off() {
    let entries = vec![entry(8, 8), entry(40, 16), entry(100, 1)];
    let list = Arc::new(MemoryDevice::from_bytes("list", list_of(&entries)));
    let data = Arc::new(MemoryDevice::new("data", 1 << 20));
    let shown: Arc<dyn Device> = list.clone();
    let leg = ListedLeg::over(data, shown, entries.clone());
    let mut io = BlockingDevice::open(&*leg).expect("memory");
    let mut sector = vec![0; 512];
    for at in [8, 15, 47, 100] {
        io.read_at(&mut sector, at * 512).expect_err("it is listed");
    }
    io.read_at(&mut sector, 16 * 512).expect("it is not listed");
    io.write_at(&[1; 10 * 512], 7 * 512).expect("memory");
    io.write_at(&[2; 8 * 512], 40 * 512).expect("memory");
    io.read_at(&mut sector, 15 * 512).expect("it was written");
    assert_eq!(sector, [1; 512]);
    io.read_at(&mut sector, 47 * 512).expect("it was written");
    io.read_at(&mut sector, 48 * 512).expect_err("it was not");
    assert_eq!(list.snapshot(), list_of(&entries), "nothing is durable yet");
    io.flush().expect("memory");
    assert_eq!(list.snapshot(), list_of(&entries[1..]));
    io.write_at(&[3; 8 * 512], 48 * 512).expect("memory");
    io.flush().expect("memory");
    assert_eq!(list.snapshot(), list_of(&entries[2..]));
    io.write_at(&[3; 512], 100 * 512).expect("memory");
    io.flush().expect("memory");
    assert_eq!(list.snapshot(), vec![0xff; LEN]);
}

/// Whichever sectors of a list were written when power went, in their order, all entries are on it
/// that should be.
#[test]
fn a_list_that_is_cut_lacks_nothing() {
    let entries: Vec<(u64, Range)> = (0..400).map(|number| entry(number * 8, 4)).collect();
    for step in [2, 3, 7, 64, 100] {
        let mut listed = Listed {
            bad: entries.iter().map(|(_, range)| *range).collect(),
            entries: entries.clone(),
            len: LEN,
            is_taken: false,
        };
        for (_, range) in entries.iter().step_by(step) {
            listed.written(*range);
        }
        let mut bytes = list_of(&entries);
        let healed = listed.healed();
        assert_eq!(healed.len(), 400_usize.div_ceil(step));
        let left: Vec<u64> = listed.entries.iter().map(|(entry, _)| *entry).collect();
        let left: Vec<u64> = left
            .into_iter()
            .filter(|one| !healed.contains(one))
            .collect();
        for (start, sector) in listed.take_off(&healed) {
            bytes[start as usize..start as usize + 512].copy_from_slice(&sector);
            let words = bytes.as_chunks::<8>().0.iter();
            let words = words.map(|word| u64::from_le_bytes(*word));
            let there: Vec<u64> = words.take_while(|word| *word != u64::MAX).collect();
            assert!(
                left.iter().all(|one| there.contains(one)),
                "step {step}, {start}"
            );
        }
        assert_eq!(bytes, listed.on_disk());
    }
}
