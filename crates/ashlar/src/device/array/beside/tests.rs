//! Superblock and bitmap never reach data, nor one another.

use dm::raid::md::{ByteOrder, Descriptor, Superblock090};

use super::{Beside, Claim, KeptSuperblock, Range};

const DEVICE: u64 = 64 << 20;

fn old(bitmap: bool) -> KeptSuperblock {
    let leg = Descriptor {
        state: Descriptor::ACTIVE | Descriptor::SYNC,
        ..Descriptor::default()
    };
    let mut descriptors = [Descriptor::default(); Superblock090::DESCRIPTORS];
    descriptors[0] = leg;
    KeptSuperblock::Old(Box::new(Superblock090 {
        order: ByteOrder::Little,
        minor_version: 90,
        patch_version: 3,
        uuid: [9; 4],
        created: 1,
        level: 1,
        size_kib: 1024,
        nr_disks: 1,
        device_count: 1,
        md_minor: 0,
        updated: 1,
        state: 1 | u32::from(bitmap) << 8,
        counts: [1, 1, 0, 0],
        events: 1,
        checkpoint_events: 0,
        checkpoint: 0,
        reshape_position: 0,
        new_level: 0,
        delta_disks: 0,
        new_layout: 0,
        new_chunk: 0,
        layout: 0,
        chunk: 0,
        this: leg,
        descriptors,
    }))
}

/// The bitmap of the old format has what is left of 64 KiB, and no more.
#[test]
fn the_old_format_has_room_behind_its_superblock() {
    let superblock = old(true);
    let claim = superblock.claim(DEVICE);
    let end = DEVICE - (64 << 10);
    let found = Beside::find(&claim, &superblock, (DEVICE, Some(1000), None)).expect("it fits");
    assert_eq!(found.superblock, end);
    assert_eq!(found.bitmap, Some(Range::new(end + 4096, 4096)));
    assert!(
        found
            .bitmap
            .is_some_and(|bitmap| bitmap.intersection(claim.data).is_none())
    );
    let most = ((60 << 10) - 256) * 8;
    Beside::find(&claim, &superblock, (DEVICE, Some(most), None)).expect("it fits just so");
    let error = Beside::find(&claim, &superblock, (DEVICE, Some(most + 1), None));
    assert!(error.is_err_and(|why| why.contains("no room")));
}

/// What would reach data is refused, and so is a bitmap that only one side knows of.
#[test]
fn what_overlaps_is_refused() {
    let superblock = old(true);
    let claim = superblock.claim(DEVICE);
    let into_data = Claim {
        bitmap: Some(4096),
        ..claim.clone()
    };
    let over_itself = Claim {
        data: Range::new(0, DEVICE),
        ..claim.clone()
    };
    for wrong in [into_data, over_itself] {
        assert!(Beside::find(&wrong, &superblock, (DEVICE, Some(10), None)).is_err());
    }
    assert!(Beside::find(&claim, &superblock, (DEVICE, None, None)).is_err());
    let without = old(false).claim(DEVICE);
    let found = Beside::find(&without, &old(false), (DEVICE, None, None));
    assert_eq!(found.map(|found| found.bitmap), Ok(None));
}
