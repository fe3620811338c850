//! The tools `activate`, `deactivate`, `pin` and `unpin`.

use std::sync::Arc;

use super::naming::answered;
use super::selection::{Kept, PartKept, Selection, select};
use crate::LiveSession;
use crate::journal::if_found;
use base::error::{Error, Result};
use base::object::{
    FileStamp, Handle, HandleKind, Hash, Name, ObjectId, Reading, VersionSelector, quote,
};
use config::{Layout, Settings};
use context::forms;
use context::host::image_units;
use context::log_layout::Texts;
use context::tokens::{self, Counter};
use session::{ActiveView, Effect, Event, FaultKind, LineRange, Shows, Subject};

/// What to activate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the object.
    pub name: String,
    /// Lines, in the forms of [`Part`](base::object::Part): `40-80`, `7`, `390-`, or several,
    /// separated by commas.
    pub lines: Option<String>,
    /// Regular expression: selects the matching lines, with two lines around each.
    pub pattern: Option<String>,
}

impl Wanted {
    /// An argument as our lines quote it.
    pub(super) fn quoted(argument: &str) -> String {
        format!("`{}`", quote::line(argument))
    }
}

/// What is asked for under one name.
struct Asked {
    call: String,
    name: Name,
    wanted: Wanted,
    pin: bool,
}

impl Shown {
    /// Whether a selection is all of the object.
    fn is_whole(&self, selection: &Selection) -> bool {
        let all = LineRange { first: 1, last: self.text.split('\n').count() as u64 };
        selection.ranges == [all] && selection.columns.is_empty() && self.part.is_none()
    }
}

/// That what was selected of an object is activated.
///
/// `note`: the heading, and that with the content below it, if the next message must carry it.
fn activated(
    asked: &Asked,
    subject: Shown,
    selection: Selection,
    tokens: u64,
    note: Option<(&str, &str)>,
) -> Event {
    let view = if subject.is_whole(&selection) {
        ActiveView::Whole
    } else {
        ActiveView::Lines(selection.ranges.clone())
    };
    let cut = selection.cut();
    let (heading, ranges) = match note {
        // A note is made of whole lines, or of what is shown.
        Some((_, shown)) if !cut.is_empty() => (Some(shown), Vec::new()),
        Some((heading, _)) => (Some(heading), selection.ranges),
        None => (None, selection.ranges),
    };
    Event::Activated {
        object: subject.object,
        version: subject.version,
        view,
        pin: asked.pin,
        call: asked.call.clone(),
        ranges,
        cut,
        answer: None,
        tokens,
        heading: heading.map(str::to_owned),
    }
}

/// The answer under one name.
struct Answer {
    text: String,
    tokens: u64,
    /// `None` if nothing was activated.
    event: Option<Event>,
}

impl Answer {
    /// An answer that shows no content.
    fn of(text: String) -> Self {
        Self { tokens: tokens::count(&text), text, event: None }
    }
}

/// A text to show, with its name.
pub(super) struct Shown {
    pub(super) object: ObjectId,
    pub(super) version: Hash,
    pub(super) handle: Handle,
    /// In our words; quoted parts are quoted.
    pub(super) name: String,
    pub(super) text: Arc<str>,
    /// Which part of the whole the text is, if it is one.
    pub(super) part: Option<PartKept>,
    pub(super) default: Vec<LineRange>,
    /// For a segment, an outline of its messages, for use if there is no room for all of it.
    pub(super) outline: Option<String>,
}

impl LiveSession {
    /// Activates objects, and pins one if `pin` is set. Returns the answer for the model: the
    /// content in `log`, a line in `pools`, where the content stands in its own place. A refusal
    /// may have recorded what a look at the file found.
    ///
    /// `call`: ID of the tool call; empty for a user's command.
    ///
    /// # Errors
    /// As [`LiveSession::activate`](crate::LiveSession::activate).
    pub(crate) fn activate_named(
        &mut self,
        call: &str,
        wanted: &Wanted,
        pin: bool,
    ) -> Result<String> {
        let mut named = self.all_named(&wanted.name)?;
        let asked = |given: &str, reading: Reading| {
            let lines = wanted.lines.clone().or(reading.lines);
            let wanted = Wanted { name: given.to_owned(), lines, pattern: wanted.pattern.clone() };
            Asked { call: call.to_owned(), name: reading.name, wanted, pin }
        };
        if named.len() == 1
            && let Some((given, reading)) = named.pop()
        {
            let answer = self.answer(&asked(given, reading?), None)?;
            answer.event.into_iter().for_each(|event| self.journal.record(event));
            return Ok(answer.text);
        }
        if pin {
            let problem = format!("`{}` names several objects: pin them one by one", wanted.name);
            return Err(Error::argument("name", problem));
        }
        let mut tokens = 0;
        let (answers, refused) = answered(named.into_iter().map(|(given, reading)| {
            let answer = self.answer(&asked(given, reading?), Some(tokens))?;
            tokens += answer.tokens;
            Ok(answer)
        }))?;
        let texts = answers.iter().map(|answer| answer.text.clone());
        let text: Vec<String> = texts.chain(refused.iter().map(Error::message)).collect();
        let text = text.join("\n");
        for event in answers.into_iter().filter_map(|answer| answer.event) {
            self.journal.record(event.answered_by(&text));
        }
        Ok(text)
    }

    /// The answer to one name, and what is to be recorded of it.
    ///
    /// `besides`: tokens of the other answers of the call, if it names several objects.
    fn answer(&mut self, asked: &Asked, besides: Option<u64>) -> Result<Answer> {
        let Asked { name, wanted, pin, .. } = asked;
        let picks = wanted.lines.is_some() || wanted.pattern.is_some();
        let subject = match self.subject_named(name, picks)? {
            Ok(subject) => subject,
            Err(reason) => return Ok(Answer::of(reason)),
        };
        let in_log = self.options.settings.layout == Layout::Log;
        let kept = Kept { text: &subject.text, part: subject.part.as_ref() };
        // Pinned content stays whole; in `pools` lines are the smallest part.
        let selection = match select(&kept, &subject.default, wanted, in_log && !pin)? {
            Ok(selection) => selection,
            Err(why) => {
                return Ok(Answer::of(format!("[{}] {} · {why}", subject.handle, subject.name)));
            }
        };
        let whole = subject.is_whole(&selection);
        // What the user asks for comes in a note, without images; pinned content only where it
        // does not stand.
        let is_note = asked.call.is_empty() && in_log;
        let shows_images = whole && !is_note && besides.is_none();
        let images = if shows_images { self.images_with(&subject)? } else { 0 };
        let heading = self.heading(&subject, &selection, images)?;
        let shown = format!("{heading}\n{}", selection.shown(&kept, subject.handle));
        let tokens = tokens::count(&shown) + images * image_units(Counter::Bundled);
        let pinned = pin.then_some(&subject.object);
        match (self.require_room(&wanted.name, tokens, besides, pinned), &subject.outline) {
            (Err(Error::NoRoom { .. }), Some(outline)) if whole && !pin => {
                return Ok(Answer::of(outline.clone()));
            }
            (room, _) => room?,
        }
        let done = || format!("done: {heading}, {}", forms::count(tokens, "token"));
        let text = if in_log { shown.clone() } else { done() };
        let note = (is_note && !pin).then_some((&*heading, &*shown));
        let is_cut = !selection.columns.is_empty();
        if !asked.call.is_empty() && self.left_pools(&subject.object) {
            self.journal.record(Event::Missed { kind: FaultKind::Asked, at: None, tokens });
        }
        let mut event = activated(asked, subject, selection, tokens, note);
        if is_cut {
            event = event.answered_by(&shown);
        }
        Ok(Answer { text, tokens, event: Some(event) })
    }

    /// The line above what is shown of an object.
    fn heading(&self, subject: &Shown, selection: &Selection, images: u64) -> Result<String> {
        let mut name = subject.name.clone();
        if images > 0 {
            name.extend([" · ", &forms::count(images, "image")]);
        }
        // A session's calls and segments are its own, wherever it was before.
        if subject.handle.kind == HandleKind::File
            && let Some(store) = self.journal.store.elsewhere(&subject.object)?
        {
            name.push_str(&forms::from_elsewhere(&store));
        }
        for remark in &selection.remarks {
            name.extend([" · ", remark]);
        }
        let kept = Kept { text: &subject.text, part: subject.part.as_ref() };
        let (counted, all) = kept.counted(&selection.ranges);
        Ok(forms::activated_line(subject.handle, &name, &counted, all))
    }

    /// Whether an object's content stood in the layout `pools` and does not any more. In `log` the
    /// state itself tells.
    fn left_pools(&self, object: &ObjectId) -> bool {
        let Settings { layout, active_per_turn, active_turns, .. } = self.options.settings;
        if layout != Layout::Pools {
            return false;
        }
        let state = self.state();
        let stood = state.fact_of(object).is_some() || state.files().seen(object).is_some();
        let active = state.active_by_window(active_per_turn, active_turns);
        stood && active.iter().all(|active| active.id != *object)
    }

    /// Records that the model asked for what had left, if it did and was refused. `answer`: what it
    /// got instead of an error.
    pub(crate) fn note_refusal(&mut self, call: &str, wanted: &Wanted, answer: Option<&String>) {
        let is_answered = |effect: &Effect| matches!(effect, Effect::Activated(..));
        if call.is_empty() || self.state().effects(call).any(is_answered) {
            return;
        }
        let named = self.all_named(&wanted.name).unwrap_or_default();
        let readings = named.into_iter().filter_map(|(_, reading)| reading.ok());
        let objects = readings.filter_map(|reading| self.find_object(&reading.name).ok());
        let objects: Vec<ObjectId> = objects.collect();
        let had_left = objects.into_iter().any(|object| {
            let object = self.shown_file(&object).map_or(object, |(file, ..)| file);
            self.state().has_left(&object) || self.left_pools(&object)
        });
        if had_left {
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

    /// Deactivates objects, which unpins them. Takes effect at the next epoch. In `pools`, where they
    /// are listed, one that is already inactive leaves the metadata pool. What a person pinned stays
    /// if the model asks. Stored when it returns.
    ///
    /// `call`: ID of the tool call; empty for a user's command.
    ///
    /// # Errors
    /// Errors of names.
    pub fn deactivate(&mut self, call: &str, names: &str) -> Result<String> {
        self.each_named(names, |live, object| {
            let is_listed = live.options.settings.layout == Layout::Pools;
            let sets = live.state().sets();
            if is_listed && sets.is_indexed_only(&object) {
                live.journal.record(Event::EnteredPool { object: object.clone() });
                return format!("done: {} is listed again", live.label(&object));
            }
            if is_listed && sets.is_deactivated(&object) {
                return live.leave_pool_with(object);
            }
            let object = live.kept_image(&object).unwrap_or(object);
            let label = live.label(&object);
            if let Some(refusal) = live.refuse_to_unpin(call, &object) {
                return refusal;
            }
            let tokens = live.standing_tokens(&object);
            live.journal.record(Event::Deactivated { object });
            let again = if is_listed { "; again takes it off the list" } else { "" };
            format!("done: {label}, {}{again}", forms::count(tokens, "token"))
        })
    }

    /// Removes objects from the metadata pool, which deactivates them: they are only indexed until
    /// they are activated or brought back. Takes effect at the next epoch. Stored when it returns.
    ///
    /// # Errors
    /// Errors of names.
    pub fn leave_pool(&mut self, names: &str) -> Result<String> {
        self.each_named(names, Self::leave_pool_with)
    }

    fn leave_pool_with(&mut self, object: ObjectId) -> String {
        let label = self.label(&object);
        if !self.state().sets().is_indexed_only(&object) {
            self.journal.record(Event::LeftPool { object });
        }
        let tool = |name| self.state().own_tool(name);
        let (activate, deactivate) = (tool("activate"), tool("deactivate"));
        format!(
            "done: {label} is not listed any more; {deactivate} lists it again, {activate} shows it"
        )
    }

    /// Brings objects that are only indexed back into the metadata pool; their content stays
    /// inactive. Stored when it returns.
    ///
    /// # Errors
    /// Errors of names.
    pub fn enter_pool(&mut self, names: &str) -> Result<String> {
        self.each_named(names, |live, object| {
            let label = live.label(&object);
            if live.state().sets().is_indexed_only(&object) {
                live.journal.record(Event::EnteredPool { object });
            }
            format!("done: {label}")
        })
    }

    /// Unpins objects: they may be collapsed again, and stay active until then. What a person pinned
    /// stays so if the model asks. Stored when it returns.
    ///
    /// `call`: as for [`Self::deactivate`].
    ///
    /// # Errors
    /// Errors of names.
    pub fn unpin(&mut self, call: &str, names: &str) -> Result<String> {
        self.each_named(names, |live, object| {
            let object = live.kept_image(&object).unwrap_or(object);
            let label = live.label(&object);
            let object = live.shown_file(&object).map_or(object, |(file, ..)| file);
            if !live.state().sets().is_pinned(&object) {
                return format!("{label} is not pinned");
            }
            if let Some(refusal) = live.refuse_to_unpin(call, &object) {
                return refusal;
            }
            live.journal.record(Event::Unpinned { object });
            format!("done: {label}")
        })
    }

    /// Why the model cannot let go of an object; `None` if it can.
    fn refuse_to_unpin(&self, call: &str, object: &ObjectId) -> Option<String> {
        let is_theirs = self.state().sets().is_pinned_by_person(object);
        let label = self.label(object);
        (is_theirs && !call.is_empty()).then(|| format!("{label} stays: the user pinned it"))
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
        let image = self.images_read(object).next().map(|(stamp, read)| (stamp, read.clone()));
        if version == VersionSelector::Latest
            && let Some((stamp, read)) = image
        {
            let remark = self.remark_on_image(object, stamp)?;
            let shown = self.subject(&read, version, picks)?;
            return Ok(shown.map(|shown| Shown { name: shown.name + remark, ..shown }));
        }
        match self.state().index().get(object).map(|entry| entry.subject.clone()) {
            Some(Subject::Toolcall { tool, version: known, .. }) => {
                self.output_subject(object, (&tool, known), version, picks)
            }
            _ => self.file_subject(object, version, None),
        }
    }

    fn file_subject(
        &mut self,
        object: &ObjectId,
        version: VersionSelector,
        seen: Option<(LineRange, Hash)>,
    ) -> Result<Result<Shown, String>> {
        let (object, obstacle) = self.look_at(object)?;
        let object = &object;
        let location = self.location_of(object)?;
        let handle = self.handle_of(object)?;
        let entry = self.state().index().get(object);
        let Some(file @ Subject::File { version: latest, lines, .. }) =
            entry.map(|entry| &entry.subject)
        else {
            return Err(Error::internal(format!("`{object}` is not a file of the session")));
        };
        let path = self.state().shown_path(file.agent_path()).to_owned();
        let (latest, lines) = (latest.clone(), *lines);
        let mut name = quote::name(&path).into_owned();
        let mut wanted = self.version_named(object, version, &latest, &mut name)?;
        let is_latest = version == VersionSelector::Latest;
        if is_latest && lines.is_none() {
            match self.last_text_of(object, handle, location.as_ref(), obstacle)? {
                Ok(last) => wanted = last,
                Err(why) => return Ok(Err(forms::textless_line(handle, &path, &why))),
            }
            name.push_str(forms::LAST_VERSION);
        } else if let Some(obstacle) = obstacle.filter(|_| is_latest) {
            name = format!("{name} (as last seen; now {})", quote::line(&obstacle));
        }
        let mut default = None;
        if let Some((range, read)) = seen {
            default = Some(range);
            if read != wanted {
                let now = self.state().files().lines_now(object, &read, &[range]).first().copied();
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
        let Some(text) = if_found(self.journal.text(object, &wanted))? else {
            return Ok(Err(format!("[{handle}] {name} · that version has no text")));
        };
        let object = object.clone();
        let default = default.into_iter().collect();
        let part = None;
        Ok(Ok(Shown { object, version: wanted, handle, name, text, part, default, outline: None }))
    }

    /// The lines of a file that a `read` showed, for a toolcall that holds no text of its own.
    fn shown_file(&self, toolcall: &ObjectId) -> Option<(ObjectId, LineRange, Hash)> {
        match self.state().subject(toolcall)? {
            Subject::Toolcall { shows: Some(Shows::File { object, version, range }), .. } => {
                Some((object.clone(), *range, version.clone()))
            }
            _ => None,
        }
    }

    /// The version of an object that a name selects; `name` says so if it is not the latest.
    ///
    /// # Errors
    /// `UNKNOWN_NAME` with the latest and the earliest version if there is no such one.
    pub(super) fn version_named(
        &self,
        object: &ObjectId,
        version: VersionSelector,
        latest: &Hash,
        name: &mut String,
    ) -> Result<Hash> {
        if version == VersionSelector::Latest {
            return Ok(latest.clone());
        }
        let store = &self.journal.store;
        match store.select(object, version) {
            Ok(found) => {
                if found.content_hash != *latest {
                    name.push_str(&forms::earlier_version(version));
                }
                Ok(found.content_hash)
            }
            Err(Error::NotFound { .. }) => {
                let label = self.label(object);
                let earlier = u32::try_from(store.lineage(object)?.len().saturating_sub(1))
                    .unwrap_or(u32::MAX);
                let earliest = (earlier > 0).then_some(VersionSelector::Back(earlier));
                let near = [VersionSelector::Latest].into_iter().chain(earliest);
                let near = near.map(|version| format!("{label}{version}")).collect();
                Err(Error::UnknownName { name: format!("{label}{version}"), near })
            }
            Err(error) => Err(error),
        }
    }

    /// The calls that read a file which has no text as an image, see [`session::Session::images_of`].
    fn images_read(&self, file: &ObjectId) -> impl Iterator<Item = (Option<FileStamp>, &ObjectId)> {
        let state = self.state();
        let is_textless = matches!(state.subject(file), Some(Subject::File { lines: None, .. }));
        state.images_of(file).filter(move |_| is_textless)
    }

    /// The call by which a file's image is kept in the window: the one that is pinned, else the newest.
    fn kept_image(&self, file: &ObjectId) -> Option<ObjectId> {
        let sets = self.state().sets();
        let pinned = self.images_read(file).find(|(_, read)| sets.is_pinned(read));
        pinned.or_else(|| self.images_read(file).next()).map(|(_, read)| read.clone())
    }

    /// What is to be said of an image that was read when its file had this stamp: the file may be another
    /// one now.
    fn remark_on_image(
        &mut self,
        file: &ObjectId,
        read: Option<FileStamp>,
    ) -> Result<&'static str> {
        let (file, obstacle) = self.look_at(file)?;
        let now = self.state().stamp_of(&file);
        let of = |stamp: FileStamp| (stamp.mtime_ns, stamp.size, stamp.inode);
        let is_as_read = obstacle.is_none() && now.is_some() && now.map(of) == read.map(of);
        Ok(if is_as_read { "" } else { forms::IMAGE_AS_READ })
    }

    pub(super) fn handle_of(&self, object: &ObjectId) -> Result<Handle> {
        self.state()
            .handle(object)
            .ok_or_else(|| Error::internal(format!("`{object}` is not in the session index")))
    }

    fn label(&self, object: &ObjectId) -> String {
        self.state().handle(object).map_or_else(|| object.to_string(), |handle| handle.to_string())
    }
}
