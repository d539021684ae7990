//! What parts of one row become.

use std::collections::BTreeMap;

use block::sim::Random;
use block::{Buffer, BufferPool, Durability, Range};

use super::{Piece, Stroke, pieces};
use crate::raid::rotation::{Parity, Rotation};
use crate::raid::writes::{Content, Part};
use crate::raid::{Geometry, Scheme};

const SECTOR: u64 = 512;
const CHUNK: u64 = 32 * SECTOR;
const LEGS: usize = 5;

fn geometry() -> Geometry {
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    Geometry::new(scheme, LEGS, CHUNK, 8 * CHUNK).expect("it can be")
}

/// The pieces of parts of row 3, which begin at these sectors of it and have so many.
fn cut(parts: &[(u64, u64)], random: &mut Random) -> (Vec<Part>, Vec<Piece>) {
    let geometry = geometry();
    let row = 3 * CHUNK * geometry.data_legs() as u64;
    let mut part = |(start, len): (u64, u64)| {
        let bytes: Vec<u8> = (0..len * SECTOR).map(|_| random.number() as u8).collect();
        Part {
            writing: 0,
            range: Range::new(row + start * SECTOR, len * SECTOR),
            durability: Durability::Volatile,
            bytes: Content::Bytes(Buffer::copy_of(&bytes)),
        }
    };
    let mut made: Vec<Part> = parts.iter().map(|one| part(*one)).collect();
    let mut stroke = Stroke::new(Range::new(3 * CHUNK, CHUNK), made.remove(0));
    stroke.parts.extend(made);
    let pieces = pieces(&geometry, &stroke, &BufferPool::new(1 << 20));
    (stroke.parts, pieces)
}

/// Neighbours are one piece: what 32 small writes in order ask of legs is what one large one does.
#[test]
fn neighbours_are_written_together() {
    let parts: Vec<(u64, u64)> = (0..32).rev().map(|sector| (sector, 1)).collect();
    let (_, pieces) = cut(&parts, &mut Random::new(1));
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].new[0].1.len() as u64, 32 * SECTOR);
    // A whole row of them is one piece of all data.
    let parts: Vec<(u64, u64)> = (0..64).map(|pair| (2 * pair, 2)).collect();
    let (_, pieces) = cut(&parts, &mut Random::new(2));
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].new.len(), LEGS - 1);
}

/// Each byte of each part is in one piece, on its leg, at its place, and nothing else is; pieces
/// that touch have other legs.
#[test]
fn pieces_hold_what_parts_do() {
    let geometry = geometry();
    let mut random = Random::new(3);
    for _ in 0..300 {
        let mut parts = Vec::new();
        let mut sector = random.below(4);
        while sector < 128 && parts.len() < 20 {
            let len = 1 + random.below((128 - sector).min(40));
            parts.push((sector, len));
            sector += len + random.below(3) * random.below(20);
        }
        for at in (1..parts.len()).rev() {
            parts.swap(at, random.below(at as u64 + 1) as usize);
        }
        let (parts, pieces) = cut(&parts, &mut random);
        let mut want: BTreeMap<(usize, u64), u8> = BTreeMap::new();
        for part in &parts {
            let bytes = part.bytes(0, part.range.len());
            for (at, byte) in (part.range.start()..).zip(bytes.iter()) {
                let spot = geometry.spot(at, 0);
                want.insert((spot.leg, spot.start), *byte);
            }
        }
        let mut found: BTreeMap<(usize, u64), u8> = BTreeMap::new();
        for (leg, bytes, start) in pieces.iter().flat_map(|piece| {
            let new = piece.new.iter();
            new.map(|(leg, bytes)| (*leg, bytes, piece.span.start()))
        }) {
            for (at, byte) in (start..).zip(bytes.iter()) {
                assert!(found.insert((leg, at), *byte).is_none(), "twice");
            }
        }
        assert!(found == want, "{parts:?}");
        for pair in pieces.windows(2) {
            let legs = |piece: &Piece| piece.new.iter().map(|(leg, _)| *leg).collect::<Vec<_>>();
            let touch = pair[0].span.end() == pair[1].span.start();
            assert!(!touch || legs(&pair[0]) != legs(&pair[1]), "they are one");
        }
    }
}
