//! The page is a pure function, and sound HTML as far as a test can tell.

use super::page;
use super::short::{Answer, table};
use super::text::number;
use crate::experiment::{Options, Read, Record, Work, find, read, run, runs};

fn results() -> Read {
    let mut experiment = find("zones").expect("it is part of the program");
    experiment.replicates = 6;
    for arm in &mut experiment.arms {
        let Work::Jobs { requests_max, .. } = &mut arm.work else {
            panic!("it has jobs");
        };
        *requests_max = 50;
    }
    let options = Options {
        seed: 1,
        replicates: Some(6),
        threads: 2,
    };
    let experiments = [experiment];
    let pending = runs(&experiments, &options, &[]);
    let mut text = String::new();
    let mut keep = |record: &Record| {
        text.push_str(&record.to_line());
        true
    };
    run(&pending, &options, &mut keep).expect("it runs");
    read("r", &text).expect("it was just written")
}

#[test]
fn the_page_has_every_claim_and_closes_what_it_opens() {
    // 78 rows, no script, nothing from elsewhere; the same bytes twice.
    let experiments = [find("zones").expect("it is part of the program")];
    let results = results();
    let text = page(&experiments, &results).expect("a page");
    assert_eq!(text, page(&experiments, &results).expect("a page"));
    assert_eq!(text.matches("<th scope=\"row\">A.").count(), 29);
    assert_eq!(text.matches("<tr id=").count(), 78);
    for tag in [
        "table", "section", "svg", "ul", "details", "p", "td", "tr", "li", "g",
    ] {
        let open =
            text.matches(&format!("<{tag}>")).count() + text.matches(&format!("<{tag} ")).count();
        assert_eq!(open, text.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    for foreign in ["<script", "http://", "https://", "url("] {
        assert!(!text.contains(foreign), "{foreign}");
    }
}

#[test]
fn a_question_is_asked_once() {
    // Two claims answer the first, one the second.
    let answers = ["First?", "First?", "Second?"].map(|question| Answer {
        question,
        claim: "A.1".to_owned(),
        says: "it is <so>".to_owned(),
        verdict: "refuted",
        what: "one over the other".to_owned(),
        found: "0.9".to_owned(),
    });
    let text = table(&answers);
    assert_eq!(text.matches("First?").count(), 1);
    assert!(text.contains("rowspan=\"2\">First?</th>"), "{text}");
    assert!(text.contains("rowspan=\"1\">Second?</th>"), "{text}");
    let rows = text.matches("<tr><").count() - 1;
    assert_eq!((rows, text.matches("it is &lt;so&gt;").count()), (3, 3));
    assert_eq!(table(&[]), "");
}

#[test]
fn numbers_have_three_digits_that_mean_something() {
    // From tiny to large, and none at all.
    let cases = [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (1.234, "1.23"),
        (45.67, "45.7"),
    ];
    for (value, shown) in cases {
        assert_eq!(number(value), shown);
    }
    assert_eq!(number(1234567.0), "1\u{202f}234\u{202f}567");
    assert_eq!(number(f64::INFINITY), "∞");
}
