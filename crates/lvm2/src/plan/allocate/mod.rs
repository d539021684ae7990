//! Choosing extents: which free ones become part of a volume.
//!
//! ```text
//!     request        legs × stripes areas, each of the same length, and a policy
//!     free space     what is left on the physical volumes that may be used, in order
//!     result         runs: a length and, for each area, where it begins
//!
//!     leg 0, stripe 0   |pv0 12-19      |pv3 0-3 |
//!     leg 0, stripe 1   |pv1 40-47      |pv4 0-3 |
//!                        a run           another
//! ```
//!
//! The policies are tried from the strictest to the one that was asked for, as in stock: behind
//! the last extent, on the same physical volumes, on those with a tag in common, anywhere with
//! the parts on distinct physical volumes, and anywhere at all. On each physical volume the
//! smallest run that is large enough is taken, else the largest.
//!
//! Promises: the same request on the same space gives the same runs. The stripes of a run lie on
//! distinct physical volumes, and legs never share one, unless the policy is `anywhere`. With one
//! leg and `normal` or `anywhere`, what can be allocated at all is allocated. With more legs of
//! several runs each it is not tried in all ways: dividing physical volumes among legs is bin
//! packing.

mod candidates;
mod request;
mod search;

pub use request::{Allocated, Leg, Request, Shortage};
pub use search::{allocate, allocate_log};

#[cfg(test)]
mod tests;
