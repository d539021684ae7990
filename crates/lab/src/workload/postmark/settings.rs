//! What `PostMark` can be told, with its defaults, and the file in which it is told.

use super::stream::File;
use crate::workload::InputError;

/// Files at a time; the program's table has twice as many slots, and so has ours.
const NUMBER_MAX: u32 = 4_000_000;
/// Bytes of a file: the program's buffer is twice as long, counted in a C `int`.
const SIZE_MAX: u32 = (1 << 30) - 1;
/// Weight of all locations together: the program draws one of so many entries.
const WEIGHT_MAX: u32 = 1 << 20;
/// Locations; each is a directory that somebody must make.
const LOCATIONS_MAX: usize = 1024;

/// How the program reads and writes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffering {
    /// Through the C library's streams: the kernel sees its buffers of 4,096 bytes.
    Stdio,
    /// A system call for each block.
    None,
}

/// A directory that files are made in, and how often it is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The directory, as written in the configuration.
    pub directory: String,
    /// Its share of all weights.
    pub weight: u32,
}

/// The settings of a run. `Settings::default()` is what the program starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Files made before the transactions.
    pub number: u32,
    /// Transactions: two operations each.
    pub transactions: u32,
    /// Smallest size of a new file in bytes, and the limit below which new sizes and appends stay.
    pub size: (u32, u32),
    /// Seed of the generator, 1 to 2,147,483,647; the program keeps its old one for others.
    pub seed: u32,
    /// Directories; none means the current one.
    pub locations: Vec<Location>,
    /// Directories made in each location. Names are drawn only when there are two or more.
    pub subdirectories: u32,
    /// Bytes of a read.
    pub read_block: u32,
    /// Bytes of a write.
    pub write_block: u32,
    /// Streams or system calls.
    pub buffering: Buffering,
    /// Reads among ten reads and appends; none switches both off.
    pub bias_read: Option<u32>,
    /// Creations among ten creations and deletions; none switches both off.
    pub bias_create: Option<u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            number: 500,
            transactions: 500,
            size: (500, 10_000),
            seed: 42,
            locations: Vec::new(),
            subdirectories: 0,
            read_block: 512,
            write_block: 512,
            buffering: Buffering::Stdio,
            bias_read: Some(5),
            bias_create: Some(5),
        }
    }
}

impl Settings {
    /// Test 1 of seed 000: 4,000 files of 1,000 to 100,000 bytes, 50,000 transactions.
    pub fn pm1() -> Self {
        Self::of_study(4000, (1000, 100_000))
    }

    /// Test 2: 30,000 files of 1 to 1,000 bytes, 50,000 transactions.
    pub fn pm2() -> Self {
        Self::of_study(30_000, (1, 1000))
    }

    /// Test 3: 4,000 files of 1,000 to 300,000 bytes, 50,000 transactions.
    pub fn pm3() -> Self {
        Self::of_study(4000, (1000, 300_000))
    }

    fn of_study(number: u32, size: (u32, u32)) -> Self {
        Self {
            number,
            size,
            transactions: 50_000,
            ..Self::default()
        }
    }

    /// The settings at the first `run` of a configuration file of the program (or at its end).
    ///
    /// The commands `set`, `run`, `show`, `help`, `quit` and `exit` are known; `load` and `!` reach
    /// for other files and programs, and are refused.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let mut settings = Self::default();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] | ["show" | "help", ..] => {}
                ["set", name, values @ ..] => settings.set(number, name, values)?,
                ["run" | "quit" | "exit", ..] => break,
                [other, ..] => {
                    let problem = "not a command that can be used here: set, run, show, help, quit";
                    return Err(InputError::new(number, *other, problem));
                }
            }
        }
        settings.check()?;
        Ok(settings)
    }

    /// Whether the program would accept the settings, and we can hold what they ask for.
    pub fn check(&self) -> Result<(), InputError> {
        let refuse = |field: &str, problem: String| Err(InputError::new(0, field, problem));
        if !(1..=NUMBER_MAX).contains(&self.number) {
            return refuse("number", format!("must be 1 to {NUMBER_MAX}"));
        }
        if !(10..=i32::MAX as u32).contains(&self.transactions) {
            let why = "must be 10 or more: with fewer the program divides by zero and dies";
            return refuse("transactions", why.to_owned());
        }
        if !(1..=SIZE_MAX).contains(&self.size.0) || !(1..=SIZE_MAX).contains(&self.size.1) {
            return refuse("size", format!("both must be 1 to {SIZE_MAX} bytes"));
        }
        if !(1..=i32::MAX as u32).contains(&self.seed) {
            return refuse("seed", format!("must be 1 to {}", i32::MAX));
        }
        if self.read_block == 0 || self.write_block == 0 {
            return refuse("block", "must be 1 byte or more".to_owned());
        }
        let weights = self.locations.iter().map(|place| u64::from(place.weight));
        let weight: u64 = weights.clone().sum();
        let weightless = weights.into_iter().any(|weight| weight == 0);
        if weightless || weight > u64::from(WEIGHT_MAX) || self.locations.len() > LOCATIONS_MAX {
            let limits = format!("{LOCATIONS_MAX} directories, weights 1 to {WEIGHT_MAX} in all");
            return refuse("location", limits);
        }
        Ok(())
    }

    /// The path that the program gives to `file`.
    pub fn path(&self, file: &File) -> String {
        let location = self.locations.get(file.location as usize);
        let location = location.map_or_else(String::new, |place| format!("{}/", place.directory));
        let directory = file.subdirectory;
        let directory = directory.map_or_else(String::new, |number| format!("s{number}/"));
        format!("{location}{directory}{}", file.number)
    }

    fn set(&mut self, line: usize, name: &str, values: &[&str]) -> Result<(), InputError> {
        let at = |index: usize| -> Result<u32, InputError> {
            let text = values.get(index).copied().unwrap_or_default();
            let problem = || format!("'{text}' is no whole number from 0 to {}", u32::MAX);
            text.parse()
                .map_err(|_| InputError::new(line, name, problem()))
        };
        match name {
            "number" => self.number = at(0)?,
            "transactions" => self.transactions = at(0)?,
            "seed" => self.seed = at(0)?,
            "subdirectories" => self.subdirectories = at(0)?,
            "read" => self.read_block = at(0)?,
            "write" => self.write_block = at(0)?,
            "size" => self.size = (at(0)?, at(1)?),
            "location" => self.set_location(line, values)?,
            "report" => {}
            "buffering" => {
                self.buffering = match values {
                    ["true"] => Buffering::Stdio,
                    ["false"] => Buffering::None,
                    _ => return Err(InputError::new(line, name, "true or false")),
                }
            }
            "bias" => {
                let bias = match values.get(1) {
                    Some(&"-1") => None,
                    _ => Some(at(1)?),
                };
                if bias.is_some_and(|bias| bias > 10) {
                    return Err(InputError::new(line, name, "-1 (off) or 0 to 10"));
                }
                match values.first() {
                    Some(&"read") => self.bias_read = bias,
                    Some(&"create") => self.bias_create = bias,
                    _ => return Err(InputError::new(line, name, "read or create")),
                }
            }
            _ => {
                return Err(InputError::new(
                    line,
                    name,
                    "not a setting of PostMark 1.53",
                ));
            }
        }
        Ok(())
    }

    /// `+` adds a directory, `-` takes one away, nothing before it leaves it alone in the list.
    fn set_location(&mut self, line: usize, values: &[&str]) -> Result<(), InputError> {
        let wrong = |problem: &str| InputError::new(line, "location", problem);
        let Some(first) = values.first() else {
            self.locations.clear();
            return Ok(());
        };
        if let Some(directory) = first.strip_prefix('-') {
            self.locations.retain(|place| place.directory != directory);
            return Ok(());
        }
        let weight = match values.get(1) {
            None => 1,
            Some(text) => text
                .parse()
                .map_err(|_| wrong("the weight is no whole number"))?,
        };
        let directory = first.strip_prefix('+');
        if directory.is_none() {
            self.locations.clear();
        }
        if self.locations.len() == LOCATIONS_MAX {
            return Err(wrong("too many directories"));
        }
        self.locations.push(Location {
            directory: directory.unwrap_or(first).to_owned(),
            weight,
        });
        Ok(())
    }
}
