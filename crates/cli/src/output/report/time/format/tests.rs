//! Formats of times, against what stock and the C library showed.

use super::TimeFormat;
use crate::output::report::time::{Instant, Rules, Zone};

fn shown(format: &str, seconds: i64) -> String {
    let format = TimeFormat::parse(format).expect("a format");
    format.show(&Zone::default(), Instant(seconds))
}

#[test]
fn every_letter_is_shown_as_by_stock() {
    // Proves: all that lvm.conf lists, as stock 2.03.16 showed it for Mon Nov 30 04:41:22 2026.
    for (format, wanted) in [
        (
            "%a|%A|%b|%B|%c|%C|%d|%D|%e|%F",
            "Mon|Monday|Nov|November|Mon Nov 30 04:41:22 2026|20|30|11/30/26|30|2026-11-30",
        ),
        (
            "%G|%g|%h|%H|%I|%j|%k|%l|%m|%M",
            "2026|26|Nov|04|04|334| 4| 4|11|41",
        ),
        (
            "%p|%P|%r|%R|%s|%S|%t|%T",
            "AM|am|04:41:22 AM|04:41|1796013682|22|\t|04:41:22",
        ),
        (
            "%u|%U|%V|%w|%W|%x|%X|%y|%Y|%z|%Z",
            "1|48|49|1|48|11/30/26|04:41:22|26|2026|+0000|UTC",
        ),
        ("%Ec %Od %Ey", "Mon Nov 30 04:41:22 2026 30 26"),
        ("plain", "plain"),
    ] {
        assert_eq!(shown(format, 1_796_013_682), wanted);
    }
}

#[test]
fn weeks_belong_to_the_year_of_their_thursday() {
    // Proves: the ends of years, as date(1) shows them.
    for (seconds, wanted) in [
        (1_609_459_200, "2021-01-01 2020-W53 00 00 001"),
        (1_735_603_200, "2024-12-31 2025-W01 52 53 366"),
        (1_672_531_200, "2023-01-01 2022-W52 01 00 001"),
        (1_483_228_799, "2016-12-31 2016-W52 52 52 366"),
    ] {
        assert_eq!(shown("%F %G-W%V %U %W %j", seconds), wanted);
    }
    assert_eq!(shown("%I %l %p %k", 1_483_228_799), "11 11 PM 23");
    assert_eq!(shown("%I %l %P", 0), "12 12 am");
}

#[test]
fn zones_have_names() {
    // Proves: a zone in the environment's own words has its name and offset.
    let zone = Zone::with(Rules::named("XYZ-2:30"));
    let format = TimeFormat::parse("%Z %z %H:%M").expect("a format");
    assert_eq!(format.show(&zone, Instant(0)), "XYZ +0230 02:30");
}

#[test]
fn other_letters_are_refused() {
    // Proves: what stock refuses is refused, in its words.
    for text in [
        "%Q", "%%", "%", "ab%", "%E", "%Ez", "%Oc", "%OY", "%5Y", "%-d", "%n", "%+",
    ] {
        let wrong = TimeFormat::parse(text).expect_err(text);
        assert_eq!(
            wrong.to_string(),
            format!("Invalid time format \"{text}\" supplied.")
        );
    }
    let wrong = TimeFormat::parse("\u{fc} %Y").expect_err("not of ASCII");
    assert!(
        wrong
            .to_string()
            .starts_with("Configured time format contains non-printable")
    );
}
