//! Advice where closed forms say what is best.

use super::{Advice, Shape, Wish, advise, candidates, chart, page};
use crate::layout::Disk;
use crate::workload::short;

fn wish(disks: &[&str], size: u64, load: &str) -> Wish {
    Wish {
        disks: disks
            .iter()
            .map(|word| Disk::from_word(word, None).expect(word))
            .collect(),
        size,
        job: short::jobs(load, size).expect(load).remove(0),
    }
}

fn ask(disks: &[&str], load: &str) -> Advice {
    advise(&wish(disks, 8 << 30, load), 2, 1).expect("advice")
}

const CAP: &str = "cap:iops=600:size=20G";

/// Of four disks of 600 with 64 outstanding, N K / (K + N - 1) and less says: all of them; and the
/// emulation agrees.
#[test]
fn depth_wants_all_disks() {
    let advice = ask(&[CAP; 4], "randread:4k:depth=64");
    let best = &advice.choices[0];
    assert_eq!(best.candidate.disks.len(), 4);
    assert!(
        (2250.0..2401.0).contains(&best.per_second.value),
        "{best:?}"
    );
    assert!(best.error().expect("it was emulated").abs() < 0.05);
    assert!(best.front && best.tied);
    // Chunks do not matter to requests of 4 KiB at random: all of them are tied.
    assert!(advice.ties() >= 4);
    assert!(advice.words().iter().any(|said| said.contains("tied")));
}

/// One request at a time gains nothing from more disks: one disk is on the front, and everything is
/// tied with everything.
#[test]
fn one_at_a_time_gains_nothing() {
    let advice = ask(&[CAP; 3], "randread:4k:depth=1");
    let single = advice
        .choices
        .iter()
        .find(|one| one.candidate.disks.len() == 1);
    let single = single.expect("one disk is a candidate");
    assert!(single.tied && single.front);
    assert!((single.per_second.value / 600.0 - 1.0).abs() < 0.01);
    assert!(
        advice
            .choices
            .iter()
            .any(|one| one.candidate.survives() && one.front)
    );
}

/// A load that comes at a rate is ranked by its response; one disk of 600 cannot keep 1,000.
#[test]
fn rates_rank_by_response() {
    let advice = ask(
        &[CAP; 3],
        "randread:4k:depth=500:rate=1000:arrivals=poisson",
    );
    let best = &advice.choices[0];
    assert_eq!(best.candidate.disks.len(), 3);
    let last = advice.choices.last().expect("there are some");
    assert!(last.per_second.value < 700.0, "{last:?}");
}

/// Drives are faster at their beginning, and candidates use every disk they name.
#[test]
fn candidates_are_sound() {
    let wish = wish(&["wd800bd-like"; 3], 10 << 30, "read:1m:depth=4");
    let all = candidates(&wish).expect("candidates");
    for candidate in &all {
        candidate.layout.validate().expect("it is sound");
        assert!(candidate.layout.size() >= wish.size && candidate.capacity >= wish.size);
    }
    let advice = advise(&wish, 0, 1).expect("advice");
    let rate = |name: &str| {
        let mut of = advice.choices.iter();
        let found = of.find(|one| one.candidate.name() == name).expect(name);
        found.per_second.value
    };
    assert!(rate("linear on 1") > 1.5 * rate("linear on 1, at the end"));
    assert!(all.iter().any(|one| one.shape == Shape::Spread));
}

/// What does not fit is said with both sizes, and unequal disks are chosen by kind.
#[test]
fn what_does_not_fit_is_named() {
    let refused = candidates(&wish(&[CAP], 30 << 30, "randread:4k")).expect_err("too large");
    assert!(
        refused.to_string().contains("30720 MiB does not fit"),
        "{refused}"
    );
    let mixed = wish(&[CAP, CAP, "flash:size=20G"], 1 << 30, "randread:4k");
    let all = candidates(&mixed).expect("candidates");
    let single = all.iter().filter(|one| one.disks.len() == 1).count();
    assert_eq!(single, 2);
}

/// Page and chart close what they open, and need nothing from elsewhere.
#[test]
fn page_and_chart_stand_alone() {
    let advice = ask(&[CAP; 2], "randread:4k:depth=8");
    let text = page(&advice, "Two disks <of> 600", "ashlar lab advise");
    for tag in ["table", "svg", "ul", "td", "tr", "li", "g", "p", "main"] {
        let open =
            text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
        assert_eq!(open, text.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(text.contains("&lt;of&gt;") && text.contains("prefers-color-scheme:dark"));
    for foreign in ["<script", "https://", "url("] {
        assert!(!text.contains(foreign), "{foreign}");
    }
    let drawn = chart(&advice, "t");
    assert_eq!(drawn.matches("<title>").count(), advice.choices.len() + 1);
}
