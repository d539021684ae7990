//! The description of a volume: a tree of pieces over devices and other layouts.
//!
//! A [`Layout`] is immutable and checked when it is made: lengths are not zero and do not overflow,
//! slices lie inside what they are cut from, stripes divide evenly. What it takes from devices is
//! checked when it is compiled, because devices may be opened later or replaced.

use std::fmt;
use std::sync::Arc;

use block::Device;

use crate::{Error, Kind, Result};

/// How deep layouts may be nested. Real stacks have two or three levels; the limit bounds the
/// recursion of everything that walks the tree.
pub const DEPTH_MAX: u32 = 32;

/// How many stripes one piece may have. LVM2 stops at 128 for what it makes.
pub const STRIPES_MAX: usize = 1024;

/// A named run of bytes, made of pieces one after the other.
#[derive(Debug)]
pub struct Layout {
    name: String,
    size: u64,
    depth: u32,
    pieces: Vec<Piece>,
}

/// `len` bytes of one kind.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Length in bytes, not 0.
    pub len: u64,
    /// Where the bytes are.
    pub kind: PieceKind,
}

/// Where the bytes of a piece are.
#[derive(Debug, Clone)]
pub enum PieceKind {
    /// One after the other in one area.
    Linear(Area),
    /// In turns of `chunk` bytes over the areas; each holds an equal share.
    Striped {
        /// Bytes per turn; any number but 0.
        chunk: u64,
        /// The legs, in order.
        areas: Vec<Area>,
    },
    /// Reads as zeros, swallows writes.
    Zero,
    /// Fails every request with this reason.
    Error(Arc<str>),
}

/// Where a run of bytes comes from.
#[derive(Clone)]
pub enum Area {
    /// From byte `start` of a device.
    Device {
        /// The device.
        device: Arc<dyn Device>,
        /// First byte.
        start: u64,
    },
    /// From byte `start` of another layout.
    Layout {
        /// The layout.
        layout: Arc<Layout>,
        /// First byte.
        start: u64,
    },
    /// From a device that is not there; the text names it.
    Missing(Arc<str>),
}

impl Layout {
    /// A layout of `pieces`, in order.
    pub fn new(name: impl Into<String>, pieces: Vec<Piece>) -> Result<Arc<Self>> {
        let name = name.into();
        let mut size = 0_u64;
        let mut depth = 0;
        for piece in &pieces {
            let problem = |what: &str| {
                let what = format!("layout {name}: the piece at byte {size} {what}");
                Error::new(Kind::InvalidLayout, what)
            };
            piece.check().map_err(|what| problem(&what))?;
            depth = depth.max(piece.areas().iter().map(Area::depth).max().unwrap_or(0));
            size = size
                .checked_add(piece.len)
                .ok_or_else(|| problem("ends past 2^64"))?;
        }
        if depth >= DEPTH_MAX {
            let what = format!("layout {name}: nested more than {DEPTH_MAX} deep");
            return Err(Error::new(Kind::TooComplex, what));
        }
        Ok(Arc::new(Self {
            name,
            size,
            depth: depth + 1,
            pieces,
        }))
    }

    /// What people know it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

impl Piece {
    /// `len` bytes of `device` from byte `start`.
    pub fn linear(len: u64, device: Arc<dyn Device>, start: u64) -> Self {
        Self::of(len, Area::Device { device, start })
    }

    /// `len` bytes of one area.
    pub fn of(len: u64, area: Area) -> Self {
        let kind = PieceKind::Linear(area);
        Self { len, kind }
    }

    /// `len` bytes striped over `areas` in turns of `chunk` bytes.
    pub fn striped(len: u64, chunk: u64, areas: Vec<Area>) -> Self {
        let kind = PieceKind::Striped { chunk, areas };
        Self { len, kind }
    }

    /// `len` bytes in turns of `chunk` bytes over `areas`; where there is one, all of them in it.
    pub fn in_turns(len: u64, chunk: u64, areas: Vec<Area>) -> Self {
        match <[Area; 1]>::try_from(areas) {
            Ok([area]) => Self::of(len, area),
            Err(areas) => Self::striped(len, chunk, areas),
        }
    }

    /// `len` bytes that read as zeros.
    pub fn zero(len: u64) -> Self {
        let kind = PieceKind::Zero;
        Self { len, kind }
    }

    /// `len` bytes that cannot be used, for the reason `why`.
    pub fn error(len: u64, why: impl Into<Arc<str>>) -> Self {
        let kind = PieceKind::Error(why.into());
        Self { len, kind }
    }

    /// The areas it is made of.
    pub fn areas(&self) -> &[Area] {
        match &self.kind {
            PieceKind::Linear(area) => std::slice::from_ref(area),
            PieceKind::Striped { areas, .. } => areas,
            PieceKind::Zero | PieceKind::Error(_) => &[],
        }
    }

    /// Bytes that each area gives.
    fn share(&self) -> u64 {
        self.len / (self.areas().len() as u64).max(1)
    }

    fn check(&self) -> std::result::Result<(), String> {
        if self.len == 0 {
            return Err("is empty".to_owned());
        }
        if let PieceKind::Striped { chunk, areas } = &self.kind {
            let count = areas.len();
            if count == 0 || count > STRIPES_MAX {
                return Err(format!(
                    "has {count} stripes; 1 to {STRIPES_MAX} are served"
                ));
            }
            let width = chunk.checked_mul(count as u64).unwrap_or(0);
            if width == 0 || !self.len.is_multiple_of(width) {
                return Err(format!(
                    "has {} bytes, which is no whole number of {count} chunks of {chunk} bytes",
                    self.len
                ));
            }
        }
        let share = self.share();
        self.areas().iter().try_for_each(|area| area.check(share))
    }
}

impl Area {
    /// From byte `start` of a device.
    pub fn device(device: Arc<dyn Device>, start: u64) -> Self {
        Self::Device { device, start }
    }

    /// From byte `start` of another layout.
    pub fn layout(layout: Arc<Layout>, start: u64) -> Self {
        Self::Layout { layout, start }
    }

    /// From a device that is not there.
    pub fn missing(what: impl Into<Arc<str>>) -> Self {
        Self::Missing(what.into())
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Layout { layout, .. } => layout.depth,
            Self::Device { .. } | Self::Missing(_) => 0,
        }
    }

    fn check(&self, len: u64) -> std::result::Result<(), String> {
        match self {
            Self::Device { start, .. } if start.checked_add(len).is_none() => {
                Err("uses a device past byte 2^64".to_owned())
            }
            Self::Layout { layout, start }
                if start.checked_add(len).is_none_or(|end| end > layout.size) =>
            {
                let (name, size) = (&layout.name, layout.size);
                Err(format!(
                    "uses {len} bytes from byte {start} of {name}, which has only {size}"
                ))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { device, start } => write!(f, "{}+{start}", device.info().name),
            Self::Layout { layout, start } => write!(f, "layout {}+{start}", layout.name),
            Self::Missing(what) => write!(f, "missing {what}"),
        }
    }
}
