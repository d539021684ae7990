//! Sizes as text, in the units that `--units` names.
//!
//! ```text
//!   r  <1.50g   human-readable, `<` where the printed number is larger than the size
//!   h   1.50g   human-readable
//!   k  1572864.00k  …  every size in one unit;  capitals count in powers of 1000
//!   3m  512.00U     a unit of one's own
//! ```
//!
//! Bytes and sectors have no fraction, everything else has two digits of it. Zero is short (`0 `
//! where the unit would differ from size to size). The same rules give the long form of the
//! display commands (`1.50 GiB`).

use std::fmt;

/// Short letters, or the long names of the display commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `1.50g`
    Short,
    /// `1.50 GiB`
    Long,
}

/// A `--units` argument that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitsError;

impl fmt::Display for UnitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invalid units specification")
    }
}

impl std::error::Error for UnitsError {}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    /// The largest unit of the base that the size fills; `marked` puts `<` before what was
    /// rounded up.
    Human { base: Base, marked: bool },
    /// One unit for all sizes.
    Fixed { letter: char, bytes: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Binary,
    Decimal,
}

impl Base {
    fn step(self) -> u64 {
        match self {
            Self::Binary => 1024,
            Self::Decimal => 1000,
        }
    }
}

/// How sizes are printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Units {
    scale: Scale,
    suffix: bool,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            scale: Scale::Human {
                base: Base::Binary,
                marked: true,
            },
            suffix: true,
        }
    }
}

const LETTERS: [char; 6] = ['k', 'm', 'g', 't', 'p', 'e'];

impl Units {
    /// Reads the argument of `--units`.
    pub(crate) fn parse(text: &str) -> Result<Self, UnitsError> {
        let letter = text.chars().last().ok_or(UnitsError)?;
        let number = &text[..text.len() - letter.len_utf8()];
        let upper = letter.is_ascii_uppercase();
        let lower = letter.to_ascii_lowercase();
        let base = if upper { Base::Decimal } else { Base::Binary };
        if let ('h' | 'r', true) = (lower, number.is_empty()) {
            let scale = Scale::Human {
                base,
                marked: lower == 'r',
            };
            return Ok(Self {
                scale,
                suffix: true,
            });
        }
        let unit = match lower {
            'b' => 1,
            's' => 512,
            _ => {
                let power = LETTERS
                    .iter()
                    .position(|known| *known == lower)
                    .ok_or(UnitsError)?;
                base.step().pow(power as u32 + 1)
            }
        };
        let own: f64 = if number.is_empty() {
            1.0
        } else {
            number.parse().map_err(|_| UnitsError)?
        };
        if !own_unit_is_valid(number) || own <= 0.0 {
            return Err(UnitsError);
        }
        let shown = match lower {
            // Between one and two units, stock shows the letter of the unit.
            _ if own.trunc().total_cmp(&1.0).is_ne() => 'U',
            'b' | 's' => lower.to_ascii_uppercase(),
            _ => letter,
        };
        let scale = Scale::Fixed {
            letter: shown,
            bytes: unit as f64 * own,
        };
        Ok(Self {
            scale,
            suffix: true,
        })
    }

    /// The same units without the letter behind sizes. Where each size has the unit that it fills,
    /// the letter stays.
    pub(crate) fn without_suffix(self) -> Self {
        Self {
            suffix: false,
            ..self
        }
    }

    /// The size of `bytes` bytes as text.
    pub(crate) fn show(&self, bytes: u64, form: Form) -> String {
        let scaled = match self.scale {
            Scale::Human { base, marked } => human(bytes, base, marked),
            Scale::Fixed {
                letter,
                bytes: unit,
            } => fixed(bytes, letter, unit),
        };
        // Without its letter a size whose unit differs from line to line would say nothing.
        let needs_it = matches!(
            (self.scale, &scaled.unit),
            (Scale::Human { .. }, Unit::Letter(_))
        );
        if self.suffix || needs_it {
            scaled.number + &scaled.unit.name(form)
        } else {
            scaled.number
        }
    }
}

fn own_unit_is_valid(number: &str) -> bool {
    number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

struct Scaled {
    number: String,
    unit: Unit,
}

enum Unit {
    /// Zero: no unit, but room for its letter.
    Zero,
    Letter(char),
}

impl Unit {
    fn name(&self, form: Form) -> String {
        match (self, form) {
            (Self::Zero, Form::Short) => " ".into(),
            (Self::Zero, Form::Long) => "   ".into(),
            (Self::Letter(letter), Form::Short) => (*letter).into(),
            (Self::Letter(letter), Form::Long) => match letter {
                'b' | 'B' => " B ".into(),
                's' | 'S' => " Se".into(),
                'U' => " Un".into(),
                'K' => " kB".into(),
                letter if letter.is_ascii_uppercase() => format!(" {letter}B"),
                letter => format!(" {}iB", letter.to_ascii_uppercase()),
            },
        }
    }
}

fn fixed(bytes: u64, letter: char, unit: f64) -> Scaled {
    let number = if bytes == 0 {
        "0".to_owned()
    } else if matches!(letter, 'B' | 'S') {
        (bytes / unit as u64).to_string()
    } else {
        format!("{:.2}", bytes as f64 / unit)
    };
    Scaled {
        number,
        unit: Unit::Letter(letter),
    }
}

fn human(bytes: u64, base: Base, marked: bool) -> Scaled {
    if bytes == 0 {
        return Scaled {
            number: "0".into(),
            unit: Unit::Zero,
        };
    }
    let mut power = 0;
    let mut unit = base.step();
    while power + 1 < LETTERS.len() && bytes / unit >= base.step() {
        unit *= base.step();
        power += 1;
    }
    if bytes < base.step() {
        let letter = if base == Base::Binary { 'b' } else { 'B' };
        return Scaled {
            number: bytes.to_string(),
            unit: Unit::Letter(letter),
        };
    }
    let mut number = format!("{:.2}", bytes as f64 / unit as f64);
    let hundredths: u128 = number.replace('.', "").parse().unwrap_or(0);
    if marked && hundredths * u128::from(unit) > u128::from(bytes) * 100 {
        number.insert(0, '<');
    }
    let letter = match base {
        Base::Binary => LETTERS[power],
        Base::Decimal => LETTERS[power].to_ascii_uppercase(),
    };
    Scaled {
        number,
        unit: Unit::Letter(letter),
    }
}

#[cfg(test)]
mod tests;
