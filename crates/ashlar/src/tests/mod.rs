//! What the tests of this crate share.

pub(crate) mod fixture;
pub(crate) mod ranges;
