//! For tests that need a second process, or one of another user: the test program starts itself again with one test alone.

/// The arguments that make a test program run one test alone, with its output shown.
///
/// `module`: `module_path!()` of the file that has the test. libtest names tests without the program's own name.
pub fn only(module: &str, test: &str) -> [String; 3] {
    let (_, inside) = module.split_once("::").unwrap();
    ["--exact".into(), format!("{inside}::{test}"), "--nocapture".into()]
}
