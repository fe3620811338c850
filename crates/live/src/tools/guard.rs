//! Keeps our own lines out of the user's files: models copy what they see, and a line that stands
//! for content has replaced the content in a file before.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::journal::Journal;
use crate::request::Request;
use crate::workspace::Disk;
use base::error::Result;
use base::harness::{Call, ToolKind};
use context::log_layout::Texts;
use context::view::Slot;
use session::{Subject, Treatment};

/// The form from `forms.rs` that stands inside a line for a part of it.
static CUT: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"… [\d,]+ characters? between \([tf]\d+:\d+\) …";
    Regex::new(form).expect("a constant that a test compiles")
});

/// The forms from `forms.rs` that stand in place of content.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = r#"^(\[[tfs]\d+(-[tfs]\d+)?\] .*|… [\d,]+ \w+ (between \([tfs]\d+:[\d-]+\) |as in [tf]\d+:[\d-]+( \(t\d+\))?(, from "[^\n]*")? )?…|… [\d,]+ more changed lines? in f\d+ …|[tfs]\d+ unchanged; line.*)$"#;
    Regex::new(forms).expect("a constant that a test compiles")
});

/// The inputs for checking a write.
pub(crate) struct Guard<'a> {
    /// Holds the texts of failed edits.
    pub(crate) journal: &'a Journal,
    /// Reads the file to be written.
    pub(crate) disk: &'a Disk,
    /// Holds the lines that stand in the window.
    pub(crate) request: &'a Request,
}

impl Guard<'_> {
    /// Why a call that writes or edits must not run: its text holds a line that we put into this
    /// window in place of content, and the file does not hold that line. `None` for everything
    /// else.
    pub(crate) fn refuse_write(&self, tool: &str, args: &Value) -> Result<Option<String>> {
        let call = Call::new(tool, args);
        let texts = call.new_texts();
        let suspects: Vec<&str> = texts.iter().flat_map(|text| marks(text)).collect();
        if suspects.is_empty() {
            return Ok(None);
        }
        let ours = self.lines_in_place_of_content();
        let held = self.lines_of_targets(call)?;
        let found = suspects.into_iter().find(|line| ours.contains(*line) && !held.contains(*line));
        Ok(found.map(|line| {
            format!(
                "`{line}` is no text of the file: it stands for lines that are not shown here. \
                 Nothing was written. Activate it to see them, then give the real lines."
            )
        }))
    }

    /// Lines of this window that we rendered in place of content.
    fn lines_in_place_of_content(&self) -> HashSet<String> {
        let contents = self.request.view().slots().iter().filter_map(Slot::content);
        let blocks = contents
            .flat_map(|content| serde_json::from_str::<Vec<Value>>(content).unwrap_or_default());
        let mut lines = HashSet::new();
        for block in blocks {
            let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
            lines.extend(marks(text).map(str::to_owned));
        }
        for text in self.failed_edits().chain(self.segments()) {
            lines.extend(marks(&text).map(str::to_owned));
        }
        lines
    }

    /// The standing segments: they have lines for tool results.
    fn segments(&self) -> impl Iterator<Item = Arc<str>> {
        self.journal.state().all_showings().filter_map(|showing| {
            let entry = self.journal.state().index().get(&showing.object)?;
            let is_segment = matches!(entry.subject, Subject::Segment { .. });
            is_segment.then(|| self.journal.text(&showing.object, &showing.version).ok())?
        })
    }

    /// The answers to failed edits: the host shows them, and they contain lines of ours.
    fn failed_edits(&self) -> impl Iterator<Item = Arc<str>> {
        self.journal.state().shown_window().filter_map(|(at, _)| {
            let fact = self.journal.state().result(at)?;
            let is_shown = *self.journal.state().treatment(at) != Treatment::Reference;
            let is_failed_edit = !fact.ok && is_edit(&fact.tool);
            let object = fact.object.as_ref().filter(|_| is_shown && is_failed_edit)?;
            let Subject::Toolcall { version, .. } =
                &self.journal.state().index().get(object)?.subject
            else {
                return None;
            };
            self.journal.text(object, version).ok()
        })
    }

    /// Lines in a form of ours in the files that a call changes.
    fn lines_of_targets(&self, call: Call<'_>) -> Result<HashSet<String>> {
        let mut lines = HashSet::new();
        for touch in call.touches() {
            let text = self.disk.text_to_compare(touch.path)?;
            lines.extend(marks(text.as_deref().unwrap_or_default()).map(str::to_owned));
        }
        Ok(lines)
    }
}

/// The parts of a text that have a form of ours: whole lines, and marks inside lines that stand for
/// a part.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.lines().map(str::trim).filter(|line| FORMS.is_match(line));
    whole.chain(CUT.find_iter(text).map(|found| found.as_str()))
}

fn is_edit(tool: &str) -> bool {
    Call::new(tool, &Value::Null).kind() == ToolKind::Edit
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::object::Handle;
    use context::forms;
    use session::{LineRange, ResultFact};

    #[test]
    fn every_form_that_stands_for_content_is_known_and_code_is_not() {
        let handle = |name| Handle::parse(name).unwrap();
        let range = LineRange { first: 81, last: 1_320 };
        let lines = [
            forms::output_line(handle("t17"), &ResultFact::for_tests("a")),
            forms::showing_line(Some(handle("t12")), handle("f3"), "src/main.rs", &[range]),
            forms::standing_line(handle("f3"), range, "read", Some(handle("t12"))),
            forms::between_line(handle("t17"), range),
            forms::as_in_line(handle("t12"), range, None, None),
            forms::as_in_line(handle("f3"), range, Some(handle("t12")), None),
            forms::as_in_line(handle("t12"), range, None, Some("say \"hi\"")),
            forms::as_in_line(handle("f3"), range, Some(handle("t12")), Some("fn main() {")),
            forms::fold_line(
                (handle("t31"), handle("t44")),
                handle("s2"),
                6,
                &["read f3".to_owned()],
            ),
            forms::compacted_line(handle("s2"), (1, 4), 212),
            forms::segment_line(handle("s2"), (3, 3), &[range]),
            forms::moved_line(handle("f3"), "src/a.rs", "src/b.rs", None),
            forms::moved_changed_line(handle("f3"), ("a", "b", None), Some(handle("t12")), (4, 1)),
            forms::out_of_reach_line(handle("f3"), "src/main.rs", Some(handle("t12"))),
            forms::within_reach_line(handle("f3"), "src/main.rs", None),
            forms::all_changed_line(&[(handle("f3"), "a".into()), (handle("f4"), "b".into())], 3),
            forms::bytes_changed_line(handle("f3"), "a.png", Some(handle("t12")), 18_240),
            forms::bytes_gone_line(handle("f3"), "a.png"),
            forms::bytes_back_line(handle("f3"), "a.png", 18_240),
            forms::again_line((handle("f9"), "src/a.rs"), (handle("f3"), "src/b.rs")),
            format!("… {} …", forms::count(1_240, "line")),
            forms::more_changes_line(handle("f3"), 31),
            forms::more_changes_line(handle("f3"), 1),
            forms::nearest_line(handle("f3"), "src/main.rs", range, "oldText"),
            forms::places_line(handle("f3"), "src/main.rs", "edits[1].oldText", &[range], 2),
        ];
        for line in lines {
            assert_eq!(marks(&format!(" {line}\n")).collect::<Vec<_>>(), [line]);
        }
        let cut = forms::long_line_cut(handle("f3"), 81, 3_100);
        assert_eq!(marks(&format!("let x = {cut} + 1;")).collect::<Vec<_>>(), [cut]);
        for line in ["let x = [t1];", "[t] x", "// … 3 lines", "t1 = 5", "[f3]"] {
            assert!(!FORMS.is_match(line), "{line}");
        }
    }
}
