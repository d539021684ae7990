//! Read-ahead: how much more is read than was asked for.
//!
//! As `mm/readahead.c` does on demand since 2.6.23: reading from the start of a file, or on from
//! the last page read, opens a window of four times the request (twice, or the most, for larger
//! ones). Its last part carries a mark, its first page if all of it was asked for; reading the
//! marked page fetches the next window, four times as long while it is short, then twice, up to
//! the most. Anything else reads what was asked for.

/// How a file is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReadAhead {
    /// The page after the last window.
    end: u32,
    /// Pages of the last window.
    size: u32,
    /// The page whose reading fetches the next window.
    mark: Option<u32>,
    /// The page read last.
    last: Option<u32>,
}

/// Pages to read: the first, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fetch {
    pub(super) page: u32,
    pub(super) count: u32,
}

impl ReadAhead {
    /// What to read as `page`, the first of `asked`, is not in memory; `most` pages at a time.
    pub(super) fn miss(&mut self, page: u32, asked: u32, most: u32) -> Fetch {
        let follows = page == 0
            || self
                .last
                .is_some_and(|last| last == page || last + 1 == page);
        let size = if follows && most > 0 {
            let size = asked.next_power_of_two();
            if size <= most / 32 {
                size * 4
            } else if size <= most / 4 {
                size * 2
            } else {
                most
            }
        } else {
            asked.min(most.max(1))
        };
        self.size = size;
        self.end = page + size;
        // A request that takes the whole window fetches the next one at once.
        let ahead = if size > asked { asked } else { 0 };
        self.mark = (follows && most > 0).then(|| page + ahead);
        Fetch { page, count: size }
    }

    /// What to read ahead as `page` is read and in memory.
    pub(super) fn hit(&mut self, page: u32, most: u32) -> Option<Fetch> {
        if self.mark != Some(page) {
            return None;
        }
        let size = if self.size < most / 16 {
            self.size * 4
        } else {
            self.size * 2
        };
        let fetch = Fetch {
            page: self.end,
            count: size.min(most),
        };
        self.mark = Some(self.end);
        self.size = fetch.count;
        self.end += fetch.count;
        Some(fetch)
    }

    /// Notes that a page was read.
    pub(super) fn read(&mut self, page: u32) {
        self.last = Some(page);
    }
}
