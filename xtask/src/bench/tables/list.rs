//! Which tables there are, in the order in which they are run.

use super::super::run::Table;
use super::{access, cat, fuse, lab, lvcreate, nbd, parity, reports, start, states};

/// All tables.
pub(in super::super) const TABLES: &[Table] = &[
    start::TABLE,
    reports::TABLE,
    cat::TABLE,
    access::TABLE,
    nbd::TABLE,
    nbd::WRITE_TABLE,
    fuse::TABLE,
    lvcreate::TABLE,
    parity::TABLE,
    states::TABLE,
    states::OVERLAY_TABLE,
    states::ARRAY_TABLE,
    lab::TABLE,
];
