//! The blocks of simulated disks.

use std::sync::Arc;

use block::Device;
use block::sim::{Image, Limits, SimDevice};

/// What a disk reads and writes, and what a cut takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// 512 bytes.
    Small,
    /// It writes 512 bytes, and loses 4 KiB.
    LargePhysical,
    /// It writes 4 KiB, whole or not at all.
    LargeLogical,
}

const SMALL: u32 = 512;
const LARGE: u32 = 4096;

impl Blocks {
    /// The end of a case's name.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Small => "",
            Self::LargePhysical => ".4k",
            Self::LargeLogical => ".4kn",
        }
    }

    /// Which states a cut leaves.
    pub(super) fn limits(self) -> Limits {
        let (block, physical_block) = self.sizes();
        Limits {
            block,
            physical_block,
            ..Limits::default()
        }
    }

    /// A simulated disk that holds `image`.
    pub(super) fn disk(self, image: &Image) -> Arc<dyn Device> {
        let (logical, physical) = self.sizes();
        Arc::new(SimDevice::with_blocks(image.clone(), logical, physical))
    }

    fn sizes(self) -> (u32, u32) {
        match self {
            Self::Small => (SMALL, SMALL),
            Self::LargePhysical => (SMALL, LARGE),
            Self::LargeLogical => (LARGE, LARGE),
        }
    }
}
