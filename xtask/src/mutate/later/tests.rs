//! What cargo and test programs print is understood.

use std::path::Path;

use super::{executable, failed_test};

/// The program is where cargo says, and the test that failed first has a name.
#[test]
fn what_is_printed_is_understood() {
    let built = "   Compiling tests v0.1.0 (/a/tests)\n    Finished `test` profile in 3s\n  \
                 Executable end_to_end/main.rs (/a/deps/end_to_end-12)\n";
    assert_eq!(
        executable(built).as_deref(),
        Some(Path::new("/a/deps/end_to_end-12"))
    );
    assert_eq!(executable("error: no"), None);
    let said = "\nrunning 3 tests\ntest locks::one ... ok\ntest locks::two - should panic ... \
                FAILED\ntest locks::three ... FAILED\n";
    assert_eq!(failed_test(said).as_deref(), Some("locks::two"));
    assert_eq!(failed_test("test a ... ok\n"), None);
}
