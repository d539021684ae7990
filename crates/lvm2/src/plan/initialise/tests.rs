//! Tests: layouts that stock wrote for the same arguments, on a device of 256 MiB.

use super::{AreaCount, Device, NewPv, StartOfDevice, Topology, extent_count};
use crate::ondisk::{AreaHeader, AreaUse, Label};
use crate::plan::samples::uuid;
use crate::{Bytes, Kind, Sectors};

const DEVICE: Device = Device {
    size: Sectors(524288),
    page_size: Bytes(4096),
    topology: Topology {
        md_stripe_width: Sectors::ZERO,
        minimum_io: Sectors::ZERO,
        optimal_io: Sectors::ZERO,
        alignment_offset: Sectors::ZERO,
    },
};

fn new() -> NewPv {
    NewPv::new(uuid(1))
}

/// `pe_start`, (start, length) of the areas and of the boot loader's, in sectors.
type Found = (u64, Vec<(u64, u64)>, Option<(u64, u64)>);

fn layout(new: &NewPv) -> Found {
    let pv = new.lay_out(&DEVICE).expect("it fits").label.pv;
    let sectors = |span: &crate::ondisk::Span| (span.offset.0 / 512, span.size.0 / 512);
    (
        pv.data_areas[0].offset.0 / 512,
        pv.metadata_areas.iter().map(sectors).collect(),
        pv.bootloader_area().as_ref().map(sectors),
    )
}

#[test]
fn layouts_are_stocks() {
    // Proves: what stock 2.03.16 put into the headers for these options.
    let one = |pe_start: u64| (pe_start, vec![(8, pe_start - 8)], None);
    assert_eq!(layout(&new()), one(2048));
    let sizes = [
        (6144, 8192),
        (200, 2048),
        (20, 2048),
        (1, 2048),
        (614400, 520192),
    ];
    for (size, pe_start) in sizes {
        let area_size = Some(Sectors(size));
        assert_eq!(
            layout(&NewPv { area_size, ..new() }),
            one(pe_start),
            "size {size}"
        );
    }
    let alignments = [
        (2048, 2048),
        (8192, 8192),
        (6000, 6000),
        (128, 2048),
        (1, 2048),
        (3, 2049),
    ];
    for (asked, pe_start) in alignments {
        let alignment = Some(Sectors(asked));
        assert_eq!(
            layout(&NewPv { alignment, ..new() }),
            one(pe_start),
            "alignment {asked}"
        );
    }
    let alignment_offset = Some(Sectors(7));
    assert_eq!(
        layout(&NewPv {
            alignment_offset,
            ..new()
        }),
        one(2055)
    );
    // Behind a multiple of the alignment at the end of the area, not between that and the one
    // before.
    for (alignment, offset, pe_start) in [
        (128, 7, 2055),
        (16384, 8192, 24576),
        (16384, 1024, 17408),
        (3072, 2048, 5120),
        (2048, 2048, 4096),
    ] {
        let offset_one = NewPv {
            alignment: Some(Sectors(alignment)),
            alignment_offset: Some(Sectors(offset)),
            ..new()
        };
        assert_eq!(layout(&offset_one), one(pe_start), "{alignment}+{offset}");
    }
}

#[test]
fn offsets_come_behind_what_is_aligned() {
    // Proves: where stock 2.03.16 lets extents begin for these areas and offsets, also where one
    // or the other finds no room.
    let start = |device: u64, size: u64, offset: u64| {
        let new = NewPv {
            areas: if size == 0 {
                AreaCount::None
            } else {
                AreaCount::One
            },
            area_size: Some(Sectors(size)),
            alignment_offset: Some(Sectors(offset)),
            ..new()
        };
        let device = Device {
            size: Sectors(device),
            ..DEVICE
        };
        let pv = new.lay_out(&device).expect("it fits").label.pv;
        pv.data_areas[0].offset.0 / 512
    };
    for (device, size, offset, expected) in [
        (98304, 128, 2048, 4096),
        (98304, 2048, 8, 4104),
        (98304, 1024, 128, 2176),
        (98304, 0, 8, 2056),
        (98304, 96256, 128, 98304),
        (99328, 98304, 0, 98312),
        (99328, 98304, 128, 98312),
    ] {
        let found = start(device, size, offset);
        assert_eq!(found, expected, "{size} and {offset} of {device}");
    }
}

#[test]
fn two_areas_and_boot_loaders_lie_where_stock_puts_them() {
    // Proves: the second area from an aligned place to the end; the boot loader in front of data.
    let two = NewPv {
        areas: AreaCount::Two,
        ..new()
    };
    assert_eq!(layout(&two), (2048, vec![(8, 2040), (522240, 2048)], None));
    let size = Some(Sectors(204800));
    let small = layout(&NewPv { size, ..two });
    assert_eq!(small, (2048, vec![(8, 2040), (202752, 2048)], None));
    let size = Some(Sectors(4096));
    let smallest = layout(&NewPv { size, ..two });
    assert_eq!(smallest, (2048, vec![(8, 2040), (2048, 2048)], None));
    let area_size = Some(Sectors(409600));
    let large = layout(&NewPv { area_size, ..two });
    assert_eq!(large, (411648, vec![(8, 411640), (411648, 112640)], None));
    let boot = NewPv {
        bootloader_size: Sectors(4096),
        ..new()
    };
    assert_eq!(layout(&boot), (6144, vec![(8, 2040)], Some((2048, 4096))));
    let boot = NewPv {
        bootloader_size: Sectors(400),
        alignment: Some(Sectors(512)),
        ..new()
    };
    assert_eq!(layout(&boot), (2560, vec![(8, 2040)], Some((2048, 512))));
    let none = NewPv {
        areas: AreaCount::None,
        ..new()
    };
    assert_eq!(layout(&none), (2048, vec![], None));
}

#[test]
fn devices_raise_the_alignment() {
    // Proves: a wish of the device counts unless the alignment is a multiple of it already.
    let aligned = |minimum_io, optimal_io| {
        let topology = Topology {
            minimum_io: Sectors(minimum_io),
            optimal_io: Sectors(optimal_io),
            ..DEVICE.topology
        };
        let device = Device { topology, ..DEVICE };
        new().lay_out(&device).expect("it fits").pe_start.0
    };
    assert_eq!(aligned(8, 128), 2048);
    assert_eq!(aligned(8, 3072), 3072);
}

#[test]
fn what_is_written_is_read_again() {
    // Proves: label and area headers decode to what was laid out.
    let new = NewPv {
        areas: AreaCount::Two,
        area_use: AreaUse::Ignored,
        label_sector: 3,
        ..new()
    };
    let pv = new.lay_out(&DEVICE).expect("it fits");
    let writes = pv.writes().expect("it can be encoded");
    let (at, start) = writes.last().expect("the label comes last");
    assert_eq!(*at, Bytes::ZERO);
    assert_eq!(Label::scan(start).label.as_ref(), Some(&pv.label));
    for ((at, bytes), area) in writes.iter().zip(&pv.label.pv.metadata_areas) {
        assert_eq!(*at, area.offset);
        let size = Bytes(DEVICE.size.0 * 512);
        let header = AreaHeader::decode(&bytes[..512], *area, size).expect("it is a header");
        assert_eq!(header.usage, AreaUse::Ignored);
    }
    let count = extent_count(&pv.label.pv, DEVICE.size, Sectors(8192)).expect("it has extents");
    assert_eq!(count.0, 63);
    let kept = NewPv {
        start: StartOfDevice::Kept,
        ..new
    };
    let writes = kept
        .lay_out(&DEVICE)
        .and_then(|pv| pv.writes())
        .expect("it fits");
    assert_eq!(
        writes.last().map(|(at, bytes)| (at.0, bytes.len())),
        Some((1536, 512))
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    // Proves: stock's sentences for small devices and bad labels.
    let refusal = |new: NewPv| new.lay_out(&DEVICE).expect_err("it is refused");
    let error = refusal(NewPv {
        size: Some(Sectors(2048)),
        ..new()
    });
    assert_eq!(error.context, "Size must exceed minimum of 4096 sectors.");
    let error = refusal(NewPv {
        label_sector: 4,
        ..new()
    });
    assert_eq!(
        (error.kind, error.context.as_str()),
        (Kind::Request, "labelsector must be less than 4.")
    );
    let error = refusal(NewPv {
        alignment: Some(Sectors(32)),
        area_size: Some(Sectors(32)),
        ..new()
    });
    assert!(error.context.contains("too small: 28672 bytes"), "{error}");
    let all = NewPv {
        size: Some(Sectors(2048)),
        size_min: Sectors(1024),
        ..new()
    };
    assert_eq!(layout(&all), (2048, vec![(8, 2040)], None), "as by stock");
    refusal(NewPv {
        alignment: Some(Sectors(600_000)),
        areas: AreaCount::None,
        ..new()
    });
    refusal(NewPv {
        alignment: Some(Sectors(u64::MAX)),
        ..new()
    });
    refusal(NewPv {
        pe_start: Some(Sectors(16)),
        ..new()
    });
    let fixed = NewPv {
        pe_start: Some(Sectors(384)),
        ..new()
    };
    assert_eq!(layout(&fixed), (384, vec![(8, 376)], None));
}
