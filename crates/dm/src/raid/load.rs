//! The start: superblock and bitmap of each leg are read, all at once.

use block::{Buffer, Completion, Info, Request};

use super::array::Steps;
use super::assembly::{Assembly, Bits, LegFound, LegState, assemble};
use super::bitmap::{self, Bitmap};
use super::config::{ArrayConfig, LegContent, REGIONS_MAX};
use super::superblock::Superblock;
use crate::Result;
use crate::machine::Step;

/// What was read so far.
#[derive(Debug)]
pub(super) struct Load {
    found: Vec<LegFound>,
    /// The metadata devices, the legs that they are of, and how many bytes are read of each.
    metas: Vec<(usize, usize, usize)>,
    out: usize,
    /// What is believed, where nothing has to be read for that.
    known: Option<Box<Assembly>>,
}

impl Load {
    /// Nothing has to be read.
    pub(super) fn known(assembly: Assembly) -> Self {
        Self {
            found: Vec::new(),
            metas: Vec::new(),
            out: 0,
            known: Some(Box::new(assembly)),
        }
    }

    pub(super) fn new(config: &ArrayConfig, devices: &[Info]) -> Self {
        let legs = config.legs.iter().enumerate();
        let len = |device: usize| config.record_len().min(devices[device].size) as usize;
        Self {
            found: config.legs.iter().map(unread).collect(),
            metas: legs
                .filter_map(|(leg, one)| Some((one.meta?, leg, len(one.meta?))))
                .collect(),
            out: 0,
            known: None,
        }
    }

    /// Whether somebody has not answered.
    pub(super) fn is_out(&self) -> bool {
        self.out > 0
    }

    /// Asks all.
    pub(super) fn start(&mut self, steps: &mut Steps) {
        assert_eq!(self.out, 0, "it starts once");
        self.out = self.metas.len();
        for (device, leg, len) in &self.metas {
            let request = Request::read(*leg as u64, 0, Buffer::zeroed(*len));
            let leg = *device;
            steps.push(Step::Sub { leg, request });
        }
    }

    /// One answered.
    pub(super) fn answered(&mut self, config: &ArrayConfig, device: usize, answer: Completion) {
        let leg = answer.tag as usize;
        let mut metas = self.metas.iter();
        assert!(
            metas.any(|meta| (meta.0, meta.1) == (device, leg)),
            "it was asked"
        );
        assert!(self.out > 0, "each answers once");
        self.out -= 1;
        let found = match answer.result {
            Ok(()) => {
                let (keeping, described) = (&config.keeping, &config.described);
                keeping.found(leg, described, &answer.buffer)
            }
            Err(error) => LegFound::Damaged(error.to_string()),
        };
        self.found[leg] = found.of_content(config.legs[leg].content);
    }

    /// What is believed, now that all is read. Nothing is kept of that.
    pub(super) fn assembly(&mut self, config: &ArrayConfig) -> Result<Assembly> {
        assert!(!self.is_out(), "all have answered");
        if let Some(assembly) = self.known.take() {
            return Ok(*assembly);
        }
        if self.metas.is_empty() {
            return Ok(without_superblocks(config));
        }
        let found = std::mem::take(&mut self.found);
        assemble(&config.name, &config.described, &found)
    }
}

/// What is known of a leg of which nothing is read. One that is to be rebuilt nobody has used.
fn unread(leg: &super::ArrayLeg) -> LegFound {
    LegFound::Missing.of_content(leg.content)
}

impl LegFound {
    /// What is read of a metadata device at most: superblock and bitmap of the largest array.
    pub const METADATA_MAX: u64 = bitmap::START + bitmap::len_for(REGIONS_MAX);

    /// What the bytes of a metadata device of device-mapper's say, from its start on.
    pub fn of_metadata(bytes: &[u8]) -> Self {
        let Some((superblock, bits)) = bytes.split_at_checked(bitmap::START as usize) else {
            return Self::Damaged("its metadata device is too small".into());
        };
        let superblock = match Superblock::decode(superblock) {
            Ok(Some(superblock)) => Box::new(superblock),
            Ok(None) => return Self::Blank,
            Err(error) => return Self::Damaged(error.to_string()),
        };
        let bits = match Bitmap::decode(bits) {
            Ok(Some(bitmap)) => Bits::Bitmap(bitmap),
            Ok(None) => Bits::None,
            Err(error) => Bits::Damaged(error.to_string()),
        };
        Self::Holds(superblock, bits)
    }

    /// The same of a leg that is known to hold this.
    #[must_use]
    pub fn of_content(self, content: LegContent) -> Self {
        match (content, self) {
            (LegContent::Kept, found) => found,
            (LegContent::Rebuild, Self::Holds(superblock, _)) => Self::New(Some(superblock)),
            (LegContent::Rebuild, _) => Self::New(None),
        }
    }
}

/// Nothing is on record: what is there is right, and parity may be anything.
fn without_superblocks(config: &ArrayConfig) -> Assembly {
    let state = |leg: &super::ArrayLeg| match leg.content {
        LegContent::Kept => LegState::Valid { until: u64::MAX },
        LegContent::Rebuild => LegState::Valid { until: 0 },
    };
    Assembly {
        synced: 0,
        ..Assembly::of(config.legs.iter().map(state).collect())
    }
}
