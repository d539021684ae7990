//! A run in short: `postmark:files=4000:size=1000-100000:transactions=50000:memory=512M`.

use super::settings::Settings;
use crate::settings::size;
use crate::workload::InputError;

/// Bytes of memory that a file system's cache may have where nothing is said.
const MEMORY: u64 = 512 << 20;
/// The program's name, and the first word of a short form.
const NAME: &str = "postmark";

/// What a short form asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Short {
    /// The program's settings.
    pub settings: Settings,
    /// Bytes of memory for the page cache.
    pub memory: u64,
}

impl Short {
    /// Whether a load is meant for the program.
    pub fn is_meant(word: &str) -> bool {
        word == NAME || word.starts_with("postmark:")
    }

    /// Reads a short form: `postmark`, and keys behind colons or commas. `test` (1 to 3, of the
    /// first study) sets what the others change: `files`, `size` (smallest and largest bytes),
    /// `transactions`, `reads` and `creations` (of ten), `seed`, `memory`.
    pub fn parse(word: &str) -> Result<Self, InputError> {
        let wrong = |field: &str, problem: &str| InputError::new(1, field, problem);
        let mut parts = word.split([':', ',']);
        if parts.next() != Some(NAME) {
            return Err(wrong(word, "postmark[:KEY=VALUE ...] is expected"));
        }
        let mut short = Self {
            settings: Settings::default(),
            memory: MEMORY,
        };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            short.set(key, value)?;
        }
        short.settings.check()?;
        Ok(short)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), InputError> {
        let wrong = |problem: &str| InputError::new(1, key, problem);
        let number = || {
            let number = value.parse::<u32>();
            number.map_err(|_| wrong("a whole number is expected"))
        };
        let tenths = || match number()? {
            most @ 0..=10 => Ok(Some(most)),
            _ => Err(wrong("0 to 10 is expected: so many of ten")),
        };
        let settings = &mut self.settings;
        match key {
            "test" => {
                *settings = match number()? {
                    1 => Settings::pm1(),
                    2 => Settings::pm2(),
                    3 => Settings::pm3(),
                    _ => return Err(wrong("1, 2 or 3 is expected: a test of the first study")),
                }
            }
            "files" => settings.number = number()?,
            "transactions" => settings.transactions = number()?,
            "seed" => settings.seed = number()?,
            "reads" => settings.bias_read = tenths()?,
            "creations" => settings.bias_create = tenths()?,
            "size" => {
                let bounds = value.split_once('-').and_then(|(low, high)| {
                    let (low, high) = (size(low)?, size(high)?);
                    Some((u32::try_from(low).ok()?, u32::try_from(high).ok()?))
                });
                settings.size = bounds.ok_or_else(|| wrong("MIN-MAX bytes, as in 1000-100000"))?;
            }
            "memory" => {
                self.memory = size(value).ok_or_else(|| wrong("a size is expected, as in 512M"))?;
            }
            _ => {
                let known = "known are test, files, size, transactions, reads, creations, seed and \
                    memory";
                return Err(wrong(known));
            }
        }
        Ok(())
    }
}
