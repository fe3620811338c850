//! The whole of an output that the host cut: it stands in a temporary file, which the host names in the result's details.
//! Read when the result comes in, before the file can vanish.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Ingest;
use crate::context::host::HostMessage;
use crate::live::journal::FULL_OUTPUT;
use crate::object::Hash;
use crate::session::{Cut, LineRange};
use crate::source::FileState;

/// What begins the notice that the host puts behind what is left of an output.
const NOTICE: &str = "\n\n[Showing ";

impl Ingest<'_> {
    /// The whole output of a call, to be stored beside what was shown, and what was shown of it. The field `full_output` says where it was and how long
    /// it is; where it is not stored, `no_content` says why: `too_large`, `binary`, `deleted`, or `differs`, if what was shown
    /// does not stand in it, since another extension may have taken something out.
    pub(super) fn full_output(
        &self,
        message: &HostMessage,
        fields: &mut Map<String, Value>,
    ) -> Option<(String, Option<Cut>)> {
        let path = Path::new(message.details.get("fullOutputPath").and_then(Value::as_str)?);
        let limit = self.options.settings.max_output_bytes;
        let (text, size, missing) = match self.workspace.disk().read_host_file(path, limit)? {
            FileState::Text { text, .. } if place_in(&text, &message.text()).is_some() => {
                let size = text.len() as u64;
                (Some(text), Some(size), None)
            }
            FileState::Text { text, .. } => (None, Some(text.len() as u64), Some("differs")),
            FileState::Binary { size, .. } => (None, Some(size), Some("binary")),
            FileState::TooLarge { size } => (None, Some(size), Some("too_large")),
            FileState::Missing => (None, None, Some("deleted")),
            FileState::NotAFile
            | FileState::Unreadable { .. }
            | FileState::Excluded { .. }
            | FileState::NotRead => return None,
        };
        let mut told = Map::from_iter([("path".to_owned(), json!(path))]);
        told.extend(size.map(|size| ("size_bytes".to_owned(), json!(size))));
        told.extend(missing.map(|reason| ("no_content".to_owned(), json!(reason))));
        fields.insert(FULL_OUTPUT.into(), Value::Object(told));
        text.map(|text| {
            let cut = cut_of(&text, &message.text());
            (text, cut)
        })
    }
}

/// What was shown, but for the notice behind it.
fn without_notice(shown: &str) -> &str {
    shown.rfind(NOTICE).map_or(shown, |at| &shown[..at]).trim_end()
}

/// Where in the whole the shown part stands; hosts show the end of an output. `None` if it does not stand there.
fn place_in(whole: &str, shown: &str) -> Option<usize> {
    whole.rfind(without_notice(shown))
}

/// What the shown part is of the whole.
fn cut_of(whole: &str, shown: &str) -> Option<Cut> {
    let start = place_in(whole, shown)?;
    let shown = without_notice(shown);
    let breaks = |text: &str| text.matches('\n').count() as u64;
    let before = breaks(&whole[..start]);
    let begins_line = start == 0 || whole.as_bytes().get(start - 1) == Some(&b'\n');
    let rest = &whole[start + shown.len()..];
    let ends_line = rest.is_empty() || rest.starts_with(['\n', '\r']);
    let lines = LineRange { first: before + 1, last: before + 1 + breaks(shown) };
    let is_shown = begins_line && ends_line && !shown.is_empty();
    let all = breaks(whole) + 1;
    Some(Cut {
        text: Hash::of(whole),
        lines: all,
        ends_line: whole.ends_with('\n'),
        before,
        shown: is_shown.then_some(lines),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_placed_by_lines_of_the_whole() {
        let whole = "a\nb\nc\nb\nc\n";
        for (shown, before, lines) in [
            ("b\nc\n\n[Showing lines 4-5 of 5. Full output: /tmp/x]", 3, Some((4, 5))),
            ("a\nb", 0, Some((1, 2))),
            ("", 5, None),
        ] {
            let cut = cut_of(whole, shown).unwrap();
            let lines = lines.map(|(first, last)| LineRange { first, last });
            assert_eq!((cut.lines, cut.before, cut.shown), (6, before, lines), "{shown}");
        }
        let cut = cut_of("first\na long line", "long line\n\n[Showing last 9B of line 2]").unwrap();
        assert_eq!((cut.before, cut.shown), (1, None));
        assert_eq!(cut_of(whole, "d"), None);
    }
}
