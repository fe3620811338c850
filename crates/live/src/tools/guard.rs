//! Keeps our own lines out of the user's files: models copy what they see, and a line that stands
//! for content has replaced the content in a file before.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::LiveSession;
use base::error::Result;
use base::harness::{Call, ToolKind};
use context::log_layout::Texts;
use context::stand_ins::{core_of, may_hold_stand_in, stand_ins, unquoted};
use context::view::Slot;
use session::{ResultFact, Subject, Treatment};
use source::names_in;

/// Most files named in a command or in arguments that are searched for a line.
const MAX_TARGETS: usize = 32;

impl LiveSession {
    /// Why a call must not run: what it writes holds a line that we put into this window in place of
    /// content, and the file does not hold that line. `None` for everything else.
    pub fn check_write(&self, tool: &str, args: &Value) -> Result<Option<String>> {
        let _bounded = self.bounded();
        let call = Call::new(tool, args);
        let texts =
            if self.state().is_own_tool(tool) { Vec::new() } else { call.texts_for_files() };
        let suspects = texts.into_iter().filter(|text| may_hold_stand_in(text)).map(unquoted);
        let suspects: Vec<String> = suspects.collect();
        if suspects.is_empty() {
            return Ok(None);
        }
        let ours = self.lines_in_place_of_content()?;
        let is_written = |core: &String| suspects.iter().any(|text| text.contains(core));
        let written = ours.iter().map(|line| (line, core_of(line)));
        let written: Vec<(&String, String)> =
            written.filter(|(_, core)| is_written(core)).collect();
        if written.is_empty() {
            return Ok(None);
        }
        let held: Vec<String> = self.targets(call)?.iter().map(|text| unquoted(text)).collect();
        for (line, core) in written {
            let is_held = held.iter().any(|text| text.contains(&core));
            if !is_held && !self.is_of_an_output(line)? {
                return Ok(Some(refusal(call, line)));
            }
        }
        Ok(None)
    }

    /// Lines of this window that we rendered in place of content.
    fn lines_in_place_of_content(&self) -> Result<BTreeSet<String>> {
        let contents = self.request.view.slots.iter().filter_map(Slot::content);
        let blocks = contents
            .flat_map(|content| serde_json::from_str::<Vec<Value>>(content).unwrap_or_default());
        let mut lines = BTreeSet::new();
        for block in blocks {
            let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
            lines.extend(stand_ins(text).map(str::to_owned));
        }
        for text in self.failed_edits().chain(self.segments()) {
            lines.extend(stand_ins(&text).map(str::to_owned));
        }
        self.answers(&mut lines)?;
        Ok(lines)
    }

    /// The standing segments: they have lines for tool results.
    fn segments(&self) -> impl Iterator<Item = Arc<str>> {
        self.state().all_showings().filter_map(|showing| {
            let entry = self.state().index().get(&showing.object)?;
            let is_segment = matches!(entry.subject, Subject::Segment { .. });
            is_segment.then(|| self.journal.text(&showing.object, &showing.version).ok())?
        })
    }

    /// The answers to failed edits: the host shows them, and they contain lines of ours.
    fn failed_edits(&self) -> impl Iterator<Item = Arc<str>> {
        self.state().shown_window().filter_map(|(at, _)| {
            let fact = self.state().result(at)?;
            let is_shown = *self.state().treatment(at) != Treatment::Reference;
            let is_failed_edit = !fact.ok && is_edit(&fact.tool);
            let object = fact.object.as_ref().filter(|_| is_shown && is_failed_edit)?;
            let Subject::Toolcall { version, .. } = self.state().subject(object)? else {
                return None;
            };
            self.journal.text(object, version).ok()
        })
    }

    /// The headings of our own tools' answers, and their lines that count what is not shown.
    fn answers(&self, lines: &mut BTreeSet<String>) -> Result<()> {
        let state = self.state();
        for (at, message) in state.shown_window() {
            if !state.result(at).is_some_and(ResultFact::is_own) {
                continue;
            }
            let brings = |call: &String| state.effects(call).next().is_some();
            let is_content = message.key.calls.first().is_some_and(brings);
            let answer = self.journal.message(at)?;
            let text = answer.text();
            let heading = text.lines().next().unwrap_or_default();
            let is_ours = |line: &&str| !is_content || *line == heading || line.starts_with('…');
            lines.extend(stand_ins(&text).filter(is_ours).map(str::to_owned));
        }
        Ok(())
    }

    /// Whether a tool printed a line itself, as a file about this program may hold it.
    fn is_of_an_output(&self, line: &str) -> Result<bool> {
        let state = self.state();
        for (at, _) in state.shown_window() {
            let is_output =
                |fact: &&ResultFact| !fact.is_own() && (fact.ok || !is_edit(&fact.tool));
            let fact = state.result(at).filter(is_output);
            if fact.is_some() && self.journal.message(at)?.text().contains(line) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The texts of the files that a call changes, as far as it names them.
    fn targets(&self, call: Call<'_>) -> Result<Vec<String>> {
        let mut named: Vec<String> =
            call.touches().into_iter().map(|touch| touch.path.to_owned()).collect();
        if let Some(line) = call.command() {
            let found = names_in(&line, &self.disk.folder_of(call));
            let paths = found.paths.iter().filter_map(|path| path.to_str().map(str::to_owned));
            named.extend(paths.chain(found.words.into_iter().map(|word| word.text)));
        } else if named.is_empty() {
            let texts = call.texts_for_files().into_iter();
            named.extend(texts.filter(|text| !text.contains('\n')).map(str::to_owned));
        }
        let mut texts = Vec::new();
        for path in named.iter().filter(|path| self.disk.exists(path)).take(MAX_TARGETS) {
            texts.extend(self.disk.text_to_compare(path)?);
        }
        Ok(texts)
    }
}

fn refusal(call: Call<'_>, line: &str) -> String {
    let done = match call.kind() {
        ToolKind::Write | ToolKind::Edit => "Nothing was written",
        _ => "The call did not run",
    };
    format!(
        "`{line}` is not text of the file: it stands for lines that are not shown here. \
         {done}. Activate it to see them, then give the real lines."
    )
}

fn is_edit(tool: &str) -> bool {
    Call::new(tool, &Value::Null).kind() == ToolKind::Edit
}
