//! What the model allows after a kill.

use block::Range;

use crate::explore::{Content, Expected, Failure, Model, SECTOR, encode};

fn first() -> Range {
    Range::new(0, SECTOR)
}

/// A model of two sectors of which the first had a write in flight when its writer was killed, and
/// was read as it was before.
fn killed() -> Model {
    let mut model = Model::new(2);
    let bytes = model.issue(first(), Content::Bytes);
    assert_eq!(bytes, encode(0, 1));
    model.killed();
    read(&mut model, 0).expect("the write may be lost");
    model
}

fn read(model: &mut Model, version: u32) -> Result<(), String> {
    let since = model.expected(true);
    read_since(model, version, &since)
}

fn read_since(model: &mut Model, version: u32, since: &Expected) -> Result<(), String> {
    model.judge(first(), &encode(0, version), since)
}

/// What was read after a kill is what there is, as long as no leg fails.
#[test]
fn a_write_in_flight_at_a_kill_is_there_or_not() {
    let mut model = killed();
    read(&mut model, 0).expect("it is as it was");
    read(&mut model, 1).expect_err("it is not there all at once");
    read(&mut model, 2).expect_err("nobody wrote that");
    let mut other = Model::new(2);
    other.issue(first(), Content::Bytes);
    other.killed();
    read(&mut other, 1).expect("the write may be there");
    read(&mut other, 0).expect_err("it does not go again");
}

/// When the leg that was read is lost before the region is copied, the other one may hold the
/// write; that changes once.
#[test]
fn a_lost_leg_may_take_its_answer_along_once() {
    let mut model = killed();
    let before = model.expected(true);
    model.failed(Failure::Lost, |_| false);
    read(&mut model, 1).expect("the other leg may hold it");
    read(&mut model, 0).expect_err("now it is there");
    read_since(&mut model, 0, &before).expect("the lost leg may have answered that one");
    read(&mut model, 1).expect("it is there still");
}

/// A region that was copied is the same on all legs: losing one changes nothing.
#[test]
fn copied_regions_do_not_change() {
    let mut model = killed();
    model.failed(Failure::Lost, |sector| sector == 0);
    read(&mut model, 1).expect_err("all legs held the same");
}

/// While a leg fails reads the legs may answer by turns, until the region is copied.
#[test]
fn failing_reads_are_answered_by_either_leg_until_the_copy() {
    let mut model = killed();
    model.is_monotone = false;
    model.failed(Failure::Read, |_| false);
    read(&mut model, 1).expect("the other leg");
    read(&mut model, 0).expect("the first one again");
    model.settle(|_| false);
    read(&mut model, 1).expect("it was not copied");
    let late = model.expected(true);
    model.settle(|_| true);
    read(&mut model, 1).expect("whichever was copied");
    read(&mut model, 0).expect_err("it is the one");
    read_since(&mut model, 0, &late).expect("that read began before");
}
