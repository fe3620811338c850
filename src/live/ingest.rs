//! From new host messages to events, toolcall objects and chat items.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::LiveSession;
use super::chat_item::{self, ContentFrom};
use super::commit::ChatChange;
use crate::context::deeds::{self, brief, brief_of_change, shown_brief};
use crate::context::epoch::Bound;
use crate::context::first_sight::{self, Output};
use crate::context::host::{HostCall, HostMessage, MESSAGE_TOKENS};
use crate::context::log_layout::{Texts, headed_lines};
use crate::context::tool_kind;
use crate::error::{Error, Result};
use crate::object::{Envelope, Hash, ObjectId, ObjectType, Payload, canonical_json, locate_slice};
use crate::session::{
    Cause, Effect, Event, LineRange, MessageKind, OutputClass, RequestKey, ResultFact, Shows,
    Treatment, is_own_tool,
};
use crate::settings::Layout;
use crate::store::Expected;

/// Characters of the last line that a reference line quotes.
const LAST_LINE_CHARS: usize = 80;
/// Characters of a call's arguments in its metadata.
const ARGS_CHARS: usize = 80;

/// Tokens of a call that brings back what is missing, and of its answer.
const ASKING_TOKENS: u64 = 60;

/// A call of the newest assistant message that has no result yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PendingCall {
    call: HostCall,
    /// What the model wrote beside it.
    said: Arc<str>,
}

/// A tool result, worked out.
struct Ingested {
    fact: ResultFact,
    from: Option<ContentFrom>,
    args: Value,
    said: Arc<str>,
}

impl LiveSession {
    /// Takes a new message at the end of the chat.
    pub(super) fn ingest(&mut self, message: &HostMessage) -> Result<()> {
        let ingested = match message.key.role.as_str() {
            "toolResult" => self.ingest_result(message)?,
            _ => None,
        };
        let role = message.key.role.as_str();
        if matches!(role, "user" | "assistant") {
            self.close_unanswered()?;
        }
        if role == "assistant" {
            self.pending = pending_calls(message, message.calls.clone());
        }
        let kind = match (&ingested, role) {
            (Some(ingested), _) => MessageKind::Result(ingested.fact.clone()),
            (None, "user") => MessageKind::User,
            (None, "assistant") => MessageKind::Assistant,
            _ => MessageKind::Other,
        };
        let at = self.state.chat().len();
        self.record(Event::Message {
            key: message.key.clone(),
            digest: message.digest(),
            kind,
            tokens: message.tokens,
            withheld: message.withheld.is_some(),
        });
        let from = ingested.as_ref().and_then(|ingested| ingested.from.clone());
        self.stage_item(at, message, from)?;
        if let Some(ingested) = ingested.filter(|_| message.withheld.is_none()) {
            self.treat_at_first_sight(at, &ingested, message)?;
        }
        Ok(())
    }

    /// Takes the changed text of a known message. A tool result's is a new version of its toolcall.
    pub(super) fn ingest_edit(&mut self, at: u64, message: &HostMessage) -> Result<()> {
        let (tokens, digest) = (message.tokens, message.digest());
        let withheld = message.withheld.is_some();
        let Some(fact) = self.state.result(at).cloned() else {
            let known = self.state.chat().get(at);
            let kind = known.map_or(MessageKind::Other, |known| known.kind.clone());
            self.record(Event::Edited { at, digest, kind, tokens, withheld });
            return self.stage_item_change(at, message);
        };
        let fact = ResultFact { shows: Shows::Own, ..describe(message, fact) };
        let args = match &fact.object {
            Some(object) if !self.is_forgotten(object)? => {
                self.put_toolcall_text(object, &fact, message)?
            }
            _ => Value::Null,
        };
        let kind = MessageKind::Result(fact.clone());
        self.record(Event::Edited { at, digest, kind, tokens, withheld });
        self.stage_item_change(at, message)?;
        if withheld {
            return Ok(());
        }
        self.treat_at_first_sight(
            at,
            &Ingested { fact, from: None, args, said: "".into() },
            message,
        )
    }

    /// Calls of the newest assistant message that nothing has answered yet; none once a person wrote after it.
    pub(super) fn unanswered_calls(&self) -> Result<Vec<PendingCall>> {
        let mut answered: Vec<&str> = Vec::new();
        for (at, message) in self.state.window().rev() {
            match &message.kind {
                MessageKind::Result(_) => {
                    answered.extend(message.key.calls.first().map(String::as_str));
                }
                MessageKind::Assistant => {
                    let message = self.stored_message(at)?;
                    let mut calls = message.calls.clone();
                    for id in answered {
                        if let Some(place) = calls.iter().position(|call| call.id == id) {
                            calls.remove(place);
                        }
                    }
                    return Ok(pending_calls(&message, calls));
                }
                MessageKind::User => break,
                MessageKind::Other => {}
            }
        }
        Ok(Vec::new())
    }

    /// The message at a position of the chat, from what is staged or stored.
    pub(super) fn stored_message(&self, at: u64) -> Result<HostMessage> {
        if let Some(change) = self.staged.chat.as_ref().filter(|change| at >= change.keep) {
            let place = usize::try_from(at - change.keep).unwrap_or(usize::MAX);
            if let Some(item) = change.add.get(place) {
                return self.message_of(at, item);
            }
        }
        let items = self.store.items(&self.ids.chat, self.stored.chat_at(), at..at + 1)?;
        let item = items.first().ok_or_else(|| Error::NotFound {
            id: self.ids.chat.clone(),
            at: format!("with message {at}"),
        })?;
        self.message_of(at, item)
    }

    fn message_of(&self, at: u64, item: &str) -> Result<HostMessage> {
        let counter = self.options.counter;
        match (chat_item::read(item, self, counter), self.state.chat().get(at)) {
            (Err(Error::Forgotten { .. }), Some(known)) => {
                chat_item::read_forgotten(item, &known.digest, known.tokens, counter)
            }
            (message, _) => message,
        }
    }

    /// Works out a tool result. `None` if it answers no call that is known: it passes through.
    fn ingest_result(&mut self, message: &HostMessage) -> Result<Option<Ingested>> {
        let id = message.key.calls.first().map(String::as_str).unwrap_or_default();
        let Some(place) = self.pending.iter().position(|pending| pending.call.id == id) else {
            return Ok(None);
        };
        let PendingCall { call, said } = self.pending.remove(place);
        let request =
            RequestKey::of(canonical_json(&json!({ "tool": call.tool, "args": call.args }))?);
        let mut fact = describe(message, blank_fact(&call.tool, request));
        fact.class = tool_kind::class(&call.tool, &call.args);
        fact.argument_tokens = self.options.counter.tokens_of(&deeds::left_out(&call.args));
        let object = ObjectId::new(&*call.id);
        if message.withheld.is_some() && self.is_forgotten(&object)? {
            return Ok(Some(Ingested { fact, from: None, args: call.args, said }));
        }
        if is_own_tool(&call.tool) {
            fact.shows = self.activated(&call, message)?;
            let args = call.args;
            return Ok(Some(Ingested { fact, from: None, args, said }));
        }
        let (shows, slice) = self.shown(&call, message)?;
        fact.shows = shows;
        let content = match &fact.shows {
            _ if message.withheld.is_some() => None,
            Shows::File { range, .. } => {
                Some(format!("{} {} lines {range}", call.tool, args_display(&call.args)))
            }
            _ => Some(message.text().into_owned()),
        };
        let (object, version) = self.put_toolcall(&call, content, &fact, message)?;
        let whole = || ContentFrom::whole(&object, &version);
        let from = slice.or_else(|| fact.plain.then(whole));
        fact.object = Some(object);
        Ok(Some(Ingested { fact, from, args: call.args, said }))
    }

    /// What the result of a context tool shows: lines of an object if they stand in it as they were given.
    fn activated(&self, call: &HostCall, message: &HostMessage) -> Result<Shows> {
        let text = message.text();
        let Some((_, shown)) = text.split_once('\n').filter(|_| message.plain) else {
            return Ok(Shows::Own);
        };
        for effect in self.state.effects(&call.id) {
            let Effect::Activated(object, version, ranges) = effect else { continue };
            let lines = headed_lines("", &self.text(object, version)?, ranges);
            if lines.strip_prefix('\n') == Some(shown) {
                let (object, version) = (object.clone(), version.clone());
                return Ok(Shows::Activated { object, version, ranges: ranges.clone() });
            }
        }
        Ok(Shows::Own)
    }

    /// What a result shows: lines of a file's version if rendering that version gives exactly the text; that the model
    /// changed a file; else its own text.
    fn shown(
        &mut self,
        call: &HostCall,
        message: &HostMessage,
    ) -> Result<(Shows, Option<ContentFrom>)> {
        let own = (Shows::Own, None);
        if message.is_error || !message.plain {
            return Ok(own);
        }
        let Ok(Some((cause, path))) = self.touched(&call.tool, &call.args) else { return Ok(own) };
        let Some((file, versions)) = self.touched_versions(call, message, cause, &path)? else {
            return Ok(own);
        };
        if cause.by_model() {
            return Ok((Shows::Change { object: file }, None));
        }
        let first = call.args.get("offset").and_then(Value::as_u64).unwrap_or(1).max(1);
        for version in versions {
            let Ok(text) = self.text(&file, &version) else { continue };
            if let Some(slice) = locate_slice(&text, &message.text(), first) {
                let range = LineRange { first: slice.first_line, last: slice.last_line };
                let owner = self.owner_of(&file, &version)?;
                let from = ContentFrom::lines(&owner, &version, range, &slice.suffix);
                return Ok((Shows::File { object: file, version, range }, Some(from)));
            }
        }
        Ok(own)
    }

    /// The file that a call read or changed and, where it read, the versions: as noted when it ran, else what the disk holds
    /// now.
    fn touched_versions(
        &mut self,
        call: &HostCall,
        message: &HostMessage,
        cause: Cause,
        path: &Path,
    ) -> Result<Option<(ObjectId, Vec<Hash>)>> {
        let location = self.location(path);
        // A file that was read and then moved, before its lines came in, is known as what it is now.
        let file = self.state.current(&location.id()?).clone();
        let mut noted = false;
        let mut versions = Vec::new();
        for effect in self.state.effects(&call.id) {
            match effect {
                Effect::Read(read, version) if *read == file && !cause.by_model() => {
                    noted = true;
                    versions.push(version.clone());
                }
                Effect::Changed(changed) if *changed == file && cause.by_model() => noted = true,
                _ => {}
            }
        }
        if noted {
            return Ok(Some((file, versions)));
        }
        if self.is_told_of(&location) && message.withheld.is_none() {
            if !cause.by_model() {
                return self.told_by_read(&location, call, message);
            }
            let told = self.told_of_change(&location, cause, &call.id, &call.args)?;
            return Ok(told.map(|(file, _)| (file, Vec::new())));
        }
        let indexed = self.index_file(path, cause, Some(&call.id))?;
        Ok(indexed.map(|(file, version)| (file, vec![version])))
    }

    /// Calls that were never answered get an object that says so: status `fail`, null content.
    fn close_unanswered(&mut self) -> Result<()> {
        for PendingCall { call, .. } in std::mem::take(&mut self.pending) {
            if !is_own_tool(&call.tool) {
                let mut fact = blank_fact(&call.tool, RequestKey::of(""));
                fact.ok = false;
                self.put_toolcall(
                    &call,
                    None,
                    &fact,
                    &HostMessage::parse("{}", self.options.counter),
                )?;
            }
        }
        Ok(())
    }

    fn put_toolcall(
        &mut self,
        call: &HostCall,
        content: Option<String>,
        fact: &ResultFact,
        message: &HostMessage,
    ) -> Result<(ObjectId, Hash)> {
        let mut fields = Map::new();
        fields.insert("tool".into(), json!(call.tool));
        fields.insert("args".into(), call.args.clone());
        fields.insert("args_display".into(), json!(args_display(&call.args)));
        fields.insert("status".into(), json!(if fact.ok { "ok" } else { "fail" }));
        fields.insert("chat_ref".into(), json!(self.ids.chat));
        fields.insert("position".into(), json!(self.state.chat().len()));
        if let Shows::File { object, .. } | Shows::Change { object } = &fact.shows {
            fields.insert("file_refs".into(), json!([object]));
        }
        if let Some(withheld) = &message.withheld {
            fields.insert("no_content".into(), json!(withheld.reason.as_str()));
        }
        if let Some(diff) = message.details.get("diff").filter(|diff| diff.is_string()) {
            fields.insert("diff".into(), diff.clone());
        }
        let brief = brief_of(call, fact, message);
        if !brief.is_empty() {
            // As a line shows it, so that it is found when the call is forgotten.
            fields.insert("brief".into(), json!(shown_brief(&brief)));
        }
        let additional = self.full_output(message, &mut fields).into_iter().collect();
        let id = self.toolcall_id(call, &mut fields)?;
        let payload = Payload { content, fields, additional, ..Payload::default() };
        let version = payload.content_hash(None)?;
        if let Some(text) = &payload.content {
            self.remember_text(&id, &version, text.as_str().into());
        }
        let envelope = Envelope::unsourced(id.clone(), ObjectType::Toolcall)?;
        self.staged.objects.push((envelope, payload, Expected::Any));
        self.record(Event::Toolcall {
            object: id.clone(),
            tool: call.tool.clone(),
            ok: fact.ok,
            version: version.clone(),
            shows: Some(fact.shows.clone()).filter(|shows| matches!(shows, Shows::File { .. })),
            brief,
        });
        Ok((id, version))
    }

    /// The provider's call ID, unless another call has it: other chat, position, tool or arguments, anywhere in the store.
    /// Local servers repeat `call_0`. Then a UUIDv7, with the provider's ID as a field.
    fn toolcall_id(&self, call: &HostCall, fields: &mut Map<String, Value>) -> Result<ObjectId> {
        let id = ObjectId::new(&*call.id);
        let known = self.latest_fields(&id)?;
        let same = |known: &Map<String, Value>| {
            ["chat_ref", "position", "tool", "args"]
                .iter()
                .all(|field| known.get(*field) == fields.get(*field))
        };
        if !call.id.is_empty() && known.as_ref().is_none_or(same) {
            return Ok(id);
        }
        fields.insert("provider_call_id".into(), json!(call.id));
        Ok(ObjectId::new(Uuid::now_v7().to_string()))
    }

    /// A new version of a toolcall whose text the host changed; returns the arguments of the call.
    fn put_toolcall_text(
        &mut self,
        id: &ObjectId,
        fact: &ResultFact,
        message: &HostMessage,
    ) -> Result<Value> {
        let Some(mut fields) = self.latest_fields(id)? else { return Ok(Value::Null) };
        fields.insert("status".into(), json!(if fact.ok { "ok" } else { "fail" }));
        let args = fields.get("args").cloned().unwrap_or(Value::Null);
        // What another extension took out may stand in the whole output.
        fields.remove("full_output");
        let mut content = Some(message.text().into_owned());
        if let Some(withheld) = &message.withheld {
            content = None;
            fields.remove("brief");
            fields.remove("diff");
            fields.insert("no_content".into(), json!(withheld.reason.as_str()));
        } else {
            fields.remove("no_content");
        }
        let brief = match &message.withheld {
            Some(_) => String::new(),
            None => self.state.brief(id).to_owned(),
        };
        let payload = Payload { content, fields, ..Payload::default() };
        let version = payload.content_hash(None)?;
        if let Some(text) = &payload.content {
            self.remember_text(id, &version, text.as_str().into());
        }
        let envelope = Envelope::unsourced(id.clone(), ObjectType::Toolcall)?;
        self.staged.objects.push((envelope, payload, Expected::Any));
        self.record(Event::Toolcall {
            object: id.clone(),
            tool: fact.tool.clone(),
            ok: fact.ok,
            version,
            shows: None,
            brief,
        });
        Ok(args)
    }

    /// Decides how a result is shown. One whose text changed may have been referred to by later ones, so it does not refer.
    fn treat_at_first_sight(
        &mut self,
        at: u64,
        ingested: &Ingested,
        message: &HostMessage,
    ) -> Result<()> {
        if self.settings.layout != Layout::Log {
            return Ok(());
        }
        let Ingested { fact, args, said, .. } = ingested;
        let text = &*message.text();
        let tokens = message.tokens.saturating_sub(MESSAGE_TOKENS);
        let counter = self.options.counter;
        let output = Output { at, fact, text, tokens, counter, args, said };
        let is_new = self.state.chat().get(at).is_some_and(|known| known.changes == 0);
        let standing = if is_new { self.standing_blocks(&output)? } else { Vec::new() };
        let limit = if self.may_preview(tokens) { self.settings.preview_tokens } else { 0 };
        let treatment = first_sight::decide(&self.state, &output, &standing, limit);
        if treatment != Treatment::Given {
            self.record(Event::Treated { at, treatment });
        }
        if is_new { self.note_lines(at) } else { Ok(()) }
    }

    /// Whether the bill can bear a preview of an output of so many tokens. Once the model needed something that did not stand,
    /// it has to bear that the rest of this one is needed right away, in a call of its own.
    fn may_preview(&self, tokens: u64) -> bool {
        let bill = self.state.bill();
        let (Some(last), Some(note)) = (bill.last(), bill.prices()) else { return true };
        let asking = note.prices.cost(last.bill.ours.total(), ASKING_TOKENS);
        // About half of a long output is shown, and then shown again.
        let again = note.prices.cost(0, tokens / 2);
        let reserve = if bill.has_missed() { asking + again } else { 0.0 };
        Bound::of(bill, &self.settings).affords(reserve)
    }

    fn stage_item(
        &mut self,
        at: u64,
        message: &HostMessage,
        from: Option<ContentFrom>,
    ) -> Result<()> {
        let (turn, step) =
            self.state.chat().get(at).map_or((0, 0), |known| (known.turn, known.step));
        let item = chat_item::write(message, turn, step, from, self)?;
        let change = self.staged.chat.get_or_insert(ChatChange { keep: at, add: Vec::new() });
        change.add.push(item);
        Ok(())
    }

    /// Puts another item in the place of a known one; those behind it are written again.
    fn stage_item_change(&mut self, at: u64, message: &HostMessage) -> Result<()> {
        let (turn, step) =
            self.state.chat().get(at).map_or((0, 0), |known| (known.turn, known.step));
        let item = chat_item::write(message, turn, step, None, self)?;
        let keep = self.staged.chat.as_ref().map_or(self.state.chat().len(), |change| change.keep);
        if at < keep {
            let before = self.store.items(&self.ids.chat, self.stored.chat_at(), at..keep)?;
            let change = self.staged.chat.get_or_insert(ChatChange { keep, add: Vec::new() });
            change.add.splice(0..0, before);
            change.keep = at;
        }
        if let Some(change) = &mut self.staged.chat {
            let place = usize::try_from(at - change.keep).unwrap_or(usize::MAX);
            if let Some(slot) = change.add.get_mut(place) {
                *slot = item;
            }
        }
        Ok(())
    }
}

/// What a call asked for, in a few words; nothing of what is not to be stored, nor where the lines of a file say it.
fn brief_of(call: &HostCall, fact: &ResultFact, message: &HostMessage) -> String {
    if message.withheld.is_some() || matches!(fact.shows, Shows::File { .. }) {
        return String::new();
    }
    if !matches!(fact.shows, Shows::Change { .. }) {
        return brief(&call.args);
    }
    brief_of_change(&call.tool, &call.args, message.details.get("diff").and_then(Value::as_str))
}

/// Calls that wait for their results, with what the model wrote beside them.
fn pending_calls(message: &HostMessage, calls: Vec<HostCall>) -> Vec<PendingCall> {
    let said: Arc<str> = message.said().join("\n").into();
    calls.into_iter().map(|call| PendingCall { call, said: Arc::clone(&said) }).collect()
}

/// Fills in what a result's text says.
fn describe(message: &HostMessage, fact: ResultFact) -> ResultFact {
    // A placeholder says nothing of the text.
    let text = if message.withheld.is_some() { Cow::Borrowed("") } else { message.text() };
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    ResultFact {
        ok: !message.is_error,
        exit: (fact.tool == "bash").then(|| exit_code(last, message.is_error)).flatten(),
        lines: text.split('\n').count() as u64,
        last: cut(last.trim(), LAST_LINE_CHARS),
        plain: message.plain,
        ..fact
    }
}

fn blank_fact(tool: &str, request: RequestKey) -> ResultFact {
    ResultFact {
        object: None,
        tool: tool.to_owned(),
        request,
        ok: true,
        exit: None,
        lines: 0,
        last: String::new(),
        plain: false,
        argument_tokens: 0,
        class: OutputClass::Other,
        shows: Shows::Own,
    }
}

/// Exit code of a shell command: 0 if the tool did not fail, else what its last line names.
fn exit_code(last_line: &str, is_error: bool) -> Option<i64> {
    if !is_error {
        return Some(0);
    }
    last_line.strip_prefix("Command exited with code ")?.trim().parse().ok()
}

/// Arguments for people: the path or the command, else the JSON; cut to 80 characters.
fn args_display(args: &Value) -> String {
    let named = ["path", "command", "pattern"].iter().find_map(|name| args.get(*name)?.as_str());
    let text = named.map_or_else(|| args.to_string(), str::to_owned);
    cut(text.lines().next().unwrap_or_default(), ARGS_CHARS)
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
