//! Tags of hosts, as stock gives them (`lvm tags` of 2.03.16 with the same files).

use lvm2::text::parse;

use super::super::tree::in_form;
use super::tags_in;

fn tags(text: &str) -> Result<String, String> {
    let tree = in_form(parse(text.as_bytes()).expect("parses"));
    let found = tags_in(&tree, "vm").map_err(|error| error.to_string())?;
    Ok(found.join(" "))
}

#[test]
fn a_host_has_the_tags_that_are_its_own() {
    // Proves: which tags a host gets, by its name, by lists of hosts, and by neither.
    for (text, expected) in [
        ("tags { hosttags=1 }", "vm"),
        ("tags { hosttags=\"x\" }", ""),
        (
            "tags{hosttags=1 foo{} bar{host_list=[\"x\"]} baz{host_list=[\"vm\",\"@foo\"]} @qq{} \
             q2{host_list=[\"@foo\"]} q3{host_list=\"vm\"}}",
            "vm foo baz qq q3",
        ),
        ("tags { foo=1 }", ""),
        ("tags { bar { nosuch=3 } }", "bar"),
        ("tags/foo {}", "foo"),
        ("tags { a { host_list=[] } }", ""),
    ] {
        assert_eq!(tags(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn bad_tags_are_refused() {
    // Proves: words that cannot be tags, and lists that name no hosts, are errors in stock's words.
    let refused = |text: &str, words: &str| {
        let error = tags(text).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    };
    refused("tags { \"a b\" {} }", "Invalid tag in config file: a b");
    refused(
        "tags { bar { host_list=3 } }",
        "Invalid hostname string for tag host_list",
    );
}
