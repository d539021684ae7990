//! What a device says about itself because of the legs that it is made of, where all of them are
//! read and written alike.

use block::Info;

/// A device of `size` bytes over these legs, which any request may reach: what one of them cannot
/// do it cannot.
pub(crate) fn info_over(name: &str, size: u64, legs: &[&Info]) -> Info {
    assert!(!legs.is_empty(), "a device is made of something");
    let most = |of: fn(&Info) -> u32| legs.iter().map(|leg| of(leg)).max().unwrap_or(0);
    Info {
        logical_block: most(|leg| leg.logical_block),
        physical_block: most(|leg| leg.physical_block),
        minimum_io: most(|leg| leg.minimum_io),
        optimal_io: most(|leg| leg.optimal_io),
        alignment_offset: most(|leg| leg.alignment_offset),
        rotational: legs.iter().any(|leg| leg.rotational),
        fua: legs.iter().all(|leg| leg.fua),
        durable: legs.iter().all(|leg| leg.durable),
        ..Info::new(name, size)
    }
}
