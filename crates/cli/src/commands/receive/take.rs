//! Records into the target, until the end or an interruption.
//!
//! The note never says more than is on stable storage: it stands at the last record that was
//! written and flushed. After a write or a flush that failed it stays where it was.

use std::io::Read;

use ashlar::stream::{Chain, Header, Held, Note, Reader, Record};
use lvm2::Uuid;

use super::state::State;
use crate::args::Error;
use crate::commands::cp::{Bar, Signals, Target};

/// Why no more records came.
pub(super) enum Ended {
    /// All was there.
    Whole,
    /// The stream ends in the middle, is broken, or was ended by a signal. What came before is
    /// there, as the note says.
    Early(Error),
}

/// A stream that is taken.
pub(super) struct Taking<'a> {
    pub(super) target: &'a mut Target,
    pub(super) volume: Option<Uuid>,
    pub(super) state: &'a mut State,
    pub(super) signals: &'a Signals,
    /// What the target is called.
    pub(super) name: &'a str,
}

impl Taking<'_> {
    /// Takes all that comes. An error says that the target, or the note, could not be written.
    pub(super) fn all(&mut self, reader: &mut Reader<impl Read>) -> Result<Ended, Error> {
        let header = reader.header().clone();
        let mut bar = Bar::new(header.size);
        let taken = self.records(reader, &header, &mut bar);
        bar.clear();
        let (stand, error) = match taken? {
            (_, None) => {
                self.target.sync()?;
                let print = Held::fingerprint(header.size, |at, into| self.target.read(at, into))?;
                self.state.write(self.note(&header, Held::All(print)))?;
                return Ok(Ended::Whole);
            }
            (stand, Some(error)) => (stand, error),
        };
        self.checkpoint(&header, stand)?;
        // A signal is why, whatever it did to the read.
        Ok(Ended::Early(self.signals.check().err().unwrap_or(error)))
    }

    /// Where it stands in the end, and why if that is not the end of the stream.
    fn records(
        &mut self,
        reader: &mut Reader<impl Read>,
        header: &Header,
        bar: &mut Bar,
    ) -> Result<((u64, Chain), Option<Error>), Error> {
        let mut stand = reader.stand();
        loop {
            match reader.record() {
                Ok(Record::End) => return Ok((stand, None)),
                Ok(Record::Data(start, bytes)) => self.target.write(start, bytes)?,
                Ok(Record::Zeroes(range)) => {
                    self.target.write_zeroes(range.start(), range.len())?;
                }
                Err(error) => {
                    let early = match error.kind() {
                        ashlar::Kind::Incomplete => Error::incomplete(),
                        _ => Error::failed(error.to_string()),
                    };
                    return Ok((stand, Some(early)));
                }
            }
            stand = reader.stand();
            bar.show(stand.0, header.size - stand.0, String::new);
            if self.state.is_due() {
                self.checkpoint(header, stand)?;
            }
            if let Err(ended) = self.signals.check() {
                return Ok((stand, Some(ended)));
            }
        }
    }

    fn checkpoint(
        &mut self,
        header: &Header,
        (position, chain): (u64, Chain),
    ) -> Result<(), Error> {
        let note = self.note(header, Held::UpTo(position, chain));
        let target = &mut *self.target;
        self.state.checkpoint(note, || target.sync())
    }

    fn note(&self, header: &Header, held: Held) -> Note {
        Note {
            target: self.volume,
            header: Header {
                from: None,
                ..header.clone()
            },
            held,
        }
    }

    /// Says that a stream is about to change the target: from its beginning, if it is the whole
    /// stream. Nothing of the target is changed before that is durable.
    pub(super) fn begin(&mut self, header: &Header, stand: (u64, Chain)) -> Result<(), Error> {
        if header.from.is_some() {
            return Ok(());
        }
        let note = self.note(header, Held::UpTo(stand.0, stand.1));
        self.state.write(note)
    }

    /// Refuses a target that is not any more what the note says.
    pub(super) fn require_unchanged(&mut self) -> Result<(), Error> {
        let Some((size, print)) = self.state.note().and_then(|note| match note.held {
            Held::All(print) => Some((note.header.size, print)),
            Held::UpTo(..) => None,
        }) else {
            return Ok(());
        };
        let found = Held::fingerprint(size, |at, into| self.target.read(at, into))?;
        if found == print {
            return Ok(());
        }
        Err(Error::failed(format!(
            "{} was changed since it received what {} says, so that what comes does not fit: \
             begin with a whole stream (ashlar send without --since)",
            self.name,
            self.state.path().display()
        )))
    }
}
