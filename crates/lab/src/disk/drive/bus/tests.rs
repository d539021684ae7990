//! The calendar against a plain list of nanoseconds.

use super::Calendar;

/// Gaps are used, and nobody is moved; against a plain list of nanoseconds.
#[test]
fn transfers_never_overlap() {
    let mut calendar = Calendar::default();
    let mut taken = [false; 4000];
    let mut state = 5_u64;
    for _ in 0..200 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (earliest, length) = ((state >> 40) % 2000, 1 + (state >> 20) % 7);
        let expected = (earliest..4000)
            .find(|&start| (start..start + length).all(|at| !taken[at as usize]))
            .expect("there is room");
        assert_eq!(calendar.take(0, earliest, length), expected);
        for at in expected..expected + length {
            taken[at as usize] = true;
        }
    }
    calendar.take(4000, 4000, 1);
    assert_eq!(calendar.taken.len(), 1, "the past is forgotten");
}
