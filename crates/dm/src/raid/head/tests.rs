//! Tests: new metadata is read as it was meant.

use super::{head_in_sync, head_of_reshape};
use crate::raid::{
    Assembly, Bitmap, Bits, Described, Doubt, Geometry, LegFound, LegState, Scheme, Superblock,
    assemble, bitmap,
};

const CHUNK: u64 = 4096;

fn geometry(level: u32, layout: u32, legs: usize, chunk: u64) -> Geometry {
    let scheme = Scheme::from_md(level, layout).expect("it is known");
    Geometry::new(scheme, legs, chunk, 16 * CHUNK).expect("it can be")
}

fn assembled(described: &Described, head: impl Fn(usize) -> Vec<u8>) -> Assembly {
    let read = |place: usize| {
        let head = head(place);
        let superblock = Superblock::decode(&head)
            .expect("it is one")
            .expect("it says it");
        let bits = Bitmap::decode(&head[bitmap::START as usize..]).expect("it is one");
        LegFound::Holds(
            Box::new(superblock),
            Bits::Bitmap(bits.expect("it is there")),
        )
    };
    let found: Vec<LegFound> = (0..described.geometry.legs()).map(read).collect();
    let assembly = assemble("array", described, &found).expect("an array");
    assert_eq!(
        assembly.legs,
        vec![LegState::Valid { until: u64::MAX }; found.len()]
    );
    assert_eq!(
        (assembly.synced, assembly.dirty.clone()),
        (u64::MAX, Doubt::Nowhere)
    );
    assert_eq!(assembly.remarks, [""; 0]);
    assembly
}

/// Metadata that is made anew says that all is in sync, and is read so.
#[test]
fn new_heads_say_that_all_is_in_sync() {
    let described = Described::new(geometry(5, 4, 4, CHUNK), CHUNK);
    let assembly = assembled(&described, |place| {
        head_in_sync(&described, 3 * 16 * CHUNK, place).expect("few regions")
    });
    assert_eq!(assembly.reshape, None);
}

/// Or that it becomes another one, which has not begun to move: more legs, chunks, another layout.
#[test]
fn a_reshape_begins_at_its_start() {
    let before = geometry(5, 2, 3, CHUNK);
    let others = [
        geometry(5, 2, 4, CHUNK),
        geometry(5, 2, 3, 2 * CHUNK),
        geometry(5, 3, 3, CHUNK),
    ];
    for after in others {
        let described = Described::new(after, 2 * CHUNK);
        let space = 4 * CHUNK;
        let assembly = assembled(&described, |place| {
            head_of_reshape(&described, &before, space, place).expect("few regions")
        });
        let reshape = assembly.reshape.expect("it is reshaped");
        assert_eq!((reshape.from, reshape.to), (before, after));
        assert_eq!((reshape.position, reshape.new_start), (0, 0));
        assert_eq!(assembly.data_start, space);
        assert!(!reshape.backwards);
        assert_eq!(reshape.obstacle(after.legs(), space), None);
    }
}
