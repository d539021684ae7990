//! Superblocks and bitmaps of arrays, device-mapper's and md's: any bytes are one, or none, or are
//! refused; what is read is written so that it reads the same; and what devices claim is judged,
//! with each leg one device's and each byte of the array on a leg.
//!
//! The first byte says what the others are. Checksums are mended, since no mutation finds them.
#![no_main]

use dm::raid::md::{Claim, Layout, Place, Superblock1, Superblock090, judge};
use dm::raid::{Bitmap, Superblock};
use libfuzzer_sys::fuzz_target;

const DEVICE: u64 = 16 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 4 {
        0 => superblock(bytes),
        1 => bitmap(bytes),
        2 => members(bytes),
        _ => old(bytes),
    }
});

fn superblock(bytes: &[u8]) {
    if let Ok(Some(read)) = Superblock::decode(bytes) {
        let again = Superblock::decode(&read.encode());
        assert_eq!(again.ok().flatten(), Some(read));
    }
}

fn bitmap(bytes: &[u8]) {
    if let Ok(Some(read)) = Bitmap::decode(bytes) {
        assert!(read.dirty.regions().div_ceil(8) <= bytes.len() as u64);
        assert_eq!(Bitmap::decode(&read.encode()).ok().flatten(), Some(read));
    }
}

/// Headers of 256 bytes with 16 bytes of roles, each of another device.
fn members(bytes: &[u8]) {
    let claims: Vec<Claim> = bytes.chunks(272).take(5).filter_map(new).collect();
    let Ok(array) = judge(&claims) else {
        return;
    };
    let mut seen = Vec::new();
    for leg in array.legs.iter().flatten() {
        assert!(!seen.contains(&leg.claim), "two legs are one device");
        seen.push(leg.claim);
    }
    let holds = |leg: usize, byte: u64| match array.legs[leg] {
        None => true,
        Some(leg) => byte < claims[leg.claim].data.len(),
    };
    let (size, spot): (u64, Box<dyn Fn(u64) -> dm::raid::Spot>) = match &array.layout {
        Layout::Redundant(geometry) => (geometry.size(), Box::new(|at| geometry.spot(at, 0))),
        Layout::Striped(zones) => (zones.size(), Box::new(|at| zones.spot(at))),
        Layout::Linear(spans) => (spans.size(), Box::new(|at| spans.spot(at))),
        Layout::Unknown => return,
    };
    for at in [0, size / 3, size / 2, size.saturating_sub(1)] {
        if at < size {
            let spot = spot(at);
            assert!(holds(spot.leg, spot.start), "{at} is at {spot:?}");
        }
    }
}

fn new(header: &[u8]) -> Option<Claim> {
    let mut bytes = vec![0; 4096];
    bytes[..header.len()].copy_from_slice(header);
    let count = u32::from_le_bytes(bytes[220..224].try_into().expect("four bytes"));
    // More have no room, and are refused.
    let count = count.min(1920) as usize;
    sum(&mut bytes, 54, (256 + 2 * count) / 4, count % 2 == 1);
    let places = [Place::Start, Place::SecondBlock, Place::End];
    places.into_iter().find_map(|place| {
        let read = Superblock1::decode(&bytes, place, DEVICE).ok().flatten()?;
        let again = Superblock1::decode(&read.encode(), place, DEVICE);
        let claim = read.claim();
        assert!(claim.data.end() <= DEVICE);
        assert_eq!(again.ok().flatten(), Some(read));
        Some(claim)
    })
}

fn old(start: &[u8]) {
    let mut bytes = vec![0; 4096];
    let len = start.len().min(4096);
    bytes[..len].copy_from_slice(&start[..len]);
    sum(&mut bytes, 38, 1024, false);
    if let Ok(Some(read)) = Superblock090::decode(&bytes, DEVICE) {
        assert!(read.claim(DEVICE).data.end() <= DEVICE);
        let _ = judge(&[read.claim(DEVICE)]);
        let again = Superblock090::decode(&read.encode(), DEVICE);
        assert_eq!(again.ok().flatten(), Some(read));
    }
}

/// Puts the sum of little-endian words, perhaps with half a one behind them, where it belongs.
fn sum(bytes: &mut [u8], sum_word: usize, words: usize, has_half: bool) {
    let word = |word: usize| {
        let bytes = bytes[4 * word..4 * word + 4].try_into();
        u64::from(u32::from_le_bytes(bytes.expect("four bytes")))
    };
    let mut all: u64 = (0..words).filter(|at| *at != sum_word).map(word).sum();
    if has_half {
        all += word(words) & 0xffff;
    }
    let sum = (all as u32).wrapping_add((all >> 32) as u32);
    bytes[4 * sum_word..4 * sum_word + 4].copy_from_slice(&sum.to_le_bytes());
}
