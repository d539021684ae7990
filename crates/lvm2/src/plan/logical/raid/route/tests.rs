//! Tests: which type becomes which.

use super::{Form, Route, route, with_second_parity, without_second_parity};
use crate::model::{RaidFamily, RaidLevel};

fn form(name: &str) -> Form {
    match name {
        "linear" => Form::Linear,
        "striped" => Form::Striped,
        name => Form::Raid(RaidLevel::from_name(name).expect("a level")),
    }
}

/// What stock says of these: lvmraid(7), "Raid takeover" and "Interim".
#[test]
fn stock_goes_these_ways() {
    let direct = [
        ("striped", 3, "raid4"),
        ("striped", 3, "raid5_n"),
        ("striped", 3, "raid6_n_6"),
        ("striped", 2, "raid10"),
        ("raid0", 3, "striped"),
        ("raid0_meta", 3, "raid4"),
        ("raid1", 2, "raid5_ls"),
        ("raid1", 2, "raid4"),
        ("raid4", 3, "raid5_n"),
        ("raid5_n", 3, "raid4"),
        ("raid5_n", 3, "striped"),
        ("raid5_n", 4, "raid6_n_6"),
        ("raid5_rs", 4, "raid6_rs_6"),
        ("raid5", 4, "raid6_ls_6"),
        ("raid5_la", 2, "raid1"),
        ("raid6_la_6", 5, "raid5_la"),
        ("raid6_ls_6", 5, "raid5"),
        ("raid6_n_6", 5, "raid4"),
        ("raid6_n_6", 5, "raid0"),
        ("raid10", 4, "raid0_meta"),
        ("raid10", 4, "striped"),
    ];
    for (from, images, to) in direct {
        let found = route(form(from), images, form(to));
        assert_eq!(found, Route::Direct, "{from} of {images} to {to}");
    }
    let first = [
        ("linear", 1, "raid5", "raid1"),
        ("striped", 3, "raid5", "raid5_n"),
        ("striped", 3, "raid6", "raid6_n_6"),
        ("striped", 2, "raid6", "raid5_n"),
        ("raid0", 2, "raid1", "raid5_n"),
        ("raid1", 2, "raid6", "raid5_ls"),
        ("raid1", 2, "raid10", "raid5_n"),
        ("raid4", 3, "raid5", "raid5_n"),
        ("raid5_ls", 4, "raid6", "raid6_ls_6"),
        ("raid5_n", 3, "raid10", "raid0_meta"),
        ("raid6_n_6", 5, "raid5_ls", "raid5_n"),
        ("raid6_n_6", 5, "raid10", "raid0_meta"),
        ("raid10", 4, "raid6", "raid0_meta"),
        ("raid5_ls", 2, "linear", "raid1"),
    ];
    for (from, images, to, step) in first {
        let found = route(form(from), images, form(to));
        assert_eq!(
            found,
            Route::First(form(step)),
            "{from} of {images} to {to}"
        );
    }
}

/// Where data would move, the step that moves them is named.
#[test]
fn reshapes_are_named() {
    let all = [
        ("raid5_ls", 3, "raid5_n", Route::Reshape(form("raid5_n"))),
        ("raid5_ls", 3, "striped", Route::Reshape(form("raid5_n"))),
        ("raid5_ls", 3, "raid4", Route::Reshape(form("raid5_n"))),
        ("raid5_ls", 3, "raid6", Route::Images(4)),
        ("raid5_ls", 3, "raid1", Route::Images(2)),
        ("raid5_n", 2, "raid0", Route::Images(3)),
        (
            "raid6_zr",
            5,
            "raid5_rs",
            Route::Reshape(form("raid6_rs_6")),
        ),
        ("raid6", 5, "raid0", Route::Reshape(form("raid6_n_6"))),
        ("raid6_ls_6", 5, "raid6", Route::Reshape(form("raid6_zr"))),
        ("raid1", 3, "raid5", Route::TwoCopies),
        ("raid6", 5, "raid6_zr", Route::Same),
    ];
    for (from, images, to, expected) in all {
        let found = route(form(from), images, form(to));
        assert_eq!(found, expected, "{from} of {images} to {to}");
    }
}

/// From anywhere to anywhere each step is nearer: no way goes round and round.
#[test]
fn all_ways_end() {
    let mut forms = alloc::vec![Form::Linear, Form::Striped];
    forms.extend(RaidLevel::ALL.iter().copied().map(Form::Raid));
    for from in &forms {
        for to in &forms {
            for images in 2..7 {
                let (mut now, mut steps) = (*from, 0);
                while let Route::First(next) = route(now, images, *to) {
                    (now, steps) = (next, steps + 1);
                    assert!(steps < 5, "{from:?} of {images} to {to:?} goes round");
                }
            }
        }
    }
}

#[test]
fn second_parities_come_and_go() {
    for level in RaidLevel::ALL {
        let Some(two) = with_second_parity(*level) else {
            continue;
        };
        let back = without_second_parity(two).expect("it came");
        assert_eq!(with_second_parity(back), Some(two));
        assert_eq!(two.family(), RaidFamily::Raid6);
    }
}
