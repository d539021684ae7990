//! Complaints about settings, as stock 2.03.16 makes them of the same texts.

use lvm2::text::parse;

use super::super::tree::in_form;
use super::complaints;

#[test]
fn complaints_are_stocks() {
    // Proves: unknown settings and wrong types are named in stock's words, and right ones are not.
    for (text, expected) in [
        (
            "nosuch=1",
            "Configuration setting \"nosuch\" invalid. It's not part of any section.",
        ),
        (
            "devices/nosuch=1",
            "Configuration setting \"devices/nosuch\" unknown.",
        ),
        ("a/b/c=1", "Configuration section \"a\" unknown."),
        (
            "global/suffix=0.5",
            "WARNING: Configuration setting \"global/suffix\" has invalid type. Found float but \
             expected boolean.",
        ),
        (
            "devices/pv_min_size=\"x\"",
            "WARNING: Configuration setting \"devices/pv_min_size\" has invalid type. Found string \
             but expected integer.",
        ),
        (
            "devices/scan=[\"a\",1]",
            "WARNING: Configuration setting \"devices/scan\" has invalid type. Found integer but \
             expected array with values of type: string.",
        ),
        (
            "devices { dir { } }",
            "WARNING: Configuration setting \"devices/dir\" has invalid type. Found section but \
             expected string.",
        ),
        (
            "global/suffix=\"maybe\"",
            "Configuration setting \"global/suffix\" invalid. Found string value \"maybe\", \
             expected boolean value: 0/1, \"y/n\", \"yes/no\", \"on/off\", \"true/false\".",
        ),
        (
            "global/units=\"\"",
            "Configuration setting \"global/units\" invalid. It cannot be set to an empty value.",
        ),
        ("log/prefix=\"\"", ""),
        ("devices/filter=\"a|.*|\"", ""),
        ("devices/dir=[\"a\"]", ""),
        ("global/suffix=3 tags { x { host_list=\"y\" } @z { } }", ""),
    ] {
        let tree = in_form(parse(text.as_bytes()).expect("parses"));
        assert_eq!(complaints(&tree).join("\n"), expected, "{text}");
    }
}
