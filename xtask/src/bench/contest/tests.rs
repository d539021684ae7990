//! Turns are taken fairly and the uncounted round does not count.

use std::cell::RefCell;

use super::{Contestant, Unit, contest};

#[test]
fn everybody_is_measured_in_every_round_and_begins_in_turn() {
    let order = RefCell::new(String::new());
    let contestant = |name: &'static str, value: f64| {
        let order = &order;
        Contestant::new(name, move || {
            order.borrow_mut().push_str(name);
            Ok(value)
        })
    };
    let both = vec![contestant("a", 3.0), contestant("b", 2.0)];
    let row = contest("case", Unit::Seconds, 3, both).expect("nobody fails");
    assert_eq!(*order.borrow(), "abbaabba");
    assert_eq!((row.rounds, row.peers.len()), (3, 1));
    assert!((row.peers[0].2.median - 1.5).abs() < 1e-9);
}

#[test]
fn the_first_round_is_not_counted() {
    let mut first = true;
    let warm = Contestant::new("a", || {
        Ok(if std::mem::take(&mut first) { 1e9 } else { 1.0 })
    });
    let row = contest("case", Unit::Seconds, 1, vec![warm]).expect("nobody fails");
    assert!((row.ours - 1.0).abs() < 1e-9);
}

#[test]
fn a_failure_names_the_case_and_the_contestant() {
    let broken = Contestant::new("peer", || Err("is gone".to_owned()));
    let error = contest("case", Unit::Seconds, 1, vec![broken]).expect_err("it fails");
    assert_eq!(error, "case: peer: is gone");
}
