//! What people write behind `-L` and `-l`: `1.5g`, `+8192s`, `-3`, `50%FREE`.

use alloc::format;
use alloc::string::String;

use super::{Amount, Base, Sign, SizeArgument};
use crate::plan::draft::wrong;
use crate::{Bytes, Extents, Result, SECTOR_SIZE};

/// Digits behind the point that are looked at.
const DECIMALS_MAX: usize = 18;

impl SizeArgument {
    /// What `-L` means: a number with a unit, MiB where there is none.
    pub fn from_size(text: &str) -> Result<Self> {
        let (sign, rest) = sign(text);
        Ok(Self {
            sign,
            amount: Amount::Size(
                parse_size(rest, 'm').map_err(|error| error.within(quoted(text)))?,
            ),
        })
    }

    /// What `-l` means: a number of extents, or a percentage of something.
    pub fn from_extents(text: &str) -> Result<Self> {
        let (sign, rest) = sign(text);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = rest.split_at(digits);
        let number: u32 = number
            .parse()
            .map_err(|_| wrong(format!("{} is not a number of extents", quoted(text))))?;
        let amount = if suffix.is_empty() {
            Amount::Extents(Extents(u64::from(number)))
        } else {
            Amount::Percent(number, base(suffix, text)?)
        };
        Ok(Self { sign, amount })
    }
}

/// A size with its unit, or `unit` where it has none; rounded up to whole sectors.
pub fn parse_size(text: &str, unit: char) -> Result<Bytes> {
    let bad = || wrong(format!("{} is not a size", quoted(text)));
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(bad());
    }
    let factor = factor(suffix, unit).ok_or_else(bad)?;
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| bad())?
    };
    let fraction = &fraction[..fraction.len().min(DECIMALS_MAX)];
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| bad())?
    };
    let bytes = u128::from(whole) * u128::from(factor) + (fraction * u128::from(factor)) / scale;
    let sector = u128::from(SECTOR_SIZE);
    u64::try_from(bytes.div_ceil(sector) * sector)
        .map(Bytes)
        .map_err(|_| wrong(format!("{} is too large", quoted(text))))
}

fn sign(text: &str) -> (Sign, &str) {
    match text.as_bytes().first() {
        Some(b'+') => (Sign::Plus, &text[1..]),
        Some(b'-') => (Sign::Minus, &text[1..]),
        _ => (Sign::Absolute, text),
    }
}

/// The bytes of a unit; letters of either case mean the same, with `ib` or `b` behind or not.
fn factor(suffix: &str, unit: char) -> Option<u64> {
    let suffix = suffix.to_ascii_lowercase();
    let mut letters = suffix.chars();
    let letter = letters.next().unwrap_or(unit.to_ascii_lowercase());
    if !matches!(letters.as_str(), "" | "b" | "ib") {
        return None;
    }
    let power = match letter {
        'b' => 0,
        's' => return Some(SECTOR_SIZE),
        'k' => 10,
        'm' => 20,
        'g' => 30,
        't' => 40,
        'p' => 50,
        'e' => 60,
        _ => return None,
    };
    Some(1 << power)
}

/// Abbreviations are as good as the words, as in stock.
fn base(suffix: &str, text: &str) -> Result<Base> {
    let word = suffix.strip_prefix('%').unwrap_or("").to_ascii_uppercase();
    let names = [
        ("VG", Base::Vg),
        ("FREE", Base::Free),
        ("PVS", Base::Pvs),
        ("LV", Base::Lv),
        ("ORIGIN", Base::Origin),
    ];
    let found = names
        .iter()
        .find(|(name, _)| !word.is_empty() && name.starts_with(&word));
    found.map(|(_, base)| *base).ok_or_else(|| {
        wrong(format!(
            "{}: a percentage is of VG, FREE, PVS, LV or ORIGIN",
            quoted(text)
        ))
    })
}

fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(48).collect();
    format!("{shown:?}")
}
