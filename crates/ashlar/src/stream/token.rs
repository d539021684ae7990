//! Where an interrupted stream is to be gone on with, in a word that people carry to the sender.
//!
//! ```text
//!   ashlar1:MOMENT:BASE|whole:POSITION:CHAIN:CRC-32 of all before
//! ```

use std::fmt;
use std::str::FromStr;

use lvm2::Uuid;

use super::chain::Chain;
use super::header::Header;
use crate::{Error, Kind, Result};

/// How a token begins.
const VERSION: &str = "ashlar1";
/// What stands for no base.
const WHOLE: &str = "whole";

/// What a sender has to know to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// The moment that is sent.
    pub moment: Uuid,
    /// The one that the receiver had before.
    pub base: Option<Uuid>,
    /// The byte of the volume at which to go on.
    pub position: u64,
    /// The chain up to there.
    pub chain: Chain,
}

impl Token {
    /// The one for a stream that stands there.
    pub fn new(header: &Header, (position, chain): (u64, Chain)) -> Self {
        Self {
            moment: header.moment,
            base: header.base,
            position,
            chain,
        }
    }

    fn body(&self) -> String {
        let base = self
            .base
            .map_or_else(|| WHOLE.to_owned(), |base| base.to_string());
        let (moment, position, chain) = (self.moment, self.position, self.chain);
        format!("{VERSION}:{moment}:{base}:{position}:{chain}")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body();
        write!(f, "{body}:{:08x}", crc32fast::hash(body.as_bytes()))
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let mut words = text.split(':');
            let version = words.next()?;
            let moment = words.next()?.parse().ok()?;
            let base = match words.next()? {
                WHOLE => None,
                word => Some(word.parse().ok()?),
            };
            let position = words.next()?.parse().ok()?;
            let chain = Chain::parse(words.next()?)?;
            let token = Self {
                moment,
                base,
                position,
                chain,
            };
            // The sum covers every letter, so that one left out in copying is noticed.
            (version == VERSION && token.to_string() == text).then_some(token)
        };
        read().ok_or_else(|| {
            let what = "this is no token of ashlar receive, or one that lost something on the way";
            Error::new(Kind::Request, what)
        })
    }
}
