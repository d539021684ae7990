//! What was received: kept beside the target, and asked before a stream is taken.
//!
//! ```text
//!   nothing known ──▶ receiving A, at byte n ──▶ holds A ──▶ receiving B since A, … ──▶ holds B
//!                          └─ interrupted: goes on, or begins again ─┘
//! ```
//!
//! A target that receives B since A is A, except where B differs from it; so it takes the same
//! stream from its beginning as well. So does one that received the volume itself since A take any
//! later moment since A: what differed from A then differs from it still, as a store only grows.
//!
//! It is text, one word and its value a line. Whoever changes the target otherwise makes the note
//! wrong; so it has a fingerprint of what the target held when all was there (see [`Held`]).

use std::fmt::Write as _;

use lvm2::Uuid;
use sha2::{Digest, Sha256};

use super::chain::Chain;
use super::header::{Header, is_name};
use super::token::Token;
use crate::activate::Permanence;
use crate::{Error, Kind, Result};

/// The longest text that is read as a note, in bytes.
pub const TEXT_MAX: u64 = 4096;
/// How it begins.
const TITLE: &str = "# ashlar receive: what the target holds. Without it no later stream follows.";

/// What a fingerprint looks at: the beginning, where file systems keep what every mount changes,
const FIRST: u64 = 1 << 20;
/// and so many pieces of such a size spread over the rest.
const PIECES: u64 = 64;
const PIECE: u64 = 4096;

/// How much of the stream the target has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// All of it, and its fingerprint then.
    All(Chain),
    /// What comes before the byte, and the chain up to there.
    UpTo(u64, Chain),
}

/// What a target received last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The volume that is the target; `None`: a file.
    pub target: Option<Uuid>,
    /// The stream. Where its part begins says nothing here.
    pub header: Header,
    /// How much of it is there.
    pub held: Held,
}

/// What a stream may do to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Replace all of it.
    Anew,
    /// Change what the target holds, or goes on with.
    Onto,
}

impl Note {
    /// Whether a stream may be taken where `note` says what there is; the error says why not.
    pub fn permit(note: Option<&Self>, header: &Header) -> Result<Verdict> {
        let refused = |what: String| Err(Error::new(Kind::Refused, what));
        if let Some(from) = header.from {
            let Some(note) = note.filter(|note| note.header.is_same_stream(header)) else {
                return refused(format!(
                    "this is the rest of a stream of {}, and the target has no beginning of it",
                    header.name
                ));
            };
            return match note.held {
                Held::UpTo(position, chain) if (position, chain) == from => Ok(Verdict::Onto),
                Held::UpTo(position, _) => refused(format!(
                    "the stream goes on at byte {}, and the target stands at byte {position}",
                    from.0
                )),
                Held::All(_) => refused(format!("the target holds all of {} already", header.name)),
            };
        }
        let Some(base) = header.base else {
            return Ok(Verdict::Anew);
        };
        let Some(note) = note else {
            return refused(format!(
                "the stream has only what of {} differs from an older moment, and nothing says \
                 that the target holds that: begin with a whole one (ashlar send without --since)",
                header.name
            ));
        };
        let had = &note.header;
        let is_again = had.moment == header.moment || had.moment == had.volume;
        let fits = match note.held {
            Held::All(_) if had.moment == base => true,
            _ => had.base == Some(base) && is_again,
        };
        if fits {
            return Ok(Verdict::Onto);
        }
        let how = match note.held {
            Held::All(_) => "holds",
            Held::UpTo(..) => "has a part of",
        };
        refused(format!(
            "the target {how} {} ({}), and the stream has only what of {} differs from another \
             moment ({base})",
            had.name, had.moment, header.name
        ))
    }

    /// Where to go on; `None`: all is there, or the moment cannot be found again.
    pub fn token(&self) -> Option<Token> {
        match self.held {
            Held::UpTo(position, chain) if self.header.permanence == Permanence::Lasting => {
                Some(Token::new(&self.header, (position, chain)))
            }
            _ => None,
        }
    }

    /// As it is kept.
    pub fn to_text(&self) -> String {
        let header = &self.header;
        let mut text = format!("{TITLE}\n");
        let mut line = |word: &str, value: &dyn std::fmt::Display| {
            writeln!(text, "{word} {value}").expect("memory takes it");
        };
        match &self.target {
            Some(uuid) => line("target", uuid),
            None => line("target", &"file"),
        }
        line("name", &header.name);
        line("volume", &header.volume);
        line("moment", &header.moment);
        match &header.base {
            Some(base) => line("base", base),
            None => line("base", &"none"),
        }
        let is_lasting = header.permanence == Permanence::Lasting;
        line(
            "permanence",
            if is_lasting { &"lasting" } else { &"passing" },
        );
        line("size", &header.size);
        match &self.held {
            Held::All(fingerprint) => line("holds", fingerprint),
            Held::UpTo(position, chain) => line("stands", &format!("{position} {chain}")),
        }
        text
    }

    /// Reads what was kept.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut read = || {
            let mut value = |word: &str| {
                let (found, value) = lines.next()?.split_once(' ')?;
                (found == word).then_some(value)
            };
            let target = match value("target")? {
                "file" => None,
                word => Some(word.parse().ok()?),
            };
            let header = Header {
                name: value("name")?.to_owned(),
                volume: value("volume")?.parse().ok()?,
                moment: value("moment")?.parse().ok()?,
                base: match value("base")? {
                    "none" => None,
                    word => Some(word.parse().ok()?),
                },
                permanence: match value("permanence")? {
                    "lasting" => Permanence::Lasting,
                    "passing" => Permanence::Passing,
                    _ => return None,
                },
                size: value("size")?.parse().ok()?,
                from: None,
            };
            let (word, held) = lines.next()?.split_once(' ')?;
            let held = match word {
                "holds" => Held::All(Chain::parse(held)?),
                "stands" => {
                    let (position, chain) = held.split_once(' ')?;
                    let position = position.parse().ok()?;
                    Held::UpTo(position, Chain::parse(chain)?)
                }
                _ => return None,
            };
            let is_sound = is_name(&header.name)
                && !matches!(held, Held::UpTo(position, _) if position > header.size);
            (is_sound && lines.next().is_none()).then_some(Self {
                target,
                header,
                held,
            })
        };
        read().ok_or_else(|| {
            let what = "this is no note of ashlar receive, or a damaged one";
            Error::new(Kind::Damaged, what)
        })
    }
}

impl Held {
    /// What tells a target of `size` bytes from one that somebody changed: of its first MiB all,
    /// of the rest 64 pieces of 4 KiB. Mounting a file system to write changes the first of these;
    /// what is changed elsewhere only may be missed.
    pub fn fingerprint<E>(
        size: u64,
        mut read: impl FnMut(u64, &mut [u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<Chain, E> {
        let mut digest = Sha256::new();
        let mut piece = vec![0; size.min(FIRST) as usize];
        read(0, &mut piece)?;
        digest.update(&piece);
        piece.truncate(PIECE.min(size) as usize);
        let last = size - piece.len() as u64;
        for number in 1..=PIECES {
            let at = u128::from(last) * u128::from(number) / u128::from(PIECES);
            // Whole pieces from the beginning, but for the last one.
            let at = at as u64;
            let at = if number < PIECES { at - at % PIECE } else { at };
            read(at, &mut piece)?;
            digest.update(&piece);
        }
        Ok(Chain::from_bytes(digest.finalize().into()))
    }
}
