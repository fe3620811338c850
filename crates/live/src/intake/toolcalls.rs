//! Toolcall objects: what a call asked for and what it showed, each as a version.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use uuid::{Builder, Uuid};

use super::PendingCall;
use super::describe::{args_display, blank_fact, brief_of};
use super::full_output::told_cut;
use crate::LiveSession;
use crate::journal::{FULL_OUTPUT, image_name};
use base::error::Result;
use base::harness::Call;
use base::object::{Envelope, Hash, ObjectId, ObjectType, Payload};
use context::content::images_of;
use context::deeds::shown_brief;
use context::forms::lines_phrase;
use context::host::{HostMessage, HostToolCall};
use session::{Event, RequestKey, ResultFact, Shows};

impl LiveSession {
    /// Stages the toolcall of a call and its result; returns the object and the version. If the
    /// host cut the output, the fact then says so. `at`: the position in the chat of its message.
    pub(super) fn put_toolcall(
        &mut self,
        pending: &PendingCall,
        fact: &mut ResultFact,
        message: &HostMessage,
        at: u64,
    ) -> Result<(ObjectId, Hash)> {
        let PendingCall { call, closed_at, title, .. } = pending;
        let content = match &fact.shows {
            _ if message.withheld.is_some() => None,
            Shows::File { range, .. } => {
                let lines = lines_phrase(&fact.counted(&[*range]));
                Some(format!("{} {} {lines}", call.tool, args_display(&call.args)))
            }
            _ => Some(message.text().into_owned()),
        };
        let made = match closed_at {
            Some(closed_at) => (*closed_at, None),
            None => (at, message.key.timestamp),
        };
        self.put((call, title.as_deref()), content, fact, message, made)
    }

    /// Stages the toolcall of a call without a result: status `fail`, null content.
    pub(super) fn put_unanswered(&mut self, call: &HostToolCall, at: u64) -> Result<()> {
        let mut fact = blank_fact(&call.tool, RequestKey::of(""));
        fact.ok = false;
        let message = HostMessage::parse("{}", self.options.counter);
        self.put((call, None), None, &mut fact, &message, (at, None)).map(drop)
    }

    /// `title`: what a person calls it, if it is none of the model's. `made`: position in the chat,
    /// and time, by which the object is known.
    fn put(
        &mut self,
        (call, title): (&HostToolCall, Option<&str>),
        content: Option<String>,
        fact: &mut ResultFact,
        message: &HostMessage,
        (at, time): (u64, Option<i64>),
    ) -> Result<(ObjectId, Hash)> {
        let mut fields = self.fields_of(call, at);
        fields.insert("args_display".into(), json!(args_display(&call.args)));
        fields.extend(title.map(|title| ("title".to_owned(), json!(title))));
        fields.insert("status".into(), json!(if fact.ok { "ok" } else { "fail" }));
        let files = self.file_refs(&call.id, &fact.shows);
        if !files.is_empty() {
            fields.insert("file_refs".into(), Value::Array(files));
        }
        if let Some(withheld) = &message.withheld {
            fields.insert("no_content".into(), json!(withheld.reason.as_str()));
        }
        if let Some(diff) = message.details.get("diff").filter(|diff| diff.is_string()) {
            fields.insert("diff".into(), diff.clone());
        }
        let brief = if title.is_some() { String::new() } else { brief_of(call, fact, message) };
        if !brief.is_empty() {
            // In the form that a line shows, so that it is found when the call is forgotten.
            fields.insert("brief".into(), json!(shown_brief(&brief)));
        }
        let mut additional = images(message);
        let asked = Call::new(&call.tool, &call.args);
        let cut = match self.full_output(asked, message, &mut fields) {
            Some((whole, cut)) => {
                additional.insert(FULL_OUTPUT.to_owned(), whole);
                Some(cut)
            }
            None => told_cut(asked, message),
        };
        fact.cut = cut.filter(|_| fact.shows == Shows::Own);
        let id = self.toolcall_id(call, time, &mut fields)?;
        let payload = Payload { content, fields, additional, ..Payload::default() };
        let version = self.stage_toolcall(&id, payload)?;
        self.journal.record(Event::Toolcall {
            object: id.clone(),
            tool: title.unwrap_or(&call.tool).to_owned(),
            ok: fact.ok,
            version: version.clone(),
            shows: Some(fact.shows.clone()).filter(|shows| matches!(shows, Shows::File { .. })),
            brief,
        });
        Ok((id, version))
    }

    /// The fields by which a call is known.
    pub(super) fn fields_of(&self, call: &HostToolCall, at: u64) -> Map<String, Value> {
        let chat = self.journal.chat_id();
        let fields = [
            ("tool", json!(call.tool)),
            ("args", call.args.clone()),
            ("chat_ref", json!(chat)),
            ("position", json!(at)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn stage_toolcall(&mut self, id: &ObjectId, payload: Payload) -> Result<Hash> {
        let version = payload.content_hash(None)?;
        if let Some(text) = &payload.content {
            self.journal.remember_text(id, &version, text.as_str().into());
        }
        let envelope = Envelope::unsourced(id.clone(), ObjectType::Toolcall)?;
        // Only if the ID is still free, or the call still this one.
        self.journal.stage_seen(envelope, payload, version.clone())?;
        Ok(version)
    }

    /// The provider's call ID, unless another call has it: other chat, position, tool or arguments,
    /// anywhere in the store. Local servers repeat `call_0`. Then a UUIDv7, with the provider's ID
    /// as a field.
    pub(super) fn toolcall_id(
        &self,
        call: &HostToolCall,
        time: Option<i64>,
        fields: &mut Map<String, Value>,
    ) -> Result<ObjectId> {
        let id = ObjectId::new(&*call.id);
        if !call.id.is_empty() && self.is_free(&id, fields)? {
            return Ok(id);
        }
        // Includes the chat, so that sessions with equal calls do not take each other's IDs at the
        // same moment.
        let chat = fields.get("chat_ref").cloned().unwrap_or_default();
        let what = [&json!(call.id), &json!(call.tool), &call.args, &fields["position"], &chat];
        let mut number = 0_u64;
        loop {
            let id = made_id(time, &json!([what, number]));
            let id = ObjectId::new(id.to_string());
            if self.is_free(&id, fields)? {
                if !call.id.is_empty() {
                    fields.insert("provider_call_id".into(), json!(call.id));
                }
                return Ok(id);
            }
            number += 1;
        }
    }

    /// Whether no call other than the one with these fields has an ID.
    fn is_free(&self, id: &ObjectId, fields: &Map<String, Value>) -> Result<bool> {
        let known = self.journal.latest_fields(id)?;
        Ok(known.is_none_or(|known| {
            ["chat_ref", "position", "tool", "args"]
                .iter()
                .all(|field| known.get(*field) == fields.get(*field))
        }))
    }

    /// Stages a new version of a toolcall whose text the host changed; returns the arguments of the
    /// call.
    pub(super) fn put_toolcall_text(
        &mut self,
        id: &ObjectId,
        fact: &ResultFact,
        message: &HostMessage,
    ) -> Result<Value> {
        let Some(mut fields) = self.journal.latest_fields(id)? else { return Ok(Value::Null) };
        fields.insert("status".into(), json!(if fact.ok { "ok" } else { "fail" }));
        let args = fields.get("args").cloned().unwrap_or(Value::Null);
        // The full output may contain what another extension removed.
        fields.remove("full_output");
        let mut content = Some(message.text().into_owned());
        let mut brief = self.state().brief(id).to_owned();
        if let Some(withheld) = &message.withheld {
            content = None;
            brief.clear();
            fields.remove("brief");
            fields.remove("diff");
            fields.insert("no_content".into(), json!(withheld.reason.as_str()));
        } else {
            fields.remove("no_content");
        }
        let additional = images(message);
        let payload = Payload { content, fields, additional, ..Payload::default() };
        let version = self.stage_toolcall(id, payload)?;
        self.journal.record(Event::Toolcall {
            object: id.clone(),
            tool: fact.tool.clone(),
            ok: fact.ok,
            version,
            shows: None,
            brief,
        });
        Ok(args)
    }
}

/// The images of a result, each as the JSON of its block, by the names of additional contents.
fn images(message: &HostMessage) -> BTreeMap<String, String> {
    let images = message.content().filter(|_| message.images > 0).map(images_of);
    let images = images.unwrap_or_default();
    let named = images.into_iter().enumerate();
    named.map(|(index, image)| (image_name(index + 1), image.to_owned())).collect()
}

/// A UUIDv7 (RFC 9562, section 5.7) whose random bits come from the call itself, so that the same
/// events give the same ID: an ID may stand in a request, and a call that is heard again after a
/// crash must get the one it had.
///
/// `time`: of the result, in milliseconds since 1970.
fn made_id(time: Option<i64>, call: &Value) -> Uuid {
    let hash = Hash::of(call.to_string()).to_bytes().unwrap_or_default();
    let random = std::array::from_fn(|index| hash[index]);
    let millis = time.and_then(|time| u64::try_from(time).ok()).unwrap_or_default();
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}
