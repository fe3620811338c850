//! Reads several agents' session files into one shape: pi-ai messages in the order in which the
//! model saw them.
//!
//! Formats are recognised by content, not by file name. Reading is lenient: unusable data is left
//! out or mended, and counted in [`Transcript::notes`]. Must not interpret what tools did, count
//! tokens or change a text.

mod claude_code;
mod codex;
mod copilot;
mod database;
pub mod find;
mod foreign;
mod gemini;
mod heads;
mod lines;
mod message;
mod messages;
mod neutral;
mod notes;
mod openclaw;
mod opencode;
mod pairing;
mod path;
mod pi;
mod qwen;
mod stranger;
mod tail;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use self::claude_code::several;
use self::lines::{Line, Lines};
use self::message::Message;
pub(crate) use self::message::count_of;
use self::notes::Notes;
use base::error::{Error, Result};
use base::object::Room;

/// The program that wrote a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// A first line `{"session":{…}}`, then one pi-ai message per line.
    Neutral,
    /// Pi: `~/.pi/agent/sessions/*/*.jsonl`, versions 1 to 3.
    Pi,
    /// Claude Code: `~/.claude/projects/*/*.jsonl`.
    #[strum(serialize = "claude-code")]
    ClaudeCode,
    /// Codex: `~/.codex/sessions/**/rollout-*.jsonl`, with and without a wrapper around each item.
    Codex,
    /// GitHub Copilot CLI: `~/.copilot/session-state/*/events.jsonl`.
    Copilot,
    /// Gemini CLI: `~/.gemini/tmp/*/chats/**/*.jsonl`, before that `*.json`.
    Gemini,
    /// OpenCode: the database `~/.local/share/opencode/opencode.db`, before that
    /// `storage/session/*/*.json`; also the output of `opencode export`.
    OpenCode,
    /// OpenClaw: the database `~/.openclaw/agents/*/agent/openclaw-agent.sqlite`, and the file of a
    /// deleted session. Before 2026.8 its files are in Pi's form, and read as such.
    OpenClaw,
    /// Qwen Code: `~/.qwen/projects/*/chats/*.jsonl`.
    Qwen,
    /// Messages of Anthropic's Messages API, one per line.
    Anthropic,
    /// Messages of OpenAI's Chat Completions, one per line.
    OpenAi,
}

/// Why a file is not read.
#[derive(Debug)]
struct Refused {
    /// The line to look at.
    line: u64,
    /// What is wrong with it; goes on after `line 1 of FILE`.
    problem: String,
    /// Whether it is a session all the same, as far as can be seen.
    is_session: bool,
}

impl Refused {
    fn new((line, problem): (u64, String)) -> Self {
        Self { line, problem, is_session: false }
    }
}

/// A reader's mark: whether a line is of its format and of no other.
type Knows = fn(&Line<'_>) -> bool;

/// The readers that one line is enough for.
const READERS: [(Knows, Format); 9] = [
    (neutral::knows, Format::Neutral),
    (openclaw::knows, Format::OpenClaw),
    (pi::knows, Format::Pi),
    (codex::knows, Format::Codex),
    (copilot::knows, Format::Copilot),
    (gemini::knows, Format::Gemini),
    (opencode::knows, Format::OpenCode),
    (claude_code::knows, Format::ClaudeCode),
    (qwen::knows, Format::Qwen),
];

impl Format {
    /// What a file's first telling line says: a format, or why no reader takes the file. `None` if
    /// no line tells.
    fn told_by(lines: &[Line<'_>]) -> Option<Result<Self, Refused>> {
        lines.iter().find_map(|line| {
            let mut claims = READERS.iter().filter(|(knows, _)| knows(line)).map(|(_, of)| *of);
            let refused = |problem: String| Some(Err(Refused::new((line.number, problem))));
            match (claims.next(), claims.next()) {
                (Some(one), None) => Some(Ok(one)),
                (Some(one), Some(other)) => {
                    refused(format!("is taken for one of {one} and of {other}, which is our error"))
                }
                (None, _) => stranger::refusal(line).and_then(|what| refused(what.to_owned())),
            }
        })
    }

    /// The format of a file's lines; `None` if nothing says it.
    fn of(lines: &[Line<'_>]) -> Option<Result<Self, Refused>> {
        let of_list = || messages::form_of(lines).map(|form| form.map_err(Refused::new));
        let of_data_set = || stranger::data_set(lines).map(|refused| Err(Refused::new(refused)));
        Self::told_by(lines).or_else(of_list).or_else(of_data_set)
    }
}

/// Requests to a model and calls of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests, each with an answer of the model.
    pub requests: u64,
    /// Calls that the model made in its answers.
    pub calls: u64,
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let Self { requests, calls } = self;
        Self { requests: requests + other.requests, calls: calls + other.calls }
    }
}

impl Counts {
    /// What is left without others.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            calls: self.calls.saturating_sub(other.calls),
        }
    }
}

/// A recorded session.
///
/// Every tool call has exactly one result, after its assistant message and before the next other
/// message. An assistant message has at least one block. System messages and compactions are left
/// out; a compaction's summary is a user message, and the messages before it are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// File name without `.jsonl`, `.json` and `.gz`; the folder's name for `events.jsonl`; for one
    /// session of several, its ID, followed by the conversation's number if it has several.
    pub name: String,
    /// The program that wrote the file.
    pub format: Format,
    /// The session's ID, if the file has one.
    pub session_id: Option<String>,
    /// The ID of the session whose history it begins with, if the file says so.
    pub forked_from: Option<String>,
    /// The folder in which the agent started, if the file names it.
    pub cwd: Option<String>,
    /// pi-ai messages, each as JSON, with `timestamp` in ms. User messages that no person typed
    /// have a `meta` of `injected` or `compaction_summary`.
    pub messages: Vec<String>,
    /// Kind of each tool (`read`, `write`, `edit`, `ls`, `find`, `grep`, `bash`, `other`) by its
    /// name, if the file says it.
    pub tool_kinds: BTreeMap<String, String>,
    /// What the file holds by its own marks, without sub-agents.
    pub held: Counts,
    /// The part of `held` on branches that were left.
    pub left: Counts,
    /// The part of `held` that was left out because it is empty, such as a failed request, or its
    /// calls have no result.
    pub interrupted: Counts,
    /// What was read: the answers in `messages`, and their calls.
    pub read: Counts,
    /// Lines, but for a torn last one, that cannot be read and may have held anything.
    pub unread_lines: u64,
    /// What was left out or mended, one line each with its count.
    pub notes: Vec<String>,
}

impl Transcript {
    /// Reads a session file, plain or gzipped, or one session of a database or of a file that holds
    /// several: `FILE#SESSION`, see [`find`].
    ///
    /// # Errors
    /// `FILE` if it cannot be read, or is not a regular file; `MALFORMED_TRANSCRIPT` with the line
    /// if it is not a session file, or would take more memory than eight times its text and 32 MiB;
    /// `ARCHIVE_EXPANDS` if it is compressed and expands to more than an archive may.
    pub fn read(path: &Path) -> Result<Self> {
        if let Some((file, session)) = find::in_database(path)? {
            let mut notes = Notes::default();
            let (format, parts) = database::read(&file, &session, &mut notes)?;
            return Ok(Self::new(session, format, parts, notes));
        }
        let (file, session) = find::split(path);
        let bytes = tail::whole(&file, lines::bytes_of(&file)?)?;
        Self::parse_session(&file, &bytes, session.as_deref())
    }

    /// Reads the bytes of a session file, plain or gzipped. `path` gives its name, and the place of
    /// the files beside it if OpenCode wrote it before 1.2.
    ///
    /// # Errors
    /// As [`Self::read`], except `FILE`.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::parse_session(path, bytes, None)
    }

    /// As [`Self::parse`], for one of the sessions that a file of Claude Code holds.
    fn parse_session(path: &Path, bytes: &[u8], session: Option<&str>) -> Result<Self> {
        let mut notes = Notes::default();
        let text = lines::text_of(bytes, &mut notes)?;
        let room = Room::for_file(text.len());
        let is_damaged = notes.unread() > 0;
        let refused = |refused: Refused| {
            let Refused { line, mut problem, .. } = refused;
            if is_damaged {
                problem += "; the compressed file is damaged";
            }
            Error::MalformedTranscript { path: path.to_owned(), line, problem }
        };
        let (format, mut lines) = recognised(&text, &room, &mut notes).map_err(refused)?;
        let problem = if format == Format::ClaudeCode {
            if let Some(session) = session {
                lines = several::of_session(lines, session);
            }
            let found = several::sessions(&lines).len();
            let is_missing = session.is_some() && found == 0;
            (found > 1 || is_missing).then(|| {
                (1, format!("begins a file of {found} sessions, and `#SESSION` behind its name says none of them"))
            })
        } else {
            heads::of_another(format, &lines, session)
        };
        if let Some(problem) = problem {
            return Err(refused(Refused::new(problem)));
        }
        let parts = match format {
            Format::Neutral => neutral::read(lines, &mut notes),
            Format::Pi => pi::read(lines, &mut notes),
            Format::ClaudeCode => claude_code::read(lines, &mut notes),
            Format::Codex => codex::read(lines, &mut notes),
            Format::Copilot => copilot::read(&lines, &mut notes),
            Format::Gemini => gemini::read(lines, &mut notes),
            Format::OpenCode => opencode::read(lines, path, &mut notes),
            Format::OpenClaw => openclaw::read(lines, &mut notes),
            Format::Qwen => qwen::read(lines, &mut notes),
            Format::Anthropic | Format::OpenAi => messages::read(lines, format, &mut notes),
        };
        let name = session.map_or_else(|| find::name_of(path), str::to_owned);
        Ok(Self::new(name, format, parts, notes))
    }

    /// A transcript of given messages, read like a file in the neutral form.
    pub fn of_messages(name: &str, cwd: &str, messages: &[String]) -> Self {
        let head = serde_json::json!({ "session": { "id": name, "cwd": cwd } }).to_string();
        let lines: Vec<&str> =
            std::iter::once(head.as_str()).chain(messages.iter().map(String::as_str)).collect();
        let mut notes = Notes::default();
        let text = lines.join("\n");
        // The messages are our own, so they need no memory limit.
        let room = Room::of(usize::MAX);
        let parts = neutral::read(Lines::parse(&text, &room, &mut notes).found, &mut notes);
        Self::new(name.to_owned(), Format::Neutral, parts, notes)
    }

    fn new(name: String, format: Format, parts: Parts, mut notes: Notes) -> Self {
        let read_or_left = || message::counts_of(&parts.messages) + parts.left;
        let held = parts.held.unwrap_or_else(read_or_left);
        let timed = message::timed(parts.messages, &mut notes);
        let (messages, interrupted) = pairing::pair(timed, &mut notes);
        let read = message::counts_of(&messages);
        Self {
            name,
            format,
            session_id: parts.session_id,
            forked_from: parts.forked_from,
            cwd: parts.cwd,
            messages: messages.into_iter().map(Message::into_json).collect(),
            tool_kinds: parts.tool_kinds,
            held,
            left: parts.left,
            interrupted,
            read,
            unread_lines: notes.unread(),
            notes: notes.into_lines(),
        }
    }
}

/// The result of a format's reader.
#[derive(Debug, Default)]
struct Parts {
    session_id: Option<String>,
    forked_from: Option<String>,
    cwd: Option<String>,
    messages: Vec<Message>,
    tool_kinds: BTreeMap<String, String>,
    /// What the file holds by its own marks; `None`: as many as `messages` and `left` have.
    held: Option<Counts>,
    /// What branches hold that were left.
    left: Counts,
}

/// The format of a text and its lines; a document over several lines counts as one line, and each
/// object of a list as one.
fn recognised<'a>(
    text: &'a str,
    room: &Room,
    notes: &mut Notes,
) -> Result<(Format, Vec<Line<'a>>), Refused> {
    let mut of_lines = Notes::default();
    let lines = Lines::parse(text, room, &mut of_lines);
    // The last object of a list may stand on a line of its own.
    let is_list = text.trim_start().starts_with('[');
    let told = if is_list { None } else { Format::told_by(&lines.found) };
    if let Some((line, problem)) = lines.too_much(room) {
        return Err(Refused { line, problem, is_session: matches!(told, Some(Ok(_))) });
    }
    let (found, complaint) = match lines.document(text, room, notes) {
        Some(Ok(found)) if told.is_none() => {
            let first = found.first().map_or(1, |line| line.number);
            (found, (first, lines::UNKNOWN.to_owned()))
        }
        document => {
            notes.append(of_lines);
            let complaint = lines.complaint();
            (lines.found, document.and_then(Result::err).unwrap_or(complaint))
        }
    };
    let told = told.or_else(|| Format::told_by(&found));
    let found = if told.is_none() { messages::unfolded(found) } else { found };
    match told.or_else(|| Format::of(&found)) {
        Some(format) => Ok((format?, found)),
        None => Err(Refused::new(complaint)),
    }
}

/// The format that the beginning of a file tells; `None` if it does not.
fn told_by_start(start: &[u8]) -> Option<Result<Format, Refused>> {
    let text = lines::text_of(start, &mut Notes::default()).ok()?;
    let whole = text.rsplit_once('\n')?.0;
    let lines = Lines::parse(whole, &Room::for_file(whole.len()), &mut Notes::default());
    Format::told_by(&lines.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_of_two_formats() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/transcripts");
        let mut told = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            let room = Room::for_file(text.len());
            let mut notes = Notes::default();
            let lines = Lines::parse(&text, &room, &mut notes);
            let document = lines.document(&text, &room, &mut notes);
            let document = document.and_then(std::result::Result::ok).unwrap_or_default();
            for line in lines.found.iter().chain(&document) {
                let claims = READERS.iter().filter(|(knows, _)| knows(line));
                let claims: Vec<Format> = claims.map(|(_, format)| *format).collect();
                assert!(claims.len() < 2, "{claims:?}: {:?}", line.text);
                assert!(claims.is_empty() || stranger::refusal(line).is_none(), "{:?}", line.text);
                told.extend(claims);
            }
        }
        for (_, format) in READERS.iter().filter(|(_, format)| *format != Format::Qwen) {
            assert!(told.contains(format), "no line tells {format}");
        }
    }

    #[test]
    fn a_line_of_two_formats_is_our_error() {
        let text = r#"{"type":"session","id":"s","timestamp":"t","session":{},"payload":{}}"#;
        let claims = |text: &str| {
            let room = Room::for_file(text.len());
            let lines = Lines::parse(text, &room, &mut Notes::default());
            Format::told_by(&lines.found).unwrap().map_err(|refused| refused.problem)
        };
        assert_eq!(claims(text).unwrap(), Format::Pi);
        let both = r#"{"type":"user","uuid":"u","sessionId":"s","projectHash":"h","message":{"content":""}}"#;
        assert!(
            claims(both).unwrap_err().ends_with("gemini and of claude-code, which is our error")
        );
    }
}
