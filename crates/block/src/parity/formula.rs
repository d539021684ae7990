//! What is to be computed, once for each byte of buffers of equal length.

/// One computation. Capitals in the comments are single bytes of the buffers.
pub(super) enum Formula<'a> {
    /// `P = D + D + …`, or with what P was, as `start` says.
    Sum {
        p: &'a mut [u8],
        start: Start,
        data: &'a [&'a [u8]],
    },
    /// `P = D + D + …` and `Q = 2^power * D + 2^power * D + …`, the highest power first.
    Sums {
        p: &'a mut [u8],
        q: &'a mut [u8],
        data: &'a [(u8, &'a [u8])],
    },
    /// `S = S + factor * D`.
    AddProduct {
        sum: &'a mut [u8],
        data: &'a [u8],
        factor: u8,
    },
    /// `B = factor * B`.
    Multiply { bytes: &'a mut [u8], factor: u8 },
    /// `A = of_a * A + of_b * B`, and `B` is what A was with the new A added to it.
    Split {
        a: &'a mut [u8],
        b: &'a mut [u8],
        of_a: u8,
        of_b: u8,
    },
}

/// What a sum begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing: what the buffer holds does not count.
    Zero,
    /// What the buffer holds.
    Present,
}

impl Formula<'_> {
    /// How long its buffers are, which are asserted to be equally long; powers fall.
    pub(super) fn len(&self) -> usize {
        match self {
            Formula::Sum { p, data, .. } => {
                for leg in *data {
                    assert_eq!(leg.len(), p.len(), "legs and their sum are equally long");
                }
                p.len()
            }
            Formula::Sums { p, q, data } => {
                assert_eq!(p.len(), q.len(), "P and Q are equally long");
                for (_, leg) in *data {
                    assert_eq!(leg.len(), p.len(), "legs and their sums are equally long");
                }
                for pair in data.windows(2) {
                    assert!(pair[0].0 > pair[1].0, "the highest power comes first");
                }
                p.len()
            }
            Formula::AddProduct { sum, data, .. } => {
                assert_eq!(sum.len(), data.len(), "a sum and its data are equally long");
                sum.len()
            }
            Formula::Multiply { bytes, .. } => bytes.len(),
            Formula::Split { a, b, .. } => {
                assert_eq!(a.len(), b.len(), "P and Q are equally long");
                a.len()
            }
        }
    }
}
