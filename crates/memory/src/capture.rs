//! The question put to a model at a compaction and at a session's end, if the user named a model
//! for it, and which parts of its answer may be proposed. Pure: the host makes the call. Must not
//! stage anything; a proposal is written only after a person accepts it.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use super::checks::{CheckLimits, check_entry};
use super::finding::FindingCode;
use super::journal::{Author, Draft};
use super::page::Page;
use super::parse::without_marker;
use super::scope::Scope;
use base::object::quote;
use redact::redact_note;

/// Most characters sent of a conversation, of one of its messages, and of the existing entries.
const MAX_SAID_CHARS: usize = 40_000;
const MAX_MESSAGE_CHARS: usize = 3_000;
const MAX_KNOWN_CHARS: usize = 8_000;

/// A shorter conversation says nothing that lasts.
const MIN_SAID_CHARS: usize = 200;

/// Most proposals of one answer, and most characters of one.
const MAX_PROPOSALS: usize = 5;
const MAX_PROPOSAL_CHARS: usize = 300;

const TASK: &str = "Below is a part of a conversation between a person and a coding agent. Which facts in it should the agent still know in \
later conversations? Only what lasts and what nobody sees in the code: a correction by the person, a preference, a decision with its reason, a \
constraint that is not obvious, a command that was hard to find. Not what was done, what is in progress, what the repository, its history or its \
documentation says, and nothing that is remembered already. No secrets, no guesses. Mostly there is nothing.

Answer with a JSON array and nothing else: at most 5 objects, the most useful first, or [].
{\"scope\": \"project\" | \"local\" | \"global\", \"text\": \"one line, of the form `Subject: what is so` where that fits\"}
`project`: the team reads it in the repository. `local`: about this person in this project. `global`: about this person everywhere.";

/// The text for the model; `None` if too little was said. Text that looks like a secret is left
/// out.
///
/// `messages`: as the host has them, oldest first; of a long conversation only the end counts.
/// `known`: existing entries.
pub(super) fn prompt(messages: &[Value], known: &[Page]) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    let mut room = MAX_SAID_CHARS;
    for message in messages.iter().rev() {
        let Some(text) = text_of(message) else { continue };
        let length = text.chars().count();
        if length > room {
            break;
        }
        room -= length;
        said.push(text);
    }
    if MAX_SAID_CHARS - room < MIN_SAID_CHARS {
        return None;
    }
    said.reverse();
    let mut entries = String::new();
    for page in known {
        let text = without_marker(&page.text);
        let line = text.lines().next().unwrap_or_default();
        if entries.len() + line.len() > MAX_KNOWN_CHARS {
            break;
        }
        let _ = writeln!(entries, "- {}", quote::block(line));
    }
    let text = format!(
        "{TASK}\n\n<remembered>\n{entries}</remembered>\n\n<conversation>\n{}\n</conversation>\n",
        said.join("\n\n")
    );
    Some(redact_note(&text).text.unwrap_or(text))
}

/// The proposals in an answer: short entries without secrets that say something new.
///
/// `scopes`: those that may be written. `known`: entries that exist or wait.
pub(super) fn proposals(answer: &str, scopes: &[Scope], known: &[Page]) -> Vec<(Scope, Draft)> {
    let mut known = known.to_vec();
    let mut found = Vec::new();
    for Proposal { scope, text } in read(answer) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_short = text.chars().count() <= MAX_PROPOSAL_CHARS;
        if found.len() == MAX_PROPOSALS || !is_short || !scopes.contains(&scope) {
            continue;
        }
        let limits = CheckLimits { lines: 0, bytes: 0 };
        let spoils = |code| {
            use FindingCode::{Duplicate, Empty, NearDuplicate, Secret};
            matches!(code, Secret | Duplicate | NearDuplicate | Empty)
        };
        let draft = Draft { by: Author::Capture, ..Draft::entry(scope, text) };
        let checked = check_entry(&draft, scope, &known, &[], limits);
        if checked.iter().any(|finding| spoils(finding.code)) {
            continue;
        }
        known.extend(draft.page(scope));
        found.push((scope, draft));
    }
    found
}

/// One object of an answer.
#[derive(Debug, Deserialize)]
struct Proposal {
    scope: Scope,
    text: String,
}

/// The objects of the array in an answer, which may have words around it.
fn read(answer: &str) -> Vec<Proposal> {
    let array = answer.find('[').zip(answer.rfind(']')).filter(|(from, to)| from < to);
    let array = array.and_then(|(from, to)| answer.get(from..=to));
    let values: Vec<Value> =
        array.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect()
}

/// The text of a person's or the model's message, with the names of called tools; `None` for
/// everything else.
fn text_of(message: &Value) -> Option<String> {
    let role = message.get("role")?.as_str()?;
    let who = match role {
        "user" => "Person",
        "assistant" => "Agent",
        _ => return None,
    };
    let said = match message.get("content")? {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let blocks = blocks.iter().filter_map(|block| {
                match block.get("type").and_then(Value::as_str)? {
                    "text" => Some(block.get("text")?.as_str()?.to_owned()),
                    "toolCall" => Some(format!("[{}]", quote::name(block.get("name")?.as_str()?))),
                    _ => None,
                }
            });
            blocks.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    let said = said.trim();
    let text = match said.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{who}: {} …", quote::block(&said[..end])),
        None => format!("{who}: {}", quote::block(said)),
    };
    (!said.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse::parse;
    use super::*;

    fn message(role: &str, text: &str) -> Value {
        json!({ "role": role, "content": [{ "type": "text", "text": text }] })
    }

    #[test]
    fn the_capture_prompt_has_the_conversations_end_and_memory() {
        let key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
        let long = "words ".repeat(400);
        let messages: Vec<Value> = (0..40)
            .map(|at| message("user", &format!("message {at} {long}")))
            .chain([
                json!({ "role": "toolResult", "content": [{ "type": "text", "text": "an output" }] }),
                json!({ "role": "assistant", "content": [{ "type": "toolCall", "name": "bash", "arguments": {} }] }),
                message("user", &format!("No, use pnpm. Token {key}")),
            ])
            .collect();
        let known = parse(Scope::Project, "MEMORY.md", "- CI: green\n");
        let prompt = prompt(&messages, &known).unwrap();
        assert!(prompt.contains("- CI: green\n</remembered>"));
        assert!(prompt.contains("Agent: [bash]\n\nPerson: No, use pnpm. Token [redacted:"));
        assert!(prompt.contains("message 39") && !prompt.contains("message 0 "));
        assert!(!prompt.contains("an output") && !prompt.contains(key));
        assert!(prompt.len() < 60_000);
    }

    #[test]
    fn a_conversation_with_little_text_is_not_asked_about() {
        assert_eq!(prompt(&[message("user", "hi"), json!(5), json!({ "role": 1 })], &[]), None);
    }

    #[test]
    fn proposes_only_new_short_entries_without_secrets() {
        let answer = json!([
            { "scope": "project", "text": "Package manager:  pnpm" },
            { "scope": "project", "text": "CI: green" },
            { "scope": "project", "text": "key ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8" },
            { "scope": "local", "text": "Port: 1" },
            { "scope": "global", "text": "x".repeat(400) },
            { "scope": "team", "text": "a" },
            { "text": "a" },
            5,
            { "scope": "global", "text": "package manager: PNPM" },
            { "scope": "global", "text": "Answers: short" },
        ]);
        let known = parse(Scope::Project, "MEMORY.md", "- CI: green\n");
        let answer = format!("Sure:\n```json\n{answer}\n```");
        let found = proposals(&answer, &[Scope::Global, Scope::Project], &known);
        let texts: Vec<(Scope, &str)> =
            found.iter().map(|(scope, draft)| (*scope, &*draft.text)).collect();
        assert_eq!(
            texts,
            [(Scope::Project, "Package manager: pnpm"), (Scope::Global, "Answers: short")]
        );
        for answer in ["", "[]", "][", "nothing", "[{\"scope\":", "[5"] {
            assert_eq!(proposals(answer, &Scope::ALL, &[]), [], "{answer}");
        }
    }
}
