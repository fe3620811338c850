//! The notice that a host adds after the lines of a file that has more.

use serde_json::Value;

/// The lines that a read tool showed, without the notice that the file has more, and whether it has
/// more. Hosts put the notice in brackets after an empty line.
///
/// `details`: what the host says about the result besides its text.
pub fn without_notice<'a>(text: &'a str, details: &Value) -> (&'a str, bool) {
    let is_cut = details.get("truncation").is_some_and(|found| !found.is_null());
    let says_more = |notice: &str| notice.contains(" line") || notice.contains(" Use offset=");
    let notice = text
        .rsplit_once("\n\n[")
        .filter(|(_, notice)| notice.ends_with(']') && !notice.contains('\n') && says_more(notice));
    match notice {
        Some((shown, _)) => (shown, true),
        // `[Line 1 is 80KB, exceeds the limit …]` shows nothing of the file.
        None if is_cut => (if text.starts_with('[') { "" } else { text }, true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_notice_that_a_file_has_more_is_no_line_of_it() {
        let none = Value::Null;
        let cut = json!({ "truncation": { "truncated": true } });
        for (text, details, expected) in [
            ("a\nb", &none, ("a\nb", false)),
            ("a\n\n[8 more lines in file. Use offset=2 to continue.]", &none, ("a", true)),
            // OpenClaw's wording.
            (
                "a\n\n[Read output capped at 50KB for this call. Use offset=2 to continue.]",
                &cut,
                ("a", true),
            ),
            (
                "a\n\n[Read output capped at 50KB for this call. Use offset=1, cursor=9 to continue.]",
                &cut,
                ("a", true),
            ),
            ("a\n\n[x]", &none, ("a\n\n[x]", false)),
            ("[Line 1 is 80KB, exceeds the limit]", &cut, ("", true)),
        ] {
            assert_eq!(without_notice(text, details), expected, "{text:?}");
        }
    }
}
