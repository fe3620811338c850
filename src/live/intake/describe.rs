//! What a toolcall object says of its call in a few words. Pure.

use std::borrow::Cow;

use serde_json::Value;

use crate::context::deeds::{brief, brief_of_change, brief_of_inner};
use crate::context::host::{HostCall, HostMessage};
use crate::context::last_words::last_words;
use crate::harness::{Call, command_line};
use crate::session::{OutputClass, RequestKey, ResultFact, Shows};

/// Characters of the last line that a reference line quotes.
const LAST_LINE_CHARS: usize = 80;
/// Characters of a call's arguments in its metadata.
const ARGS_CHARS: usize = 80;

/// What a call asked for, in a few words; nothing of what is not to be stored, nor where the lines of a file say it.
pub(super) fn brief_of(call: &HostCall, fact: &ResultFact, message: &HostMessage) -> String {
    if message.withheld.is_some() || matches!(fact.shows, Shows::File { .. }) {
        return String::new();
    }
    if !matches!(fact.shows, Shows::Change { .. }) {
        let asked = brief(&call.tool, &call.args);
        // A script is too long to stand in a line; what it called says what it was about.
        return if asked.is_empty() { brief_of_inner(&message.inner_calls().calls) } else { asked };
    }
    brief_of_change(&call.tool, &call.args, message.details.get("diff").and_then(Value::as_str))
}

/// Fills in what a result's content says. `can_show`: whether `activate` can bring an image back; if not, images stay.
pub(super) fn describe(message: &HostMessage, fact: ResultFact, can_show: bool) -> ResultFact {
    let images_stay = message.images > 0 && !can_show;
    let kept_tokens = match message.other_tokens() {
        other if images_stay => Some(other.unwrap_or(0) + message.image_tokens()),
        other => other,
    };
    let has_text = !message.texts.is_empty();
    // A placeholder says nothing of the text.
    let text = if message.withheld.is_some() { Cow::Borrowed("") } else { message.text() };
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    ResultFact {
        ok: !message.is_error,
        exit: (fact.tool == "bash").then(|| exit_code(last, message.is_error)).flatten(),
        lines: text.split('\n').count() as u64,
        ends_line: text.ends_with('\n'),
        last: cut(last_words(&text), LAST_LINE_CHARS),
        is_output: message.is_readable && (has_text || kept_tokens.is_none()),
        kept_tokens,
        images: if images_stay { 0 } else { message.images },
        ..fact
    }
}

/// The facts of a call of which nothing is known but what it asked for.
pub(super) fn blank_fact(tool: &str, request: RequestKey) -> ResultFact {
    ResultFact {
        object: None,
        tool: tool.to_owned(),
        request,
        ok: true,
        exit: None,
        lines: 0,
        ends_line: false,
        last: String::new(),
        cut: None,
        is_output: false,
        kept_tokens: None,
        images: 0,
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
pub(super) fn args_display(args: &Value) -> String {
    let pattern = || args.get("pattern").and_then(Value::as_str).map(str::to_owned);
    let path = Call::new("", args).path().map(str::to_owned);
    let named = path.or_else(|| command_line(args)).or_else(pattern);
    let text = named.unwrap_or_else(|| args.to_string());
    cut(text.lines().next().unwrap_or_default(), ARGS_CHARS)
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
