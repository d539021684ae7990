//! Where the bytes of a face are.

use block::Range;

use super::Origin;
use super::member::Member;
use super::operation::Port;

/// A run of bytes on a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The bytes of the face.
    pub(super) bytes: Range,
    pub(super) leg: usize,
    /// Where they begin there.
    pub(super) start: u64,
    /// Whether a store has them.
    pub(super) is_kept: bool,
}

impl Place {
    /// A part of it.
    pub(super) fn part(&self, bytes: Range) -> Self {
        assert!(self.bytes.contains(bytes), "a part lies within");
        let start = self.start + (bytes.start() - self.bytes.start());
        Self {
            bytes,
            start,
            ..*self
        }
    }
}

impl Origin {
    /// Where `range` of a face is, in order and without holes.
    pub(super) fn places(&self, port: Port, range: Range) -> Vec<Place> {
        let member = match port {
            Port::Origin => self.merging().map(|index| self.member(index)),
            Port::Snapshot(index) => Some(self.member(index)),
        };
        let mut places = Vec::new();
        let mut at = range.start();
        if let Some(member) = member {
            at = self.kept_places(member, range, &mut places);
        }
        if at < range.end() {
            places.push(self.of_origin(Range::new(at, range.end() - at)));
        }
        let len: u64 = places.iter().map(|place| place.bytes.len()).sum();
        assert_eq!(len, range.len(), "each byte is somewhere");
        places
    }

    /// Where what a snapshot has of `range` is; where the rest begins.
    fn kept_places(&self, member: &Member, range: Range, places: &mut Vec<Place>) -> u64 {
        let Some((old, count)) = member.chunks(range) else {
            return range.start();
        };
        let mut at = range.start();
        for (first, stretch) in member.exceptions.stretches(old, count) {
            let bytes = member.bytes(first, stretch.count).intersection(range);
            let bytes = bytes.expect("each chunk has bytes of the range");
            assert_eq!(bytes.start(), at, "there are no holes");
            let chunk = member.geometry.chunk;
            places.push(match stretch.new {
                Some(new) => Place {
                    bytes,
                    leg: member.config.store,
                    start: new * chunk + (bytes.start() - first * chunk),
                    is_kept: true,
                },
                None => self.of_origin(bytes),
            });
            at = bytes.end();
        }
        at
    }

    fn of_origin(&self, bytes: Range) -> Place {
        Place {
            bytes,
            leg: self.shape.origin,
            start: bytes.start(),
            is_kept: false,
        }
    }
}
