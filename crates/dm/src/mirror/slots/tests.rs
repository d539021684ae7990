//! A word against what it should say.

use block::sim::Random;

use super::{SLOTS, Slots};
use crate::map::Ended;

/// What the home and queues did to one region.
#[derive(Debug, Default)]
struct Plain {
    has_word: bool,
    is_open: bool,
    is_touched: bool,
    holds: u64,
}

/// Whatever home and queues do in turn, a word says what it should; two regions that would have the
/// same word never have it both.
#[test]
fn words_say_what_was_done() {
    let mut random = Random::new(3);
    let slots = Slots::new();
    let regions = [5, 5 + SLOTS, 0];
    let mut plain = regions.map(|_| Plain::default());
    for _ in 0..20_000 {
        let at = random.index(3);
        let (region, is_alone) = (regions[at], at == 2 || !plain[1 - at].has_word);
        let one = &mut plain[at];
        match random.below(8) {
            0 if !one.has_word && is_alone => {
                slots.open(region);
                (one.has_word, one.is_open, one.is_touched) = (true, true, false);
            }
            1..=3 => {
                assert_eq!(slots.hold(region), one.is_open, "{one:?}");
                one.holds += u64::from(one.is_open);
                one.is_touched |= one.is_open;
            }
            4 if one.holds > 0 => {
                one.holds -= 1;
                let is_last = one.holds == 0 && !one.is_open;
                let ended = if is_last {
                    Ended::Awaited
                } else {
                    Ended::Quiet
                };
                assert_eq!(slots.release(region), ended, "{one:?}");
            }
            5 if one.is_open => {
                assert_eq!(slots.look(region), (one.holds > 0, one.is_touched));
                one.is_touched = false;
            }
            6 if one.is_open => {
                let is_clean = one.holds == 0 && !one.is_touched;
                assert_eq!(slots.take_untouched(region), is_clean, "{one:?}");
                if is_clean {
                    *one = Plain::default();
                }
            }
            7 if one.is_open && random.chance(1, 2) => {
                assert_eq!(slots.close(region), one.holds > 0, "{one:?}");
                one.is_open = false;
                one.has_word = one.holds > 0;
            }
            7 if one.has_word => {
                let is_idle = one.holds == 0;
                let took = if one.is_open {
                    slots.take_idle(region)
                } else {
                    slots.reap(region)
                };
                assert_eq!(took, is_idle, "{one:?}");
                if is_idle {
                    *one = Plain::default();
                }
            }
            _ => {}
        }
        assert_eq!(slots.is_open(region), plain[at].is_open);
        let owner = (0..3).find(|at| plain[*at].has_word && regions[*at] % SLOTS == region % SLOTS);
        assert_eq!(slots.owner(region), owner.map(|at| regions[at]));
    }
}
