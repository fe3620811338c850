//! Finds the messages whose text must not be stored: shown from a file that is excluded or
//! forgotten, or written to one. They get a placeholder before anything else sees them, and go out
//! as the host gave them.
//!
//! Best effort for shell commands: paths are looked for in the command and in what the output says
//! about itself. Where a command may read an excluded file without naming it, its output is
//! withheld if it holds what looks like a secret.

mod members;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::members::may_be_member;
use crate::LiveSession;
use crate::workspace::Disk;
use base::error::Result;
use base::harness::shell::PathWord;
use base::harness::{Call, ToolKind, command_line};
use base::object::ObjectId;
use context::host::{HostMessage, HostToolCall};
use context::placeholder::{attached_files, command_without_text, lacks_text, without_text};
use redact::redact_text;
use session::{WithheldReason, answer_of};
use source::{NamesInCommand, shown_file};

/// Maximum number of words of a command that are looked up on disk, for links and wildcards; of
/// others only the name is compared.
const MAX_LOOKED_UP: usize = 64;
/// Length limit of an argument that may be a path.
const MAX_PATH_BYTES: usize = 4_096;

/// Maximum number of messages of the chat that are looked at to find where a list goes on: others
/// may have left it.
const MAX_GONE: usize = 16;

/// The calls of answers, judged once each: by their place in the list, and by their position.
#[derive(Default)]
struct Answers {
    by_place: HashMap<usize, Vec<JudgedCall>>,
    by_position: HashMap<u64, Vec<JudgedCall>>,
}

/// The judgment of a call. A call is judged once, by what the model asked for; its results follow
/// that, even when they arrive after the stored call has lost its text.
struct JudgedCall {
    id: String,
    /// Why its input or output must not be stored, if so.
    reason: Option<WithheldReason>,
    /// How its result is judged.
    command: Judged,
}

/// What is known about a command before its output is looked at.
#[derive(Debug, Default)]
struct Judged {
    /// Where it may read files that it does not name.
    reach: Vec<PathBuf>,
    /// Whether the path of a file may stand above its lines.
    heads_matches: bool,
}

impl LiveSession {
    /// Puts placeholders in the place of messages whose text must not be stored. `skip`: number of
    /// messages of the window that stand before these.
    ///
    /// A message that the chat holds unchanged was judged when it came: a resumed session judges
    /// only new ones.
    pub(crate) fn withhold(&self, skip: usize, messages: &mut [HostMessage]) -> Result<()> {
        let _remembering = self.disk.remembering();
        let mut answers = Answers::default();
        let mut next = self.state().chat().passing.own_before(skip);
        for place in 0..messages.len() {
            let (before, rest) = messages.split_at_mut(place);
            let message = &mut rest[0];
            let at = self.known_at(&mut next, message);
            let is_known = at.is_some_and(|at| self.is_unchanged(at, message));
            let found = match message.key.role.as_str() {
                "assistant" if is_known => None,
                "assistant" => {
                    let judged = self.judge(message)?;
                    let found = self.calls_without_text(message, &judged);
                    answers.by_place.insert(place, judged);
                    found
                }
                "toolResult" => {
                    let reason = match self.known_reason(at)? {
                        None if is_known => None,
                        None => {
                            let calls = self.calls_of(message, skip, before, &mut answers)?;
                            self.result_reason(message, calls)?
                        }
                        reason => reason,
                    };
                    reason.map(|reason| (reason, Vec::new()))
                }
                _ if is_known => None,
                _ => self.disk.text_reason(message).map(|reason| (reason, Vec::new())),
            };
            if let Some((reason, calls)) = found {
                *message = message.withhold(reason, calls);
            }
        }
        Ok(())
    }

    /// The position in the chat of a message of the list, if it is known. `next`: the place in the
    /// window of the first message that may be it.
    fn known_at(&self, next: &mut usize, message: &HostMessage) -> Option<u64> {
        let chat = self.state().chat();
        let own = chat.own_window.iter().enumerate().skip(*next).take(MAX_GONE);
        let mut own = own.filter(|(_, at)| chat.get(**at).is_some_and(|it| it.key == message.key));
        let (place, at) = own.next()?;
        *next = place + 1;
        Some(*at)
    }

    /// Whether the chat holds a message unchanged, with its text; sets its tokens then.
    fn is_unchanged(&self, at: u64, message: &HostMessage) -> bool {
        let known = self.state().chat().get(at);
        let is_it = known.filter(|known| !known.withheld && known.digest == *message.digest());
        if let Some(known) = is_it {
            message.know_tokens(known.tokens);
        }
        is_it.is_some()
    }

    fn judge(&self, message: &HostMessage) -> Result<Vec<JudgedCall>> {
        let calls = message.calls.iter();
        let judged = |call: &HostToolCall| {
            let names = self.names_in_call(call);
            let reason = self.call_reason(call, &names)?;
            let command = Judged::of(names);
            Ok(JudgedCall { id: call.id.clone(), reason, command })
        };
        calls.map(judged).collect()
    }

    /// The calls of a message, without the text that they write to a file which is not stored, and
    /// why; nothing if they write none.
    fn calls_without_text(
        &self,
        message: &HostMessage,
        judged: &[JudgedCall],
    ) -> Option<(WithheldReason, Vec<HostToolCall>)> {
        let mut found = None;
        let mut calls = message.calls.clone();
        for (call, judged) in calls.iter_mut().zip(judged) {
            let Some(reason) = &judged.reason else { continue };
            let args = self.args_without_text(call);
            if args != call.args {
                found = found.or(Some(*reason));
                call.args = args;
            }
        }
        found.map(|reason| (reason, calls))
    }

    fn args_without_text(&self, call: &HostToolCall) -> Value {
        let asked = Call::new(&call.tool, &call.args);
        let touched = asked.touches().into_iter().map(|touch| touch.path);
        let paths: Vec<&str> = touched.chain(asked.path()).collect();
        let stays = |text: &str| paths.contains(&text) || self.disk.is_excluded_given(text);
        match asked.command_argument() {
            Some((name, command)) => {
                let mut args = without_text(&call.args, &|text| text == command);
                args[name] = Value::from(command_without_text(command, &stays));
                args
            }
            None => without_text(&call.args, &stays),
        }
    }

    /// The calls of the answer that a result belongs to, judged: the newest one with a call of its
    /// ID that has no result yet, `before` it in the list or among the first `skip` messages.
    fn calls_of<'a>(
        &self,
        result: &HostMessage,
        skip: usize,
        before: &[HostMessage],
        answers: &'a mut Answers,
    ) -> Result<&'a [JudgedCall]> {
        let Some(id) = result.key.calls.first() else { return Ok(&[]) };
        let chat = self.state().chat();
        let window = &chat.window[..skip.min(chat.window.len())];
        let listed = before.iter().rev().map(|message| &message.key);
        let known = window.iter().rev().filter_map(|at| Some(&chat.get(*at)?.key));
        let Some(back) = answer_of(id, listed.chain(known)) else { return Ok(&[]) };
        let Some(place) = before.len().checked_sub(back + 1) else {
            let at = window[window.len() + before.len() - back - 1];
            return Ok(match answers.by_position.entry(at) {
                Entry::Occupied(judged) => judged.into_mut(),
                Entry::Vacant(place) => place.insert(self.judge_stored(at)?),
            });
        };
        Ok(match answers.by_place.entry(place) {
            Entry::Occupied(judged) => judged.into_mut(),
            Entry::Vacant(free) => free.insert(self.judge(&before[place])?),
        })
    }

    /// Judges the calls of an answer that the chat has.
    fn judge_stored(&self, at: u64) -> Result<Vec<JudgedCall>> {
        let message = self.journal.message(at)?;
        let mut judged = self.judge(&message)?;
        // The text removed from a call may have been the name of the file.
        let reason = message.withheld.as_ref().map(|withheld| withheld.reason);
        for (call, known) in message.calls.iter().zip(&mut judged) {
            known.reason = known.reason.or_else(|| reason.filter(|_| lacks_text(&call.args)));
        }
        Ok(judged)
    }

    /// Why the text of a known result must not be stored again.
    fn known_reason(&self, at: Option<u64>) -> Result<Option<WithheldReason>> {
        let fact = at.and_then(|at| self.state().result(at));
        match fact.and_then(|fact| fact.object.as_ref()) {
            Some(object) if self.journal.is_forgotten(object)? => {
                Ok(Some(WithheldReason::Forgotten))
            }
            _ => Ok(None),
        }
    }

    fn result_reason(
        &self,
        message: &HostMessage,
        calls: &[JudgedCall],
    ) -> Result<Option<WithheldReason>> {
        let Some(id) = message.key.calls.first() else { return Ok(self.disk.text_reason(message)) };
        let object = ObjectId::new(&**id);
        // Another session's call may have the ID.
        let is_ours =
            self.journal.was_refused(&object) || self.state().index().get(&object).is_some();
        if is_ours && self.journal.is_forgotten(&object)? {
            return Ok(Some(WithheldReason::Forgotten));
        }
        // Local servers repeat IDs: any call of this one may be meant.
        let mut meant = calls.iter().filter(|call| call.id == *id);
        let reason = meant.clone().find_map(|call| call.reason);
        let shows = |call: &JudgedCall| self.disk.reason_in_output(message, &call.command);
        let reason = reason.or_else(|| self.disk.text_reason(message));
        let reason = reason.or_else(|| meant.find_map(shows));
        Ok(match reason {
            None => self.inner_reason(message)?,
            reason => reason,
        })
    }

    /// Why a result must not be stored because of calls that its tool made: a script may read a
    /// file without naming it, and may return any part of it.
    fn inner_reason(&self, message: &HostMessage) -> Result<Option<WithheldReason>> {
        let inner = message.inner_calls();
        for call in &inner.calls {
            let names = self.names_in_call(call);
            if let Some(reason) = self.call_reason(call, &names)? {
                return Ok(Some(reason));
            }
            if let Some(reason) = self.disk.reason_in_output(message, &Judged::of(names)) {
                return Ok(Some(reason));
            }
        }
        // Unknown calls may have read any file.
        let reach = inner.has_more.then(|| self.disk.agent_cwd.clone());
        let unknown = Judged { reach: reach.into_iter().collect(), heads_matches: false };
        Ok(self.disk.reason_in_output(message, &unknown))
    }

    fn is_own(&self, call: &HostToolCall) -> bool {
        self.state().is_own_tool(&call.tool)
    }

    /// Why a call's input or output must not be stored. Lists of paths show no text of files.
    fn call_reason(
        &self,
        call: &HostToolCall,
        commands: &[NamesInCommand],
    ) -> Result<Option<WithheldReason>> {
        let (asked, disk) = (Call::new(&call.tool, &call.args), &self.disk);
        let kind = asked.kind();
        if matches!(kind, ToolKind::List | ToolKind::Find) || self.is_own(call) {
            return Ok(None);
        }
        let touches = asked.touches();
        let paths = touches.iter().filter_map(|touch| disk.touched_file(*touch).ok());
        let shown = asked.command().and_then(|line| shown_file(&line, &disk.folder_of(asked)));
        for path in paths.map(|(_, path)| path).chain(shown.map(|shown| shown.path)) {
            if self.journal.is_forgotten(&disk.file_id(&path)?)? {
                return Ok(Some(WithheldReason::Forgotten));
            }
        }
        let is_excluded = |path: &str| path.len() <= MAX_PATH_BYTES && disk.is_excluded_given(path);
        let is_named = match kind {
            ToolKind::Read | ToolKind::Edit | ToolKind::Write if !touches.is_empty() => {
                touches.iter().any(|touch| is_excluded(touch.path))
            }
            ToolKind::Search => {
                let mut named =
                    asked.path().into_iter().chain(asked.paths()).chain(asked.name_globs());
                named.any(is_excluded)
            }
            _ => {
                commands.iter().any(|names| self.disk.names_excluded(names))
                    || self.disk.holds_excluded(&call.args)
            }
        };
        Ok(is_named.then_some(WithheldReason::Excluded))
    }

    /// The names in a call's command or program: unknown tools may run commands too.
    fn names_in_call(&self, call: &HostToolCall) -> Vec<NamesInCommand> {
        let (asked, disk) = (Call::new(&call.tool, &call.args), &self.disk);
        if !disk.excludes_any() || self.is_own(call) {
            return Vec::new();
        }
        let folder = disk.folder_of(asked);
        if let Some(line) = asked.command().or_else(|| command_line(&call.args)) {
            return vec![source::names_in(&line, &folder)];
        }
        let in_program = |program| source::names_in_program(program, &folder);
        asked.programs().into_iter().map(in_program).collect()
    }
}

impl Disk {
    /// Whether a text says that it is from an excluded file, or a person's command names one.
    pub(crate) fn text_reason(&self, message: &HostMessage) -> Option<WithheldReason> {
        if !self.excludes_any() {
            return None;
        }
        let is_so = match message.key.role.as_str() {
            "toolResult" => message.texts.iter().any(|text| self.is_from_excluded(text, false)),
            "user" => message
                .texts
                .iter()
                .any(|text| attached_files(text).any(|path| self.excludes_short(path))),
            "bashExecution" => self.runs_on_excluded(&message.raw),
            _ => false,
        };
        is_so.then_some(WithheldReason::Excluded)
    }

    /// Whether a command that a person ran names or shows an excluded file.
    fn runs_on_excluded(&self, message: &str) -> bool {
        let fields: Value = serde_json::from_str(message).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let names = source::names_in(text("command"), &self.agent_cwd);
        self.names_excluded(&names)
            || self.is_from_excluded(text("output"), names.heads_matches)
            || self.shows_excluded(text("output"), &Judged::of(vec![names])).is_some()
    }

    /// Whether an output says about itself that it comes from an excluded file.
    fn is_from_excluded(&self, text: &str, heads_matches: bool) -> bool {
        let named = source::named_in_output(text, heads_matches);
        named.iter().any(|path| self.excludes_short(path))
    }

    /// Why an output, judged by its command, must not be stored.
    fn reason_in_output(&self, message: &HostMessage, command: &Judged) -> Option<WithheldReason> {
        message.texts.iter().find_map(|text| self.shows_excluded(text, command))
    }

    /// Whether a text, judged by its command, is from an excluded file or may hold its secret.
    fn shows_excluded(&self, text: &str, command: &Judged) -> Option<WithheldReason> {
        if command.heads_matches && self.is_from_excluded(text, true) {
            return Some(WithheldReason::Excluded);
        }
        let may_hold_secret = !command.reach.is_empty()
            && redact_text(text).text.is_some()
            && command.reach.iter().any(|place| self.excludes_within(place));
        may_hold_secret.then_some(WithheldReason::Secret)
    }

    fn excludes_short(&self, path: &str) -> bool {
        path.len() <= MAX_PATH_BYTES && self.excludes_name(Path::new(path))
    }

    /// Whether a command names an excluded file: by a word, or by a path from the folder it enters.
    fn names_excluded(&self, names: &NamesInCommand) -> bool {
        if !self.excludes_any() {
            return false;
        }
        let by_word = |(index, word): (usize, &PathWord)| {
            let mut places = names.folders.iter().map(|folder| folder.join(&word.text));
            if word.is_code && may_be_member(&word.text) {
                return index < MAX_LOOKED_UP
                    && places.any(|place| self.is_there(&place) && self.is_excluded(&place));
            }
            let leads_there = || {
                let is_wild = word.is_whole && self.is_excluded_given(&word.text);
                is_wild || self.resolve(&word.text).is_ok_and(|path| self.is_excluded(&path))
            };
            places.any(|place| self.excludes_name(&place))
                || (index < MAX_LOOKED_UP && leads_there())
        };
        let by_path = |(index, path): (usize, &PathBuf)| {
            self.excludes_name(path)
                || path
                    .to_str()
                    .is_some_and(|path| index < MAX_LOOKED_UP && self.is_excluded_given(path))
        };
        names.words.iter().enumerate().any(by_word) || names.paths.iter().enumerate().any(by_path)
    }

    /// Whether arguments hold the path of an excluded file.
    fn holds_excluded(&self, args: &Value) -> bool {
        match args {
            Value::String(text) => {
                // A sentence may end like a path.
                let is_path = || !text.contains(char::is_whitespace) || self.exists(text);
                text.len() <= MAX_PATH_BYTES && self.is_excluded_given(text) && is_path()
            }
            Value::Array(values) => values.iter().any(|value| self.holds_excluded(value)),
            Value::Object(fields) => fields.values().any(|value| self.holds_excluded(value)),
            _ => false,
        }
    }
}

impl Judged {
    fn of(names: Vec<NamesInCommand>) -> Self {
        let heads_matches = names.iter().any(|names| names.heads_matches);
        Self { reach: names.into_iter().flat_map(|names| names.reach).collect(), heads_matches }
    }
}
