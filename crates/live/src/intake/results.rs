//! Pairs tool results with their calls, and finds whether they show lines of a file, a change of
//! one, or their own text.

use std::path::Path;

use serde_json::{Value, json};

use super::describe::{blank_fact, describe};
use super::full_output::told_cut;
use super::{Ingested, PendingCall};
use crate::LiveSession;
use crate::journal::ContentFrom;
use base::error::Result;
use base::harness::Call;
use base::object::{Hash, ObjectId, Slice, canonical_json, locate_slice};
use context::deeds;
use context::host::{HostMessage, HostToolCall};
use context::log_layout::{Texts, headed_lines};
use context::output_class::output_class;
use context::preview::{self, TestReport};
use session::{
    Activation, Cause, Effect, Event, LineRange, MessageKind, RequestKey, ResultFact, ShownResult,
    Shows, Subject, VOLATILE_CHANGES, is_own_tool,
};
use source::ShownFile;

impl LiveSession {
    /// Takes in a tool result. `None` if it answers no known call: it passes through.
    pub(super) fn take_result(&mut self, message: &HostMessage) -> Result<Option<Ingested>> {
        let Some(place) = self.intake.pending_for(message) else { return Ok(None) };
        let pending = self.intake.pending.remove(place);
        let at = self.state().chat().len();
        self.examine(pending, message, at).map(Some)
    }

    /// Finds the object of a result and what it shows. `at`: the position in the chat that its
    /// message will have.
    pub(super) fn examine(
        &mut self,
        pending: PendingCall,
        message: &HostMessage,
        at: u64,
    ) -> Result<Ingested> {
        let call = &pending.call;
        let request =
            RequestKey::of(canonical_json(&json!({ "tool": call.tool, "args": call.args }))?);
        let can_show = self.options.images_leave();
        let mut fact = describe(message, blank_fact(&call.tool, request), can_show);
        fact.class = output_class(&call.tool, &call.args);
        fact.hides_failure = hides_failure(call, &fact, message);
        fact.argument_tokens = self.options.counter.count(&deeds::left_out(&call.args));
        let object = ObjectId::new(&*call.id);
        if message.withheld.is_some() && self.journal.is_forgotten(&object)? {
            return Ok(Ingested { fact, from: None, call: pending, version: None, shown: None });
        }
        if self.state().is_own_tool(&call.tool) {
            let (shows, from) = self.activated(call, message)?;
            if let Shows::Activated { object, .. } = &shows
                && let Some(run) = self.state().fact_of(object)
            {
                (fact.ok, fact.exit) = (run.ok, run.exit);
            }
            fact.shows = shows;
            fact.ends_line = fact.ends_line && self.shows_end(&fact.shows)?;
            return Ok(Ingested { fact, from, call: pending, version: None, shown: None });
        }
        fact.foreign = is_own_tool(&call.tool);
        let read = self.read_before(&pending, message, at)?;
        let (shows, slice) = self.shown(call, message, read.as_deref())?;
        fact.shows = shows;
        fact.ends_line = fact.ends_line && self.shows_end(&fact.shows)?;
        let known = self.shown_before(call, message, at);
        let (object, version) = match &known {
            Some(ShownResult { object, version, cut, .. }) => {
                fact.cut.clone_from(cut);
                (object.clone(), version.clone())
            }
            None => self.put_toolcall(&pending, &mut fact, message, at)?,
        };
        let whole = || ContentFrom::whole(&object, &version);
        let from = slice.or_else(|| fact.is_output.then(whole));
        fact.object = Some(object);
        let treatment = known.map(|shown| shown.treatment);
        Ok(Ingested { fact, from, call: pending, version: Some(version), shown: treatment })
    }

    /// Whether the last line shown is the last line of its source.
    fn shows_end(&self, shows: &Shows) -> Result<bool> {
        let (object, version, last) = match shows {
            Shows::File { object, version, range } => (object, version, Some(range)),
            Shows::Activated { object, version, ranges, .. } => (object, version, ranges.last()),
            Shows::Own | Shows::Change { .. } => return Ok(true),
        };
        let lines = self.journal.text(object, version)?.split('\n').count() as u64;
        Ok(last.is_some_and(|range| range.last == lines))
    }

    /// Takes in the changed text of a known message. A changed tool result becomes a new version of
    /// its toolcall.
    pub(super) fn take_changed_text(&mut self, at: u64, message: &HostMessage) -> Result<()> {
        let (tokens, digest) = (message.tokens(), message.digest().clone());
        let withheld = message.withheld.is_some();
        let known = self.state().chat().get(at);
        let changes = known.map_or(0, |known| known.changes);
        let fact = match known.map_or(MessageKind::Other, |known| known.kind.clone()) {
            MessageKind::Result(fact) => fact,
            kind => {
                self.journal.record(Event::Edited { at, digest, kind, tokens, withheld });
                self.journal.stage_changed_message(at, message)?;
                // One that changes on every call is shown as it is.
                let stays = changes < VOLATILE_CHANGES;
                return if stays { self.take_output(at, message, false) } else { Ok(()) };
            }
        };
        let described = describe(message, fact, self.options.images_leave());
        let mut fact = ResultFact { shows: Shows::Own, ..described };
        let args = match &fact.object {
            Some(object) if !self.journal.is_forgotten(object)? => {
                self.put_toolcall_text(object, &fact, message)?
            }
            _ => Value::Null,
        };
        // The whole may contain what another extension removed.
        fact.cut = told_cut(Call::new(&fact.tool, &args), message);
        let kind = MessageKind::Result(fact.clone());
        self.journal.record(Event::Edited { at, digest, kind, tokens, withheld });
        self.journal.stage_changed_message(at, message)?;
        if withheld {
            return Ok(());
        }
        self.treat_at_first_sight(at, &fact, &args, "", message)
    }

    /// What the result of a context tool shows: lines of an object if they match the object's text
    /// exactly. Its images are those of the object.
    fn activated(
        &self,
        call: &HostToolCall,
        message: &HostMessage,
    ) -> Result<(Shows, Option<ContentFrom>)> {
        let text = message.text();
        let Some((_, shown)) = text.split_once('\n').filter(|_| message.is_readable) else {
            return Ok((Shows::Own, None));
        };
        let activated = self.state().effects(&call.id).filter_map(|effect| match effect {
            Effect::Activated(one) => Some(one),
            _ => None,
        });
        let (plain, other): (Vec<&Activation>, Vec<&Activation>) =
            activated.partition(|one| one.answer.is_none());
        let digest = Some(Hash::of(text.as_bytes()));
        let answered = other.into_iter().filter(|one| one.answer == digest);
        let answered: Vec<Activation> = answered.cloned().collect();
        if let Some((one, also)) = answered.split_first() {
            return Ok((one.shows(also), None));
        }
        for one in plain {
            let (object, version) = (&one.object, &one.version);
            let lines = headed_lines("", &self.journal.text(object, version)?, &one.ranges);
            if lines.strip_prefix('\n') == Some(shown) {
                let from = (message.images > 0).then(|| ContentFrom::images(object, version));
                return Ok((one.shows(&[]), from));
            }
        }
        Ok((Shows::Own, None))
    }

    /// What a result shows: lines of a file's version if rendering that version gives exactly the
    /// text; that the model changed a file; else its own text.
    fn shown(
        &mut self,
        call: &HostToolCall,
        message: &HostMessage,
        before: Option<&[(ObjectId, Hash)]>,
    ) -> Result<(Shows, Option<ContentFrom>)> {
        let own = (Shows::Own, None);
        // Text next to an image is about the image.
        let is_text = message.images == 0 && !message.has_other_blocks;
        if message.has_failed() || !message.is_readable || !is_text {
            return Ok(own);
        }
        let asked = Call::new(&call.tool, &call.args);
        if let Some(shown) = self.shown_by(asked, &message.text()) {
            return Ok(self.shell_read(call, message, &shown, before)?.unwrap_or(own));
        }
        let Ok(touched) = self.disk.touched(asked) else { return Ok(own) };
        let mut found = Vec::with_capacity(touched.len());
        for (cause, path) in touched {
            let versions = self.touched_versions(call, message, (cause, &path), before)?;
            if let Some((file, versions)) = versions {
                found.push((cause, file, versions));
            }
        }
        // A result about several files shows its own text.
        let Ok([(cause, file, versions)]) = <[_; 1]>::try_from(found) else { return Ok(own) };
        if cause.by_model() {
            return Ok((Shows::Change { object: file }, None));
        }
        let first = asked.first_line().unwrap_or(1);
        for version in versions {
            let Ok(text) = self.journal.text(&file, &version) else { continue };
            if let Some(slice) = locate_slice(&text, &message.text(), first) {
                return self.lines_of(file, version, &slice);
            }
        }
        Ok(own)
    }

    /// The lines of a file that a command showed: in a version that was recorded when it ran, else
    /// in what is on disk now. `None` if the output is not exactly these lines.
    fn shell_read(
        &mut self,
        call: &HostToolCall,
        message: &HostMessage,
        shown: &ShownFile,
        before: Option<&[(ObjectId, Hash)]>,
    ) -> Result<Option<(Shows, Option<ContentFrom>)>> {
        let output = message.text();
        let location = self.disk.location(&shown.path);
        let state = self.state();
        let file = state.files().current(&location.id()?).clone();
        let read = |effect: &Effect| match effect {
            Effect::Read(read, version) if *read == file => Some(version.clone()),
            _ => None,
        };
        let known = state.effects(&call.id).filter_map(read);
        let versions: Vec<Hash> = known.chain(of_file(before, &file)).collect();
        for version in &versions {
            let Ok(text) = self.journal.text(&file, version) else { continue };
            if let Some(slice) = shown.slice(&text, &output) {
                return self.lines_of(file, version.clone(), &slice).map(Some);
            }
        }
        if !versions.is_empty() || before.is_some() || message.withheld.is_some() {
            return Ok(None);
        }
        let found = self.index_shell_read(shown, &output, &call.id)?;
        found.map(|(file, version, slice)| self.lines_of(file, version, &slice)).transpose()
    }

    /// What a result shows that consists of these lines of a file's version.
    fn lines_of(
        &self,
        file: ObjectId,
        version: Hash,
        slice: &Slice,
    ) -> Result<(Shows, Option<ContentFrom>)> {
        let range = LineRange { first: slice.first_line, last: slice.last_line };
        let owner = self.journal.owner_of(&file, &version)?;
        let from = ContentFrom::lines(&owner, &version, range, &slice.suffix);
        Ok((Shows::File { object: file, version, range }, Some(from)))
    }

    /// The file that a call read or changed and, where it read, the versions: as recorded when it
    /// ran or came in before, else what is on disk now.
    fn touched_versions(
        &mut self,
        call: &HostToolCall,
        message: &HostMessage,
        (cause, path): (Cause, &Path),
        before: Option<&[(ObjectId, Hash)]>,
    ) -> Result<Option<(ObjectId, Vec<Hash>)>> {
        let location = self.disk.location(path);
        let state = self.state();
        // A file that was read and then moved, before its lines came in, is known as what it is
        // now.
        let file = state.files().current(&location.id()?).clone();
        let mut versions = Vec::new();
        let has_text = matches!(state.subject(&file), Some(Subject::File { lines: Some(_), .. }));
        let mut noted = before.is_some() && has_text;
        for effect in state.effects(&call.id) {
            match effect {
                Effect::Read(read, version) if *read == file && !cause.by_model() => {
                    noted = true;
                    versions.push(version.clone());
                }
                Effect::Changed(changed, ..) if *changed == file && cause.by_model() => {
                    noted = true;
                }
                _ => {}
            }
        }
        // Where a provider repeats its IDs, a new call may look like one of a branch that was left.
        versions.extend(of_file(before, &file));
        if noted || !versions.is_empty() {
            return Ok(Some((file, versions)));
        }
        let asked = Call::new(&call.tool, &call.args);
        if self.disk.is_known_by_reports(&location) && message.withheld.is_none() {
            if !cause.by_model() {
                return self.index_reported_read(&location, call, message);
            }
            let told = self.index_reported_change(&location, cause, &call.id, asked)?;
            return Ok(told.map(|(file, _)| (file, Vec::new())));
        }
        let made_by = (&*call.id, asked);
        let indexed = self.index_touched((path, &location), cause, made_by)?;
        Ok(indexed.map(|(file, version)| (file, vec![version])))
    }

    /// The text of files that a result showed when it came in before, on a branch to which the person
    /// went back; `None` if it is new. It is no new sight of them.
    fn read_before(
        &self,
        pending: &PendingCall,
        message: &HostMessage,
        at: u64,
    ) -> Result<Option<Vec<(ObjectId, Hash)>>> {
        let call = &pending.call;
        let state = self.state();
        if pending.closed_at.is_some() || state.subject(&ObjectId::new(&*call.id)).is_none() {
            return Ok(None);
        }
        let id = self.toolcall_id(call, message.key.timestamp, &mut self.fields_of(call, at))?;
        Ok(match state.subject(&id) {
            Some(Subject::Toolcall { ok: true, shows, .. }) => Some(match shows {
                Some(Shows::File { object, version, .. }) => {
                    vec![(object.clone(), version.clone())]
                }
                _ => Vec::new(),
            }),
            _ => None,
        })
    }

    /// Unanswered calls get an object that says so: status `fail`, null content. A result that
    /// comes later is its next version.
    pub(super) fn close_unanswered(&mut self) -> Result<()> {
        let at = self.state().chat().len();
        let mut pending = std::mem::take(&mut self.intake.pending);
        for open in pending.iter_mut().filter(|pending| pending.closed_at.is_none()) {
            open.closed_at = Some(at);
            if !self.state().is_own_tool(&open.call.tool) {
                self.put_unanswered(&open.call, at)?;
            }
        }
        self.intake.pending = pending;
        Ok(())
    }
}

/// See [`ResultFact::hides_failure`].
fn hides_failure(call: &HostToolCall, fact: &ResultFact, message: &HostMessage) -> bool {
    let may = fact.exit == Some(0) && message.withheld.is_none();
    if !may || !Call::new(&call.tool, &call.args).may_hide_failure() {
        return false;
    }
    let text = message.text();
    let lines: Vec<&str> = text.split('\n').collect();
    preview::reports(&lines).contains(&TestReport::Failure)
}

/// The versions among these that are a file's.
fn of_file(before: Option<&[(ObjectId, Hash)]>, file: &ObjectId) -> impl Iterator<Item = Hash> {
    let known = before.into_iter().flatten().filter(move |(read, _)| read == file);
    known.map(|(_, version)| version.clone())
}
