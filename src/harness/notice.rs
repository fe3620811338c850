//! The notice that a host puts behind the lines of a file that has more.

use serde_json::Value;

/// The lines that a read tool showed, without the notice that the file has more, and whether it has. Hosts put the notice in
/// brackets behind an empty line.
///
/// `details`: what the host says of the result besides its text.
pub fn without_notice<'a>(text: &'a str, details: &Value) -> (&'a str, bool) {
    let is_cut = details.get("truncation").is_some_and(|found| !found.is_null());
    let notice = text.rsplit_once("\n\n[").filter(|(_, notice)| {
        notice.ends_with(']') && !notice.contains('\n') && notice.contains(" line")
    });
    match notice {
        Some((shown, _)) => (shown, true),
        // `[Line 1 is 80KB, exceeds the limit …]` shows nothing of the file.
        None if is_cut => (if text.starts_with('[') { "" } else { text }, true),
        None => (text, false),
    }
}
