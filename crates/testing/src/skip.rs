//! What a test does where something that it needs is absent.

/// Prints one line that says why a test is skipped. With `PALIMPSEST_REQUIRE_ALL_TESTS` set the test fails instead.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skip(why: &str) {
    assert!(std::env::var_os("PALIMPSEST_REQUIRE_ALL_TESTS").is_none(), "{why}");
    eprintln!("skipped: {why}");
}
