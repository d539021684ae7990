//! Tests: sizes as stock prints them.

use super::display_size;
use crate::Sectors;

#[test]
fn sizes_are_shown_as_stock_does() {
    // Proves: unit, decimals and the mark of rounding up, on values that stock printed.
    let cases = [
        (0, "0   "),
        (1, "512 B"),
        (6, "3.00 KiB"),
        (128, "64.00 KiB"),
        (16384, "8.00 MiB"),
        (520192, "254.00 MiB"),
        (10477568, "<5.00 GiB"),
        (2585, "1.26 MiB"),
        (2304, "1.12 MiB"),
        (2816, "<1.38 MiB"),
    ];
    for (sectors, shown) in cases {
        assert_eq!(display_size(Sectors(sectors)), shown);
    }
}
