//! Outputs in messages that are no results of calls: what a person's command printed, what another
//! extension reports, and files that the host put before a person's words. They are taken in as if a
//! call had brought them; the rest of the message stays as it is.

use serde_json::{Value, json};

use super::instructions::called_skill;
use super::{Ingested, PendingCall};
use crate::LiveSession;
use base::error::Result;
use config::Instructions;
use context::forms::shortened;
use context::host::{COMMAND_ROLE, HostMessage, HostToolCall};
use context::pasted::{Pasted, pasted_files};
use session::{Event, Treatment, Within};

/// What another extension says in fewer tokens is no output, but something that the model should
/// know.
const LEAST_REPORT_TOKENS: u64 = 1_000;
/// Characters of a title, and most files that it names.
const TITLE_CHARS: usize = 80;
const TITLE_FILES: usize = 4;

/// An output in a message.
struct MessageOutput {
    tool: &'static str,
    args: Value,
    title: String,
    within: Within,
    is_error: bool,
    /// As a host gives them with a tool result.
    details: Value,
    /// Whether it may be shown in part from the start, as a tool result may.
    may_be_cut: bool,
}

impl LiveSession {
    /// Takes in the output that a message holds, if it does. `at`: its position in the chat.
    /// `is_kept`: whether the host sends the message itself.
    pub(super) fn take_output(
        &mut self,
        at: u64,
        message: &HostMessage,
        is_kept: bool,
    ) -> Result<()> {
        let Some(found) = self.output_in(message) else { return Ok(()) };
        let MessageOutput { tool, args, title, within, .. } = &found;
        let alone = found.alone(message);
        let call = HostToolCall { id: String::new(), tool: (*tool).to_owned(), args: args.clone() };
        let title = Some(title.clone());
        let pending = PendingCall { call, said: "".into(), answer: at, closed_at: None, title };
        let Ingested { mut fact, version, .. } = self.examine(pending, &alone, at)?;
        fact.within = Some(*within);
        let rest = message.tokens().saturating_sub(alone.text_tokens());
        fact.kept_tokens = Some(rest);
        self.journal.record(Event::HoldsOutput { at, output: fact.clone() });
        self.take_instructions(at, args, version.as_ref(), alone.text_tokens());
        if is_kept || !found.may_be_cut {
            return self.treat_as_shown(at, &Treatment::Given);
        }
        self.treat_at_first_sight(at, &fact, args, "", &alone)
    }

    fn output_in(&self, message: &HostMessage) -> Option<MessageOutput> {
        if message.withheld.is_some() {
            return None;
        }
        match message.key.role.as_str() {
            COMMAND_ROLE => command(message),
            "custom" => report(message),
            "user" => self.pasted(message),
            _ => None,
        }
    }

    /// The files that a message begins with: one alone is a read of it. Anybody may write that a text
    /// is of a file: only what is on disk like that counts as one.
    fn pasted(&self, message: &HostMessage) -> Option<MessageOutput> {
        let text = message.texts.first()?;
        let on_disk = |path: &str| self.disk.text_to_compare(path).ok().flatten();
        let files = pasted_files(text, &on_disk);
        let name = |file: &Pasted<'_>| format!("@{}", self.state().shown_path(file.path));
        let mut names: Vec<String> = files.iter().take(TITLE_FILES).map(name).collect();
        if files.len() > TITLE_FILES {
            names.push(format!("and {} more", files.len() - TITLE_FILES));
        }
        let is_on_disk = |file: &Pasted<'_>| {
            let is_it = |on_disk: String| {
                on_disk.strip_prefix('\u{feff}').unwrap_or(&on_disk) == &text[file.text.clone()]
            };
            on_disk(file.path).is_some_and(is_it)
        };
        let part = match files.as_slice() {
            [] => return None,
            [file] => file.text.clone(),
            [first, .., last] => first.block.start..last.block.end,
        };
        let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
        let (tool, args) = match paths.as_slice() {
            _ if !files.iter().all(is_on_disk) => ("read_files", json!({ "named": paths })),
            [path] => ("read", json!({ "path": path })),
            _ => ("read_files", json!({ "paths": paths })),
        };
        let within = Within { text: 0, start: part.start, end: part.end };
        Some(MessageOutput {
            tool,
            args,
            title: shortened(&names.join(" "), TITLE_CHARS),
            within,
            is_error: false,
            details: Value::Null,
            may_be_cut: true,
        })
    }
}

impl MessageOutput {
    /// The output as the result of a call.
    fn alone(&self, message: &HostMessage) -> HostMessage {
        let Within { text, start, end } = self.within;
        let text = message.texts.get(text).and_then(|text| text.get(start..end));
        let result = json!({
            "role": "toolResult",
            "content": [{ "type": "text", "text": text.unwrap_or_default() }],
            "isError": self.is_error,
            "details": self.details,
            "timestamp": message.key.timestamp,
        });
        HostMessage::parse(result.to_string(), message.counter)
    }
}

/// What a command printed that a person ran (`!npm test`).
fn command(message: &HostMessage) -> Option<MessageOutput> {
    let within = whole(message, 0).filter(|within| within.end > 0)?;
    let fields: Value = serde_json::from_str(&message.raw).ok()?;
    let line = fields.get("command")?.as_str()?;
    let exit = fields.get("exitCode").and_then(Value::as_i64);
    let is_cancelled = fields.get("cancelled") == Some(&Value::Bool(true));
    let whole_at = fields.get("fullOutputPath").filter(|path| path.is_string());
    Some(MessageOutput {
        tool: "bash",
        args: json!({ "command": line }),
        title: shortened(
            &format!("!{}", line.trim().lines().next().unwrap_or_default()),
            TITLE_CHARS,
        ),
        within,
        is_error: is_cancelled || exit.is_some_and(|code| code != 0),
        details: json!({ "exitCode": exit, "fullOutputPath": whole_at }),
        may_be_cut: true,
    })
}

/// What another extension reports, to the person as well: the longest text of its message. What it
/// shows the model alone may tell it what to do, and so may a skill: these stay.
fn report(message: &HostMessage) -> Option<MessageOutput> {
    let fields: Value = serde_json::from_str(&message.raw).ok()?;
    let kind = fields.get("customType").and_then(Value::as_str).filter(|kind| !kind.is_empty())?;
    let is_shown = fields.get("display") == Some(&Value::Bool(true));
    if !is_shown || Instructions::are_from(kind) || called_skill(message).is_some() {
        return None;
    }
    let sizes = message.texts.iter().enumerate();
    let (longest, text) = sizes.rev().max_by_key(|(_, text)| text.len())?;
    if message.counter.count(text) <= LEAST_REPORT_TOKENS {
        return None;
    }
    Some(MessageOutput {
        tool: "message",
        args: json!({ "customType": kind }),
        title: shortened(kind, TITLE_CHARS),
        within: whole(message, longest)?,
        is_error: false,
        details: Value::Null,
        may_be_cut: false,
    })
}

fn whole(message: &HostMessage, text: usize) -> Option<Within> {
    Some(Within { text, start: 0, end: message.texts.get(text)?.len() })
}
