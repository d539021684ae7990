//! Where the parity of a row stands, and in which order its data follow.
//!
//! A row is one chunk of each leg, all at the same place. Of `n` legs one or two hold parity, and
//! which ones follows from the row's number: the names say how it turns (left: from the last leg
//! down; right: from the first one up), and whether the data begin behind the parity (symmetric) or
//! at the first leg (asymmetric). The numbers are md's (`drivers/md/raid5.h`, and the layouts in
//! the kernel's documentation of dm-raid).
//!
//! ```text
//!   left symmetric, 4 legs          left asymmetric             zero restart, 5 legs
//!   row 0   0  1  2  P              0  1  2  P                  P  Q  0  1  2
//!   row 1   4  5  P  3              3  4  P  5                  3  P  Q  4  5
//!   row 2   8  P  6  7              6  P  7  8                  6  7  P  Q  8
//!   row 3   P  9 10 11              P  9 10 11                  9 10 11  P  Q
//!                                                               Q 12 13 14  P
//! ```

/// The layouts of md's levels 4, 5 and 6, by what they are called there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rotation {
    /// `left-asymmetric`: `raid5_la`.
    LeftAsymmetric,
    /// `right-asymmetric`: `raid5_ra`.
    RightAsymmetric,
    /// `left-symmetric`: `raid5_ls`, md's own choice.
    LeftSymmetric,
    /// `right-symmetric`: `raid5_rs`.
    RightSymmetric,
    /// `parity-first`: `raid4`.
    First,
    /// `parity-last`: `raid5_n`, `raid6_n_6`.
    Last,
    /// `ddf-zero-restart`: `raid6_zr`.
    ZeroRestart,
    /// `ddf-N-restart`: `raid6_nr`.
    NRestart,
    /// `ddf-N-continue`: `raid6_nc`.
    NContinue,
    /// `left-asymmetric-6`: `raid6_la_6`.
    LeftAsymmetric6,
    /// `right-asymmetric-6`: `raid6_ra_6`.
    RightAsymmetric6,
    /// `left-symmetric-6`: `raid6_ls_6`.
    LeftSymmetric6,
    /// `right-symmetric-6`: `raid6_rs_6`.
    RightSymmetric6,
    /// `parity-first-6`.
    First6,
}

/// How many legs of each row hold parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parity {
    /// The sum of the data: any one leg may be missing.
    One,
    /// Two independent sums: any two.
    Two,
}

/// One row: who holds what. Legs are named by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The leg with the sum, P.
    pub p: usize,
    /// The leg with the second sum, Q.
    pub q: Option<usize>,
    legs: usize,
    /// The first data chunk's leg, and how the others follow.
    first: usize,
    order: Order,
    powers: Powers,
}

/// How the data chunks of a row follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// From the first on in turns over so many legs, perhaps not all, without meeting parity.
    Turns(usize),
    /// From leg 0 on, past the parity.
    Rising,
}

/// By which power of 2 each chunk counts in the second sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Powers {
    /// By its place among the data, behind the leg with Q.
    BehindQ,
    /// By the number of its leg (DDF's order).
    ByLeg,
}

impl Parity {
    /// Legs whose worth of each row is parity.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl Rotation {
    const NUMBERS: [(Self, u32); 14] = [
        (Self::LeftAsymmetric, 0),
        (Self::RightAsymmetric, 1),
        (Self::LeftSymmetric, 2),
        (Self::RightSymmetric, 3),
        (Self::First, 4),
        (Self::Last, 5),
        (Self::ZeroRestart, 8),
        (Self::NRestart, 9),
        (Self::NContinue, 10),
        (Self::LeftAsymmetric6, 16),
        (Self::RightAsymmetric6, 17),
        (Self::LeftSymmetric6, 18),
        (Self::RightSymmetric6, 19),
        (Self::First6, 20),
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NUMBERS.iter().map(|(rotation, _)| *rotation)
    }

    /// The one that md gives this number.
    pub fn from_md(number: u32) -> Option<Self> {
        let mut all = Self::NUMBERS.iter();
        all.find(|(_, known)| *known == number)
            .map(|(rotation, _)| *rotation)
    }

    /// md's number.
    pub fn md(self) -> u32 {
        let mut all = Self::NUMBERS.iter();
        let found = all.find(|(rotation, _)| *rotation == self);
        found.expect("each has one").1
    }

    /// With one parity: the layout that has another one on a leg behind, and all else as here.
    pub fn with_q_behind(self) -> Option<Self> {
        match self {
            Self::LeftAsymmetric => Some(Self::LeftAsymmetric6),
            Self::RightAsymmetric => Some(Self::RightAsymmetric6),
            Self::LeftSymmetric => Some(Self::LeftSymmetric6),
            Self::RightSymmetric => Some(Self::RightSymmetric6),
            Self::Last => Some(Self::Last),
            _ => None,
        }
    }

    /// Whether arrays with so much parity may be laid out like this.
    pub fn suits(self, parity: Parity) -> bool {
        match parity {
            Parity::One => self.md() <= Self::Last.md(),
            Parity::Two => true,
        }
    }

    /// Who holds what in row `row` of `legs` legs.
    ///
    /// # Panics
    ///
    /// The rotation does not suit the parity, or there are not more legs than parity.
    pub fn row(self, row: u64, legs: usize, parity: Parity) -> Row {
        assert!(self.suits(parity), "{self:?} has two parities");
        assert!(legs > parity.count(), "some leg holds data");
        let of = |row: u64, legs: usize| (row % legs as u64) as usize;
        let left = legs - 1 - of(row, legs);
        let right = of(row, legs);
        match parity {
            Parity::One => match self {
                Self::LeftAsymmetric => Row::rising(legs, left, None),
                Self::RightAsymmetric => Row::rising(legs, right, None),
                Self::LeftSymmetric => Row::behind(legs, left, None),
                Self::RightSymmetric => Row::behind(legs, right, None),
                Self::First => Row::rising(legs, 0, None),
                _ => Row::rising(legs, legs - 1, None),
            },
            Parity::Two => self.row_of_two(row, legs, (left, right)),
        }
    }

    fn row_of_two(self, row: u64, legs: usize, (left, right): (usize, usize)) -> Row {
        let next = |leg: usize| (leg + 1) % legs;
        // All but the last leg turn as those of one parity do.
        let turning = legs - 1;
        let six = |rotation: Self| {
            let row = rotation.row(row, turning, Parity::One);
            Row {
                q: Some(legs - 1),
                legs,
                ..row
            }
        };
        match self {
            Self::LeftAsymmetric => Row::rising(legs, left, Some(next(left))),
            Self::RightAsymmetric => Row::rising(legs, right, Some(next(right))),
            Self::LeftSymmetric => Row::behind(legs, left, Some(next(left))),
            Self::RightSymmetric => Row::behind(legs, right, Some(next(right))),
            Self::First => Row::rising(legs, 0, Some(1)),
            Self::Last => Row::rising(legs, legs - 2, Some(legs - 1)),
            Self::ZeroRestart => Row::rising(legs, right, Some(next(right))).by_leg(),
            Self::NRestart => {
                let left = legs - 1 - ((row % legs as u64) as usize + 1) % legs;
                Row::rising(legs, left, Some(next(left))).by_leg()
            }
            Self::NContinue => {
                let q = (left + legs - 1) % legs;
                let row = Row::behind(legs, left, None);
                Row { q: Some(q), ..row }.by_leg()
            }
            Self::LeftAsymmetric6 => six(Self::LeftAsymmetric),
            Self::RightAsymmetric6 => six(Self::RightAsymmetric),
            Self::LeftSymmetric6 => six(Self::LeftSymmetric),
            Self::RightSymmetric6 => six(Self::RightSymmetric),
            Self::First6 => six(Self::First),
        }
    }
}

impl Row {
    /// Data from leg 0 on.
    fn rising(legs: usize, p: usize, q: Option<usize>) -> Self {
        Self {
            p,
            q,
            legs,
            first: 0,
            order: Order::Rising,
            powers: Powers::BehindQ,
        }
    }

    /// Data behind the last parity.
    fn behind(legs: usize, p: usize, q: Option<usize>) -> Self {
        Self {
            p,
            q,
            legs,
            first: (q.unwrap_or(p) + 1) % legs,
            order: Order::Turns(legs),
            powers: Powers::BehindQ,
        }
    }

    fn by_leg(self) -> Self {
        Self {
            powers: Powers::ByLeg,
            ..self
        }
    }

    /// How many data chunks it has.
    pub fn data_count(&self) -> usize {
        self.legs - 1 - usize::from(self.q.is_some())
    }

    /// The leg of data chunk `index`, from 0.
    pub fn leg(&self, index: usize) -> usize {
        assert!(index < self.data_count(), "a row has so many data chunks");
        match self.order {
            Order::Turns(legs) => (self.first + index) % legs,
            Order::Rising => {
                let mut leg = index;
                // The lower one first.
                let (low, high) = match self.q {
                    Some(q) => (self.p.min(q), Some(self.p.max(q))),
                    None => (self.p, None),
                };
                leg += usize::from(leg >= low);
                leg + usize::from(high.is_some_and(|high| leg >= high))
            }
        }
    }

    /// The data chunk that a leg holds; `None`: it holds parity.
    pub fn index(&self, leg: usize) -> Option<usize> {
        assert!(leg < self.legs, "there are so many legs");
        (0..self.data_count()).find(|index| self.leg(*index) == leg)
    }

    /// The power of 2 by which a leg's data count in Q: from 0, less than the number of legs.
    ///
    /// # Panics
    ///
    /// The row has no Q, or the leg holds parity.
    pub fn power(&self, leg: usize) -> usize {
        let q = self.q.expect("only rows with Q have powers");
        assert!(leg != self.p && leg != q, "parity does not count in parity");
        match self.powers {
            Powers::ByLeg => leg,
            Powers::BehindQ => {
                let behind = (leg + self.legs - q - 1) % self.legs;
                let p = (self.p + self.legs - q - 1) % self.legs;
                behind - usize::from(p < behind)
            }
        }
    }
}

#[cfg(test)]
mod tests;
