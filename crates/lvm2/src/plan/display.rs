//! Sizes for people, in the way in which stock's messages give them: `8.00 MiB`, `<5.00 GiB`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::Sectors;

const UNITS: [(&str, u64); 6] = [
    ("EiB", 1 << 60),
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// A size with two decimals in the largest unit that it fills; `<` says that it was rounded up.
pub fn display_size(size: Sectors) -> String {
    let Some(bytes) = size.to_bytes().map(|bytes| u128::from(bytes.0)) else {
        return format!("{} sectors", size.0);
    };
    if bytes == 0 {
        return "0   ".to_owned();
    }
    for (name, unit) in UNITS {
        let unit = u128::from(unit);
        if bytes >= unit {
            // To the nearest hundredth, in whole numbers; from the middle to the even one.
            let (whole, rest) = (bytes * 100 / unit, bytes * 100 % unit * 2);
            let is_up = rest > unit || rest == unit && whole % 2 == 1;
            let hundredths = whole + u128::from(is_up);
            let is_more = hundredths * unit > bytes * 100;
            let sign = if is_more { "<" } else { "" };
            return format!("{sign}{}.{:02} {name}", hundredths / 100, hundredths % 100);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests;
