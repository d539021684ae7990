//! The sizes in comments against those that stock wrote.

use super::describe_size;
use crate::Sectors;

#[test]
fn sizes_as_stock_writes_them() {
    // Proves: the comments that stock's backup files have.
    for (sectors, expected) in [
        (0, "0 Kilobytes"),
        (1, "0.5 Kilobytes"),
        (2048, "1024 Kilobytes"),
        (2049, "1.00049 Megabytes"),
        (196608, "96 Megabytes"),
        (1 << 21, "1024 Megabytes"),
        ((1 << 21) + 2048, "1.00098 Gigabytes"),
        (3 << 31, "3 Terabytes"),
        (u64::MAX, "8192 Exabytes"),
    ] {
        assert_eq!(describe_size(Sectors(sectors)), expected, "{sectors}");
    }
}
