//! The bytes that LVM2 keeps outside its texts: label, physical volume header, metadata areas.
//!
//! ```text
//!     sector 0 … 3   one of them holds label and physical volume header        label, pv_header
//!     4096           a metadata area: header sector, then a ring of texts    area, ring, history
//!     pe_start       the extents
//!     near the end   perhaps a second metadata area
//! ```
//!
//! All of it is pure: slices in, values out, and back. Whoever reads asks first where to read
//! (`Label::metadata_areas`, `Ring::spans`), reads, and hands the bytes in. `docs/format.md` is the
//! normative description.
//!
//! Promises: no bytes make a decoder panic, or use more than a small multiple of the memory and
//! time that the bytes themselves need. What a decoder accepts, its encoder writes back.

mod area;
mod bytes;
mod crc;
mod history;
mod label;
mod pv_header;
mod ring;

pub use area::{AREA_HEADER_SIZE, AreaHeader, AreaUse, RawLocation};
pub use crc::{Checksum, checksum};
pub use history::{Standing, Version, versions};
pub use label::{LABEL_SCAN_SIZE, Label, LabelProblem, LabelScan, SECTOR_DEFAULT};
pub use pv_header::{Extension, PvHeader, PvUse, Span};
pub use ring::{Ring, RingSpan, RingWrite};
