//! Mutants are made as cargo-mutants printed them.

use super::parse;

const PRINTED: &str = "a/b.rs:2:1: replace f -> bool with true
--- a/b.rs
+++ replace f -> bool with true
@@ -1,4 +1,3 @@
 fn f() -> bool {
-    a()
-        && b()
+    true /* ~ changed by cargo-mutants ~ */
 }

a/b.rs:5:5: replace == with != in g
--- a/b.rs
+++ replace == with != in g
@@ -5 +5 @@
--- 1 == 2
+-- 1 != 2

";

/// Each patch has its name, and changes its lines only, where they are as they were.
#[test]
fn patches_are_read_and_applied() {
    let patches = parse(PRINTED);
    assert_eq!(patches.len(), 2, "{patches:?}");
    let right = "fn f() -> bool {\n    a()\n        && b()\n}\n-- 1 == 2\nend\n";
    let one = &patches["a/b.rs:2:1: replace f -> bool with true"];
    assert_eq!(one.file, "a/b.rs");
    let wrong =
        "fn f() -> bool {\n    true /* ~ changed by cargo-mutants ~ */\n}\n-- 1 == 2\nend\n";
    assert_eq!(one.applied(right).as_deref(), Ok(wrong));
    let two = &patches["a/b.rs:5:5: replace == with != in g"];
    let wrong = right.replace("1 == 2", "1 != 2");
    assert_eq!(two.applied(right), Ok(wrong));
    two.applied("other\n").expect_err("the file has changed");
}
