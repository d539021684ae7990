//! Lines of the example become rows.

use super::super::super::contest::Unit;
use super::super::super::goal::Goal;
use super::row;

#[test]
fn a_line_says_its_goal() {
    // Each kind of goal, and lines that are none.
    let goal = |text: &str| row(&format!("c\t%\t1.5\t{text}")).map(|row| row.goal);
    assert_eq!(goal("<= 2"), Ok(Goal::OursAtMost(2.0)));
    assert_eq!(goal(">= 1e6"), Ok(Goal::OursAtLeast(1e6)));
    assert_eq!(goal("-1..0.5"), Ok(Goal::OursWithin(-1.0, 0.5)));
    assert_eq!(
        row("c\t/s\t7\t>= 1").map(|row| row.unit),
        Ok(Unit::PerSecond)
    );
    for wrong in [
        "",
        "c\t%\t1",
        "c\tm\t1\t<= 1",
        "c\t%\tone\t<= 1",
        "c\t%\t1\t-",
        "c\t%\t1\t< 3",
    ] {
        assert!(row(wrong).is_err(), "{wrong}");
    }
}
