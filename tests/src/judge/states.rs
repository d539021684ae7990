//! The states from which lines start: `states.txt`, read.

const STATES: &str = include_str!("states.txt");

/// How a state is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recipe {
    pub(super) name: &'static str,
    pub(super) steps: Vec<Step>,
}

/// One step; disks are numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A program and its arguments, or a command of stock; `@N` stands for a disk.
    Run {
        is_stock: bool,
        words: Vec<&'static str>,
    },
    Hide(usize),
    Copy {
        from: usize,
        to: usize,
    },
    Put {
        disk: usize,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// The group of every kind on so many disks, with a change of its text.
    Group {
        disks: usize,
        from: String,
        to: String,
    },
    /// A change of the texts on a disk, or on all.
    Edit {
        disk: Option<usize>,
        from: String,
        to: String,
    },
    Spoil(usize),
}

/// All states.
pub(super) fn all() -> Vec<Recipe> {
    let mut all: Vec<Recipe> = Vec::new();
    let lines = STATES.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("= ") {
            all.push(Recipe {
                name,
                steps: Vec::new(),
            });
        } else {
            let state = all.last_mut().expect("a name comes first");
            state
                .steps
                .push(step(line).unwrap_or_else(|| panic!("{line}: no step")));
        }
    }
    all
}

fn step(line: &'static str) -> Option<Step> {
    let Some(line) = line.strip_prefix('!') else {
        let program = line.strip_prefix("$ ");
        return Some(Step::Run {
            is_stock: program.is_none(),
            words: program.unwrap_or(line).split(' ').collect(),
        });
    };
    let mut words = line.splitn(3, ' ');
    let (name, disk, rest) = (
        words.next()?,
        words.next()?,
        words.next().unwrap_or_default(),
    );
    let number = disk.parse().ok();
    let change = || {
        let (from, to) = rest.split_once(" => ")?;
        Some((from.replace("\\n", "\n"), to.replace("\\n", "\n")))
    };
    Some(match name {
        "hide" => Step::Hide(number?),
        "spoil" => Step::Spoil(number?),
        "copy" => Step::Copy {
            from: number?,
            to: rest.parse().ok()?,
        },
        "hex" | "zero" => {
            let (offset, what) = rest.split_once(' ')?;
            let bytes = match name {
                "zero" => vec![0; what.parse().ok()?],
                _ => hex(what)?,
            };
            Step::Put {
                disk: number?,
                offset: offset.parse().ok()?,
                bytes,
            }
        }
        "group" => {
            let (from, to) = change().unwrap_or_default();
            Step::Group {
                disks: number?,
                from,
                to,
            }
        }
        "edit" => {
            let (from, to) = change()?;
            Step::Edit {
                disk: number,
                from,
                to,
            }
        }
        _ => return None,
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests;
