//! The facade does to a device what plain copies do to memory.

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, proptest};

use super::{BlockingDevice, pieces};
use crate::memory::MemoryDevice;
use crate::{Kind, Range, Unmap};

const SIZE: u64 = 3 << 20;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn writes_and_reads_match_memory(
        writes in prop::collection::vec((0..SIZE, 0..(2_u64 << 20), any::<u8>()), 1..6),
    ) {
        // Writes at any byte and of any length leave what the same writes to a vector leave.
        let device = MemoryDevice::new("memory", SIZE);
        let mut blocking = BlockingDevice::open(&device).unwrap();
        let mut model = vec![0; SIZE as usize];
        for (start, len, seed) in writes {
            let len = len.min(SIZE - start) as usize;
            let bytes: Vec<u8> = (0..len).map(|at| (at as u8) ^ seed).collect();
            blocking.write_at(&bytes, start).unwrap();
            model[start as usize..][..len].copy_from_slice(&bytes);
            let from = start.saturating_sub(700);
            let mut back = vec![1; (len + 900).min((SIZE - from) as usize)];
            blocking.read_at(&mut back, from).unwrap();
            prop_assert!(back == model[from as usize..][..back.len()]);
        }
        prop_assert!(device.snapshot() == model);
    }
}

#[test]
fn pieces_cover_and_align() {
    // A range is cut at multiples, without gaps.
    let cut: Vec<_> = pieces(Range::new(700, 1000), 512).collect();
    let expected = [(700, 324), (1024, 512), (1536, 164)];
    assert_eq!(cut, expected.map(|(start, len)| Range::new(start, len)));
    assert_eq!(pieces(Range::EMPTY, 512).count(), 0);
}

#[test]
fn what_lies_outside_is_refused() {
    // Places outside cost no memory, and zeros and discards keep to whole blocks.
    let device = MemoryDevice::new("memory", SIZE);
    let mut blocking = BlockingDevice::open(&device).unwrap();
    let far = blocking.read(Range::new(0, 1 << 50)).unwrap_err();
    assert_eq!(far.kind(), Kind::InvalidRequest);
    blocking.read_at(&mut [0; 2], SIZE - 1).unwrap_err();
    blocking.read_at(&mut [0; 2], u64::MAX).unwrap_err();
    blocking.read_at(&mut [], SIZE).unwrap();
    blocking.write_at(&[1; 4096], 0).unwrap();
    let half = Range::new(0, 100);
    blocking.write_zeroes(half, Unmap::Allowed).unwrap_err();
    blocking
        .write_zeroes(Range::new(0, 512), Unmap::Allowed)
        .unwrap();
    blocking.discard(Range::new(512, 512)).unwrap();
    blocking.flush().unwrap();
    assert_eq!(blocking.read(Range::new(1023, 2)).unwrap(), [0, 1]);
}
