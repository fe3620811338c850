//! Short descriptions of calls for toolcall objects. Pure.

use std::borrow::Cow;

use serde_json::Value;

use base::harness::{Call, ToolKind, command_line, told_exit};
use context::deeds::{brief, brief_of_change, brief_of_inner};
use context::forms::shortened;
use context::host::{HostMessage, HostToolCall};
use context::last_words::last_words;
use session::{RequestKey, ResultFact, Shows};

/// Characters of the last line that a reference line quotes.
const LAST_LINE_CHARS: usize = 80;
/// Characters of a call's arguments in its metadata.
const ARGS_CHARS: usize = 80;

/// What a call asked for, in a few words; without any text that must not be stored, or that the
/// lines of a file show anyway.
pub(super) fn brief_of(call: &HostToolCall, fact: &ResultFact, message: &HostMessage) -> String {
    if message.withheld.is_some() || matches!(fact.shows, Shows::File { .. }) {
        return String::new();
    }
    if !matches!(fact.shows, Shows::Change { .. }) {
        let asked = brief(&call.tool, &call.args);
        // A script is too long for one line; the calls that it made say what it was about.
        return if asked.is_empty() { brief_of_inner(&message.inner_calls().calls) } else { asked };
    }
    brief_of_change(&call.tool, &call.args, message.details.get("diff").and_then(Value::as_str))
}

/// Fills in facts from a result's content. `can_show`: whether `activate` can bring an image back;
/// if not, images stay.
pub(super) fn describe(message: &HostMessage, fact: ResultFact, can_show: bool) -> ResultFact {
    let images_stay = message.images > 0 && !can_show;
    let kept_tokens = match message.other_tokens() {
        other if images_stay => Some(other.unwrap_or(0) + message.image_tokens()),
        other => other,
    };
    let has_text = !message.texts.is_empty();
    // A placeholder says nothing of the text.
    let text = if message.withheld.is_some() { Cow::Borrowed("") } else { message.text() };
    let exit = exit_code(&fact.tool, &text, message);
    ResultFact {
        ok: !message.has_failed() && exit.is_none_or(|code| code == 0),
        exit,
        lines: text.split('\n').count() as u64,
        ends_line: text.ends_with('\n'),
        last: shortened(&last_words(&text), LAST_LINE_CHARS),
        is_output: message.is_readable && (has_text || kept_tokens.is_none()),
        kept_tokens,
        images: if images_stay { 0 } else { message.images },
        ..fact
    }
}

/// The facts of a call about which only the request is known.
pub(super) fn blank_fact(tool: &str, request: RequestKey) -> ResultFact {
    ResultFact { tool: tool.to_owned(), request, ok: true, ..ResultFact::default() }
}

/// Exit code of a shell command, if the host gives it: in the details, as OpenClaw does, and Pi of a
/// person's command, or in a line of its own. OpenClaw and others do not report a command with an
/// exit code other than 0 as an error.
fn exit_code(tool: &str, text: &str, message: &HostMessage) -> Option<i64> {
    if !matches!(Call::new(tool, &Value::Null).kind(), ToolKind::Shell(_)) {
        return None;
    }
    // What a program printed may look like such a line where the host says that nothing failed.
    let is_fine = message.is_error == Some(false);
    let told = || told_exit(text).filter(|(_, is_marked)| *is_marked || !is_fine);
    let code = message.details.get("exitCode").and_then(Value::as_i64);
    let code = code.or_else(|| told().map(|(code, _)| code));
    match code {
        // The host did not wait for the end of what it ran, or could not.
        Some(0) if message.has_failed() => None,
        // Pi reports each command with another exit code as an error.
        None if tool == "bash" && is_fine => Some(0),
        code => code,
    }
}

/// Arguments for people: the path or the command, else the JSON; cut to 80 characters.
pub(super) fn args_display(args: &Value) -> String {
    let pattern = || args.get("pattern").and_then(Value::as_str).map(str::to_owned);
    let path = Call::new("", args).path().map(str::to_owned);
    let named = path.or_else(|| command_line(args)).or_else(pattern);
    let text = named.unwrap_or_else(|| args.to_string());
    shortened(text.lines().next().unwrap_or_default(), ARGS_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use context::tokens::Counter;

    /// Whether a call succeeded, and its exit code.
    fn ended(
        tool: &str,
        text: &str,
        is_error: impl Into<Option<bool>>,
        details: &Value,
    ) -> (bool, Option<i64>) {
        let message = serde_json::json!({ "role": "toolResult", "toolCallId": "c", "toolName": tool, "isError": is_error.into(),
            "content": [{ "type": "text", "text": text }], "details": details });
        let message = HostMessage::parse(message.to_string(), Counter::default());
        let fact = describe(&message, blank_fact(tool, RequestKey::of("x")), true);
        (fact.ok, fact.exit)
    }

    #[test]
    fn how_a_command_ended_is_what_the_host_says_of_it() {
        let none = Value::Null;
        let exit = |code: Value| serde_json::json!({ "status": "completed", "exitCode": code });
        let failed = "a\n\nCommand exited with code 3";
        let noted = "a\n\n(Command exited with code 3)";
        for (tool, text, is_error, details, expected) in [
            ("bash", "a", false, &none, (true, Some(0))),
            ("bash", failed, true, &none, (false, Some(3))),
            // It is what a program printed.
            ("bash", failed, false, &none, (true, Some(0))),
            ("bash", "a", true, &none, (false, None)),
            ("exec", "a", false, &exit(0.into()), (true, Some(0))),
            ("exec", noted, false, &exit(3.into()), (false, Some(3))),
            ("exec", noted, false, &none, (false, Some(3))),
            ("exec", "Command not found", true, &exit(127.into()), (false, Some(127))),
            ("exec", "Command aborted by signal SIGKILL", true, &exit(none.clone()), (false, None)),
            ("exec", "a", false, &none, (true, None)),
            (
                "exec",
                "Command still running (session x, pid 1).",
                false,
                &serde_json::json!({ "status": "running" }),
                (true, None),
            ),
            ("read", noted, false, &exit(3.into()), (true, None)),
            ("bash", "a", false, &exit(3.into()), (false, Some(3))),
            ("shell", "a", false, &exit(3.into()), (false, Some(3))),
            ("shell", failed, false, &none, (true, None)),
            ("bash", "a", true, &exit(0.into()), (false, None)),
            (
                "bash",
                "a\n<shellId: 51 completed with exit code 128>",
                false,
                &none,
                (false, Some(128)),
            ),
        ] {
            assert_eq!(ended(tool, text, is_error, details), expected, "{tool} {text:?} {details}");
        }
    }
    #[test]
    fn a_result_without_a_flag_is_what_its_text_says() {
        let gemini =
            "Output: a\nExit Code: 1\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 270";
        for (tool, text, expected) in [
            ("bash", "a\n\nCommand exited with code 3", (false, Some(3))),
            ("run_shell_command", gemini, (false, Some(1))),
            ("shell", "Exit code: 2\nWall time: 0.2 seconds\nOutput:\na", (false, Some(2))),
            ("Bash", "Exit code 1\na", (false, Some(1))),
            ("bash", "<exited with exit code 0>", (true, Some(0))),
            ("bash", "a", (true, None)),
        ] {
            assert_eq!(ended(tool, text, None, &Value::Null), expected, "{tool} {text:?}");
        }
    }
}
