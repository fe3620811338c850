//! The full text of an output that the host cut. It is in a temporary file, which the host names in
//! the result's details, and is read when the result comes in, before the file can vanish.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::LiveSession;
use crate::journal::FULL_OUTPUT;
use crate::workspace::is_temporary;
use base::harness::{
    Call, ToldPart, ToolKind, before_notice, missing_middles, told_file, told_part, within_ends,
};
use base::object::{Hash, newlines};
use context::host::HostMessage;
use session::{Cut, Gap, LineRange};
use source::FileState;

/// Least bytes of the end of a file that prove it to be the whole of an output. Hosts show 50 KB or
/// 2,000 lines of what they cut.
const PROOF_BYTES: usize = 1_000;

impl LiveSession {
    /// The full output of a call, to be stored besides the shown part, and which part was shown.
    /// The field `full_output` says where it was and how long it is. If it is not stored,
    /// `no_content` says why: `too_large`, `binary`, `deleted`, or `differs` if the shown text is
    /// not part of it, since another extension may have removed something.
    pub(super) fn full_output(
        &self,
        call: Call<'_>,
        message: &HostMessage,
        fields: &mut Map<String, Value>,
    ) -> Option<(String, Cut)> {
        let named = message.details.get("fullOutputPath").and_then(Value::as_str);
        let shown = message.text();
        let may_tell = self.may_tell_file(call, message);
        let told = Some(&*shown).filter(|_| may_tell && named.is_none()).and_then(file_told);
        let path = Path::new(named.or(told)?);
        let limit = self.options.settings.max_output_bytes;
        let (whole, size, missing) = match self.disk.read_host_file(path, limit)? {
            FileState::Text { text, .. } => {
                let size = text.len() as u64;
                let cut = cut_of(&text, &shown, &path.to_string_lossy());
                match cut.filter(|cut| named.is_some() || is_proven(&text, cut, &shown)) {
                    Some(cut) => (Some((text, cut)), Some(size), None),
                    None => (None, Some(size), Some("differs")),
                }
            }
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
        whole
    }

    /// Whether the text of a result may name the file of the whole. Hosts do so in the text alone
    /// where a command failed. A program can print such words too, and must not reach with them
    /// what its sandbox or a confined session keeps from it.
    fn may_tell_file(&self, call: Call<'_>, message: &HostMessage) -> bool {
        message.has_failed()
            && matches!(call.kind(), ToolKind::Shell(_))
            && self.disk.is_here()
            && !self.state().is_confined()
    }
}

/// The file of the whole as the text names it, which is a temporary one.
fn file_told(text: &str) -> Option<&str> {
    told_part(text)?;
    told_file(text).filter(|path| is_temporary(Path::new(path)))
}

/// Whether a file that the text alone names is the whole: the lines that the text says it shows are
/// the end of it, and are too many to be guessed. Without the middle no host shows an output whose
/// file only the text names.
fn is_proven(whole: &str, cut: &Cut, shown: &str) -> bool {
    let end = before_notice(shown).trim();
    let lines = cut.lines - u64::from(cut.ends_line);
    let is_as_told = match told_part(shown) {
        Some(ToldPart::Lines { first, last, of }) => {
            // A part is found without the blank lines at its end.
            let part = before_notice(shown);
            let blank = newlines(part) - newlines(part.trim_end());
            let found = LineRange { first, last: last.saturating_sub(blank) };
            last == of && lines == of && cut.shown == Some(found)
        }
        Some(ToldPart::EndOfLast { of }) => lines == of && cut.before + 1 == of,
        Some(ToldPart::Ends { .. }) | None => false,
    };
    is_as_told && end.len() >= PROOF_BYTES && whole.trim_end().ends_with(end)
}

/// Which part of the output of a call was shown, as far as the host says so in the text itself. A
/// part of a file is what a read asked for.
pub(super) fn told_cut(call: Call<'_>, message: &HostMessage) -> Option<Cut> {
    if message.withheld.is_some() || call.kind() == ToolKind::Read {
        return None;
    }
    let cut = |lines, before, shown, gap| Cut { lines, before, shown, gap, ..Cut::default() };
    Some(match told_part(&message.text())? {
        ToldPart::Lines { first, last, of } => {
            cut(of, first - 1, Some(LineRange { first, last }), None)
        }
        ToldPart::EndOfLast { of } => cut(of, of - 1, None, None),
        ToldPart::Ends { of, above, line, behind } => {
            cut(of, 0, None, Some(Gap { above, line, resumes: of - behind }))
        }
    })
}

/// The part of the full output that was shown, and its position; `None` if it does not occur.
fn part_of<'a>(whole: &str, shown: &'a str, path: &str) -> Option<(usize, &'a str)> {
    let parts = [Some(shown.trim_end()), without_notice(shown, path)];
    parts.into_iter().flatten().find_map(|part| Some((place_in(whole, part)?, part)))
}

/// The shown text without the bracketed notice after it: Pi's own, or another extension's that
/// names the file.
fn without_notice<'a>(shown: &'a str, path: &str) -> Option<&'a str> {
    let (part, notice) = shown.split_at(shown.rfind("\n\n[")?);
    let is_notice = before_notice(shown) == part || (!path.is_empty() && notice.contains(path));
    is_notice.then(|| part.trim_end())
}

/// Position of a part in the full output: hosts show the end of an output or its beginning.
fn place_in(whole: &str, part: &str) -> Option<usize> {
    let is_start = whole.starts_with(part) && !whole.trim_end().ends_with(part);
    if is_start { Some(0) } else { whole.rfind(part) }
}

/// Which part of the full output, in the file at `path`, was shown: its end, its beginning, or all
/// but its middle. `None` if the shown text does not occur in it.
fn cut_of(whole: &str, shown: &str, path: &str) -> Option<Cut> {
    let (before, characters, lines, gap) = match part(whole, shown, path) {
        Some((before, characters, lines)) => (before, characters, lines, None),
        None => (0, 0, None, Some(gap_in(whole, shown)?)),
    };
    Some(Cut {
        text: Some(Hash::of(whole)),
        lines: newlines(whole) + 1,
        ends_line: whole.ends_with('\n'),
        before,
        characters,
        shown: lines,
        gap,
    })
}

/// The number of lines before a part that is shown, of characters before it in its first line, and
/// the lines that it is, if they are whole.
fn part(whole: &str, shown: &str, path: &str) -> Option<(u64, u64, Option<LineRange>)> {
    let (start, shown) = part_of(whole, shown, path)?;
    let before = newlines(&whole[..start]);
    let line = whole[..start].rfind('\n').map_or(0, |end| end + 1);
    let characters = whole[line..start].chars().count() as u64;
    let rest = &whole[start + shown.len()..];
    let ends_line = rest.is_empty() || rest.starts_with(['\n', '\r']);
    let lines = LineRange { first: before + 1, last: before + 1 + newlines(shown) };
    let is_shown = characters == 0 && ends_line && !shown.is_empty();
    Some((before, characters, is_shown.then_some(lines)))
}

/// Finds the missing middle: the full output begins with the text before that place and ends with
/// the text after it.
fn gap_in(whole: &str, shown: &str) -> Option<Gap> {
    let (start, end) = within_ends(shown)?;
    missing_middles(&shown[start..end]).find_map(|missing| {
        let (at, behind) = (start + missing.start, start + missing.end);
        let (first, last) = (&shown[start..at], &shown[behind..end]);
        let is_it = first.len() + last.len() <= whole.len()
            && whole.starts_with(first)
            && whole.ends_with(last);
        is_it.then(|| Gap {
            above: newlines(&shown[..start]),
            line: newlines(&shown[..at]) + 1,
            resumes: newlines(&whole[..whole.len() - last.len()]) + 1,
        })
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
            (
                "b\nc\n\n[Output truncated: 2 of 5 lines. Full output saved to: /tmp/x]",
                3,
                Some((4, 5)),
            ),
            ("a\nb", 0, Some((1, 2))),
            ("", 5, None),
        ] {
            let cut = cut_of(whole, shown, "/tmp/x").unwrap();
            let lines = lines.map(|(first, last)| LineRange { first, last });
            assert_eq!((cut.lines, cut.before, cut.shown), (6, before, lines), "{shown}");
        }
        let cut = |whole, shown| cut_of(whole, shown, "/tmp/x");
        let long = cut("first\na long line", "long line\n\n[Showing last 9B of line 2]").unwrap();
        assert_eq!((long.before, long.characters, long.shown), (1, 2, None));
        // The beginning, where that is shown, and what only looks like a notice.
        assert_eq!(cut("a\na\nb\n", "a\n\n[1 of 3 lines, see /tmp/x]").unwrap().before, 0);
        let own = cut("a\n\n[1]\nb\n", "a\n\n[1]").unwrap();
        assert_eq!(own.shown, Some(LineRange { first: 1, last: 3 }));
        for changed in ["d", "a\n\n[the rest is nobody's business]", "\n\n[gone]"] {
            assert_eq!(cut(whole, changed), None, "{changed}");
        }
    }

    #[test]
    fn lines_keep_their_numbers_where_the_middle_is_missing() {
        let lines: Vec<String> = (1..=100).map(|n| format!("line {n}\n")).collect();
        let whole = lines.concat();
        let cut = |shown: &str| cut_of(&whole, shown, "/tmp/x.txt");
        let head =
            "Warning: truncated output (original token count: 9)\nTotal output lines: 100\n\n";
        let notice = "\n\n[Full output: /tmp/x.txt (read it with offset/limit)]";
        // Shown lines 4 and 5 are lines 1 and 2; in line 6 the middle is missing; line 7 is line
        // 99.
        let shown = format!(
            "{head}line 1\nline 2\nlin…700 chars truncated… 98\nline 99\nline 100\n{notice}"
        );
        let found = cut(&shown).unwrap();
        assert_eq!((found.lines, found.ends_line, found.shown), (101, true, None));
        assert_eq!(found.gap, Some(Gap { above: 3, line: 6, resumes: 98 }));
        let range = |first, last| LineRange { first, last };
        for (here, there) in [
            (range(1, 3), range(1, 1)),
            (range(4, 5), range(1, 2)),
            (range(5, 6), range(2, 98)),
            (range(6, 6), range(3, 98)),
            (range(6, 7), range(3, 99)),
            (range(8, 8), range(100, 100)),
        ] {
            assert_eq!(found.numbering().place(here), there, "{here}");
        }
        assert_eq!(found.ranges(), [range(1, 2), range(99, 101)]);
        // What a script printed has lines of the host's above and, where it failed, behind.
        let script = format!("Script completed\nWall time 0.1 seconds\nOutput:\n\n{shown}\nmore");
        assert_eq!(cut(&script).unwrap().gap, Some(Gap { above: 7, line: 10, resumes: 98 }));
        // A marker of the output's own is passed over, and a text that does not stand there is
        // none.
        let own = "a…1 chars truncated…b\nmiddle\nend";
        let shown = format!("{head}a…1 chars truncated…b\nm…4 chars truncated…\nend{notice}");
        assert_eq!(
            cut_of(own, &shown, "/tmp/x.txt").unwrap().gap,
            Some(Gap { above: 3, line: 5, resumes: 2 })
        );
        for wrong in [
            "line 1\nline 3",
            "line 1…8 chars truncated…line 100",
            "…8 chars truncated…\nline 100\n",
            "line 1\n…8 chars truncated…",
            "…8 chars truncated…",
            "",
        ] {
            assert_eq!(cut(&format!("{head}{wrong}{notice}")), None, "{wrong}");
        }
        assert_eq!(cut("Total output lines: 3\n\n[Full output: x]"), None);
    }
}
