//! RAID levels and layouts, under the names that texts use.
//!
//! The level says how many images there are to lose and how long each one is. Two names may mean
//! the same bytes (`raid5` and `raid5_ls`); both are kept, since the text is written back as it
//! was.

use crate::Extents;

macro_rules! levels {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A RAID level with its layout.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum RaidLevel {
            $($(#[$doc])* $variant,)*
        }

        impl RaidLevel {
            /// All of them.
            pub const ALL: &'static [RaidLevel] = &[$(Self::$variant),*];

            /// The name in the text.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

levels! {
    /// Striping without redundancy.
    Raid0 = "raid0",
    /// The same, with metadata.
    Raid0Meta = "raid0_meta",
    /// Copies.
    Raid1 = "raid1",
    /// Parity on the first image.
    Raid4 = "raid4",
    /// Rotating parity, left symmetric.
    Raid5 = "raid5",
    /// Parity on the last image.
    Raid5N = "raid5_n",
    /// Rotating parity, left asymmetric.
    Raid5La = "raid5_la",
    /// Rotating parity, left symmetric, by its full name.
    Raid5Ls = "raid5_ls",
    /// Rotating parity, right asymmetric.
    Raid5Ra = "raid5_ra",
    /// Rotating parity, right symmetric.
    Raid5Rs = "raid5_rs",
    /// Two rotating parities, zero restart.
    Raid6 = "raid6",
    /// Two parities on the last images.
    Raid6N6 = "raid6_n_6",
    /// `raid5_la` with a second parity on the last image.
    Raid6La6 = "raid6_la_6",
    /// `raid5_ls` with a second parity on the last image.
    Raid6Ls6 = "raid6_ls_6",
    /// `raid5_ra` with a second parity on the last image.
    Raid6Ra6 = "raid6_ra_6",
    /// `raid5_rs` with a second parity on the last image.
    Raid6Rs6 = "raid6_rs_6",
    /// Two rotating parities, N continue.
    Raid6Nc = "raid6_nc",
    /// Two rotating parities, N restart.
    Raid6Nr = "raid6_nr",
    /// Two rotating parities, zero restart, by its full name.
    Raid6Zr = "raid6_zr",
    /// Striped copies, near layout.
    Raid10 = "raid10",
    /// Striped copies, near layout, by its full name.
    Raid10Near = "raid10_near",
}

/// The levels without their layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RaidFamily {
    /// Striping without redundancy.
    Raid0,
    /// Copies.
    Raid1,
    /// Parity on one image.
    Raid4,
    /// Rotating parity.
    Raid5,
    /// Two parities.
    Raid6,
    /// Striped copies.
    Raid10,
}

impl RaidLevel {
    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|level| level.name() == name).copied()
    }

    /// The level without its layout.
    pub fn family(self) -> RaidFamily {
        match self {
            Self::Raid0 | Self::Raid0Meta => RaidFamily::Raid0,
            Self::Raid1 => RaidFamily::Raid1,
            Self::Raid4 => RaidFamily::Raid4,
            Self::Raid10 | Self::Raid10Near => RaidFamily::Raid10,
            level if level.name().starts_with("raid5") => RaidFamily::Raid5,
            _ => RaidFamily::Raid6,
        }
    }

    /// Images whose worth of space holds parity.
    pub fn parity_count(self) -> usize {
        match self.family() {
            RaidFamily::Raid0 | RaidFamily::Raid1 | RaidFamily::Raid10 => 0,
            RaidFamily::Raid4 | RaidFamily::Raid5 => 1,
            RaidFamily::Raid6 => 2,
        }
    }

    /// How many of `images` images are worth of data, at least one.
    pub fn data_images(self, images: usize, copies: u32) -> usize {
        let data = match self.family() {
            RaidFamily::Raid1 => 1,
            RaidFamily::Raid10 => images / (copies as usize).max(1),
            _ => images.saturating_sub(self.parity_count()),
        };
        data.max(1)
    }

    /// The extents of each of `images` images, for `length` extents of data in `copies` copies.
    ///
    /// `None` where that does not come out even, or there are not enough images.
    pub fn image_length(self, length: Extents, images: usize, copies: u32) -> Option<Extents> {
        let (times, parts) = match self.family() {
            RaidFamily::Raid1 => (1, 1),
            RaidFamily::Raid10 => (u64::from(copies), images as u64),
            _ => (1, images.checked_sub(self.parity_count())? as u64),
        };
        let total = length.0.checked_mul(times)?;
        (parts > 0 && total.is_multiple_of(parts)).then(|| Extents(total / parts))
    }
}
