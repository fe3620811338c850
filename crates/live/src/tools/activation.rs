//! The tools `activate`, `deactivate`, `pin` and `unpin`.

use std::sync::Arc;

use regex::Regex;

use super::Tools;
use base::error::{Error, Result};
use base::object::{Handle, HandleKind, Hash, Name, ObjectId, VersionSelector, quote};
use config::{Layout, Settings};
use context::forms;
use context::host::image_units;
use context::log_layout::{Texts, counted_of, headed_lines};
use context::tokens::{self, Counter};
use session::{
    ActiveView, Cut, Effect, Event, FaultKind, LineRange, Shows, Subject, merge_ranges,
    parse_ranges,
};

/// Lines shown before and after each line that matches a pattern.
const PATTERN_CONTEXT: u64 = 2;

/// What to activate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the object.
    pub name: String,
    /// Lines: `40-80`, `7`, or several, separated by commas.
    pub lines: Option<String>,
    /// Regular expression: selects the matching lines, with two lines around each.
    pub pattern: Option<String>,
}

/// A text to show, with its name.
pub(super) struct Shown {
    pub(super) object: ObjectId,
    pub(super) version: Hash,
    pub(super) handle: Handle,
    /// In our words; quoted parts are quoted.
    pub(super) name: String,
    pub(super) text: Arc<str>,
    pub(super) default: Vec<LineRange>,
    /// For a segment, an outline of its messages, for use if there is no room for all of it.
    pub(super) outline: Option<String>,
}

impl Tools<'_> {
    /// Activates an object, and pins it if `pin` is set. Returns the answer for the model: the
    /// content in `log`, a line in `pools`, where the content stands in its own place. A refusal
    /// may have recorded what a look at the file found.
    ///
    /// `call`: ID of the tool call; empty for a user's command.
    ///
    /// # Errors
    /// As [`LiveSession::activate`](crate::LiveSession::activate).
    pub(crate) fn activate(&mut self, call: &str, wanted: &Wanted, pin: bool) -> Result<String> {
        let name = Name::parse(&wanted.name)?;
        let picks = wanted.lines.is_some() || wanted.pattern.is_some();
        let subject = match self.subject_named(&name, picks)? {
            Ok(subject) => subject,
            Err(reason) => return Ok(reason),
        };
        let lines = subject.text.split('\n').count() as u64;
        let ranges = match select(&subject, wanted, lines)? {
            Ok(ranges) => ranges,
            Err(reason) => return Ok(reason),
        };
        let whole = ranges == [LineRange { first: 1, last: lines }];
        // What the user asks for comes in a note, without images. Pinned content that already
        // stands is not repeated.
        let comes = !pin || self.standing_tokens(&subject.object) == 0;
        let is_note = comes && call.is_empty() && self.options.settings.layout == Layout::Log;
        let images = if whole && !is_note { self.images_with(&subject)? } else { 0 };
        let mut name = match images {
            0 => subject.name,
            some => format!("{} · {}", subject.name, forms::count(some, "image")),
        };
        // A session's calls and segments are its own, wherever it was before.
        if subject.handle.kind == HandleKind::File
            && let Some(store) = self.journal.store().elsewhere(&subject.object)?
        {
            name.push_str(&forms::from_elsewhere(&store));
        }
        let (counted, all) = counted_of(&subject.text, &ranges, true);
        let heading = forms::activated_line(subject.handle, &name, &counted, all);
        let shown = headed_lines(&heading, &subject.text, &ranges);
        let tokens = tokens::count(&shown) + images * image_units(Counter::Bundled);
        match (self.require_room(&wanted.name, tokens, pin), subject.outline) {
            (Err(Error::NoRoom { .. }), Some(outline)) if whole && !pin => return Ok(outline),
            (room, _) => room?,
        }
        let view = if whole { ActiveView::Whole } else { ActiveView::Lines(ranges.clone()) };
        if !call.is_empty() && self.left_pools(&subject.object) {
            self.journal.record(Event::Missed { kind: FaultKind::Asked, at: None, tokens });
        }
        self.journal.record(Event::Activated {
            object: subject.object,
            version: subject.version,
            view,
            pin,
            call: call.to_owned(),
            ranges,
            tokens,
            heading: is_note.then(|| heading.clone()),
        });
        if self.options.settings.layout == Layout::Pools {
            return Ok(format!("done: {}, {}", heading, forms::count(tokens, "token")));
        }
        Ok(shown)
    }

    /// Whether an object's content stood in the layout `pools` and does not any more. In `log` the
    /// state itself tells.
    fn left_pools(&self, object: &ObjectId) -> bool {
        let Settings { layout, active_per_turn, active_turns, .. } = self.options.settings;
        let state = self.journal.state();
        let stood = state.fact_of(object).is_some() || state.seen(object).is_some();
        let active = state.active_by_window(active_per_turn, active_turns);
        layout == Layout::Pools && stood && active.iter().all(|active| active.id != *object)
    }

    /// Records that the model asked for what had left, if it did and was refused. `answer`: what it
    /// got instead of an error.
    pub(crate) fn note_refusal(&mut self, call: &str, wanted: &Wanted, answer: Option<&String>) {
        let is_answered = |effect: &Effect| matches!(effect, Effect::Activated(..));
        if call.is_empty() || self.journal.state().effects(call).any(is_answered) {
            return;
        }
        let named = Name::parse(&wanted.name).and_then(|name| self.find(&name));
        let Ok(object) = named else { return };
        let object = self.shown_file(&object).map_or(object, |(file, ..)| file);
        let whole = LineRange { first: 1, last: u64::MAX };
        if self.journal.state().had_left(&object, &[whole]) || self.left_pools(&object) {
            let tokens = answer.map_or(0, |answer| tokens::count(answer));
            self.journal.record(Event::Missed { kind: FaultKind::Asked, at: None, tokens });
        }
    }

    /// Number of images shown with the whole text of an object.
    fn images_with(&self, subject: &Shown) -> Result<u64> {
        if !self.options.images_leave() {
            return Ok(0);
        }
        Ok(self.journal.images(&subject.object, &subject.version)?.len() as u64)
    }

    /// Deactivates an object, which unpins it. One that is already inactive leaves the metadata
    /// pool.
    pub(crate) fn deactivate(&mut self, name: &str) -> Result<String> {
        let object = self.find(&Name::parse(name)?)?;
        if self.journal.state().sets().is_deactivated(&object) {
            return Ok(self.leave_pool_with(object));
        }
        let tokens = self.standing_tokens(&object);
        let label = self.label(&object);
        self.journal.record(Event::Deactivated { object });
        Ok(format!("done: {label}, {}", forms::count(tokens, "token")))
    }

    /// Removes an object from the metadata pool: it is only indexed until it is activated or
    /// brought back.
    pub(crate) fn leave_pool(&mut self, name: &str) -> Result<String> {
        let object = self.find(&Name::parse(name)?)?;
        Ok(self.leave_pool_with(object))
    }

    fn leave_pool_with(&mut self, object: ObjectId) -> String {
        let label = self.label(&object);
        if !self.journal.state().sets().is_indexed_only(&object) {
            self.journal.record(Event::LeftPool { object });
        }
        format!("done: {label} is in the session index only; activate brings it back")
    }

    /// Brings an object back into the metadata pool; its content stays inactive.
    pub(crate) fn enter_pool(&mut self, name: &str) -> Result<String> {
        let object = self.find(&Name::parse(name)?)?;
        let label = self.label(&object);
        if self.journal.state().sets().is_indexed_only(&object) {
            self.journal.record(Event::EnteredPool { object });
        }
        Ok(format!("done: {label}"))
    }

    /// Unpins an object; it stays active.
    pub(crate) fn unpin(&mut self, name: &str) -> Result<String> {
        let object = self.find(&Name::parse(name)?)?;
        let label = self.label(&object);
        let object = self.shown_file(&object).map_or(object, |(file, ..)| file);
        self.journal.record(Event::Unpinned { object });
        Ok(format!("done: {label}"))
    }

    /// The text that activating an object shows; a sentence if it has none.
    ///
    /// `picks`: whether lines or a pattern are asked for; these reach the full text of an output
    /// that the host cut.
    pub(super) fn subject(
        &mut self,
        object: &ObjectId,
        version: VersionSelector,
        picks: bool,
    ) -> Result<Result<Shown, String>> {
        if let Some((file, range, seen)) = self.shown_file(object) {
            if version != VersionSelector::Latest {
                let (read, file) = (self.label(object), self.label(&file));
                let problem = format!("asks for a version of {read}, which shows lines of {file}");
                return Err(Error::argument(
                    "name",
                    format!("{problem}: name a version of {file}"),
                ));
            }
            return self.file_subject(&file, VersionSelector::Latest, Some((range, seen)));
        }
        match self.journal.state().index().get(object).map(|entry| entry.subject.clone()) {
            Some(Subject::Toolcall { tool, version: mut known, .. }) => {
                let handle = self.handle_of(object)?;
                let mut name = quote::name(&tool).into_owned();
                let whole = self.whole_of(object, version, picks)?;
                if let Some((cut, text)) = whole {
                    return Ok(Ok(Shown {
                        object: object.clone(),
                        default: cut.ranges(),
                        version: cut.text,
                        handle,
                        name,
                        text,
                        outline: None,
                    }));
                }
                if version != VersionSelector::Latest {
                    let latest = known;
                    known = self.journal.store().select(object, version)?.content_hash;
                    if known != latest {
                        name.push_str(&forms::earlier_version(version));
                    }
                }
                match self.journal.text(object, &known) {
                    Ok(text) => Ok(Ok(Shown {
                        object: object.clone(),
                        version: known,
                        handle,
                        name,
                        text,
                        default: Vec::new(),
                        outline: None,
                    })),
                    Err(Error::NotFound { .. }) => {
                        Ok(Err(format!("[{handle}] {name} · the call has no output")))
                    }
                    Err(error) => Err(error),
                }
            }
            _ => self.file_subject(object, version, None),
        }
    }

    /// The full text of an output that the host cut, and the part that was shown. `None` if the
    /// store does not hold it, or if the shown part is asked for and is not made of whole lines of
    /// it.
    fn whole_of(
        &self,
        object: &ObjectId,
        version: VersionSelector,
        picks: bool,
    ) -> Result<Option<(Cut, Arc<str>)>> {
        let fact = self.journal.state().fact_of(object).filter(|_| {
            version == VersionSelector::Latest && self.options.settings.layout == Layout::Log
        });
        let Some((fact, cut)) = fact.and_then(|fact| Some((fact, fact.cut.as_ref()?))) else {
            return Ok(None);
        };
        // Images come only with the shown text as a whole.
        if !picks && (cut.ranges().is_empty() || fact.images > 0) {
            return Ok(None);
        }
        match self.journal.text(object, &cut.text) {
            Ok(text) => Ok(Some((cut.clone(), text))),
            // An export may have left it out.
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn file_subject(
        &mut self,
        object: &ObjectId,
        version: VersionSelector,
        seen: Option<(LineRange, Hash)>,
    ) -> Result<Result<Shown, String>> {
        let (object, obstacle) = self.workspace.look_at(self.journal, object)?;
        let object = &object;
        let location = self.workspace.disk().location_of(self.journal, object)?;
        let handle = self.handle_of(object)?;
        let entry = self.journal.state().index().get(object);
        let Some(file @ Subject::File { version: latest, lines, .. }) =
            entry.map(|entry| &entry.subject)
        else {
            return Err(Error::internal(format!("`{object}` is no file of the session")));
        };
        let path = self.journal.state().shown_path(file.agent_path()).to_owned();
        let (latest, lines) = (latest.clone(), *lines);
        let mut name = quote::name(&path).into_owned();
        let mut wanted = latest.clone();
        if version != VersionSelector::Latest {
            wanted = self.journal.store().select(object, version)?.content_hash;
            if wanted != latest {
                name.push_str(&forms::earlier_version(version));
            }
        } else if lines.is_none() {
            match self.last_text_of(object, handle, location.as_ref(), obstacle)? {
                Ok(last) => wanted = last,
                Err(why) => return Ok(Err(forms::textless_line(handle, &path, &why))),
            }
            name.push_str(" (no longer on disk; last version)");
        } else if let Some(obstacle) = obstacle {
            name = format!("{name} (as last seen; now {})", quote::line(&obstacle));
        }
        let mut default = None;
        if let Some((range, read)) = seen {
            default = Some(range);
            if read != wanted {
                let now = self.journal.state().lines_now(object, &read, &[range]).first().copied();
                name.push_str(if now.is_some() {
                    " (changed since; as it is now)"
                } else {
                    " (these lines are gone since; as they were read)"
                });
                default = now.or(default);
                wanted = if now.is_some() { wanted } else { read };
            }
        }
        if self.options.settings.layout == Layout::Pools && wanted != latest && lines.is_some() {
            // Active content is always shown in its present state.
            return Ok(Err(format!("[{handle}] {name} · only the latest version can be active")));
        }
        let text = match self.journal.text(object, &wanted) {
            Ok(text) => text,
            Err(Error::NotFound { .. }) => {
                return Ok(Err(format!("[{handle}] {name} · that version has no text")));
            }
            Err(error) => return Err(error),
        };
        let object = object.clone();
        let default = default.into_iter().collect();
        Ok(Ok(Shown { object, version: wanted, handle, name, text, default, outline: None }))
    }

    /// The lines of a file that a `read` showed, for a toolcall that holds no text of its own.
    fn shown_file(&self, toolcall: &ObjectId) -> Option<(ObjectId, LineRange, Hash)> {
        match &self.journal.state().index().get(toolcall)?.subject {
            Subject::Toolcall { shows: Some(Shows::File { object, version, range }), .. } => {
                Some((object.clone(), *range, version.clone()))
            }
            _ => None,
        }
    }

    fn handle_of(&self, object: &ObjectId) -> Result<Handle> {
        self.journal
            .state()
            .handle(object)
            .ok_or_else(|| Error::internal(format!("`{object}` is not in the session index")))
    }

    fn label(&self, object: &ObjectId) -> String {
        self.journal
            .state()
            .handle(object)
            .map_or_else(|| object.to_string(), |handle| handle.to_string())
    }
}

/// The lines of a text that are wanted; a sentence if there are none.
fn select(subject: &Shown, wanted: &Wanted, lines: u64) -> Result<Result<Vec<LineRange>, String>> {
    let all = LineRange { first: 1, last: lines };
    let mut ranges = match &wanted.lines {
        Some(text) => parse_ranges(text, lines)?,
        None if subject.default.is_empty() || wanted.pattern.is_some() => vec![all],
        None => subject.default.clone(),
    };
    if let Some(pattern) = wanted.pattern.as_deref().filter(|pattern| !pattern.is_empty()) {
        let regex = Regex::new(pattern).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Error::argument("pattern", format!("is no regular expression: {why}"))
        })?;
        ranges = matching_lines(&subject.text, &regex, &ranges);
        if ranges.is_empty() {
            return Ok(Err(format!(
                "[{}] {} · no line matches `{}`",
                subject.handle,
                subject.name,
                quote::line(pattern)
            )));
        }
    }
    Ok(Ok(ranges))
}

fn matching_lines(text: &str, regex: &Regex, within: &[LineRange]) -> Vec<LineRange> {
    let hits = (1..).zip(text.split('\n')).filter(|(number, line)| {
        within.iter().any(|range| range.first <= *number && *number <= range.last)
            && regex.is_match(line)
    });
    let last = text.split('\n').count() as u64;
    let around: Vec<LineRange> = hits
        .map(|(number, _): (u64, _)| LineRange {
            first: number.saturating_sub(PATTERN_CONTEXT).max(1),
            last: (number + PATTERN_CONTEXT).min(last),
        })
        .collect();
    merge_ranges(&around)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, last: u64) -> LineRange {
        LineRange { first, last }
    }

    #[test]
    fn a_pattern_takes_its_lines_and_two_around_each() {
        let text = (1..=20).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let found = matching_lines(&text, &Regex::new("^(5|8|19)$").unwrap(), &[range(1, 20)]);
        assert_eq!(found, [range(3, 10), range(17, 20)]);
    }
}
