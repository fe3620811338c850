//! Plays a transcript through a session as live use does: one call before each message of the assistant.
//!
//! The session is in memory and looks at no file of this machine. Must not measure anything.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::compaction::{self, Sized};
use super::measure::message::{Message, Speaker};
use super::transcript::Transcript;
use crate::context::host::HostMessage;
use crate::context::tokens::Counter;
use crate::error::{Error, Result};
use crate::live::{CallInfo, Files, LiveSession, Notice, OpenSession, Transformed};
use crate::session::{SUMMARY_TOKENS, Session};
use crate::settings::Settings;
use crate::store::Store;

/// How a transcript is played.
#[derive(Debug, Clone)]
pub struct Playing {
    /// The session's settings, layout and prices among them.
    pub settings: Settings,
    /// How tokens are counted.
    pub counter: Counter,
    /// Tokens of the model's window; `None`: no limit.
    pub window_tokens: Option<u64>,
    /// Tokens of system prompt and tools.
    pub fixed_tokens: u64,
    /// Those of them that are ours.
    pub overhead_tokens: u64,
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// A message of the transcript as it is, by its index.
    Given(usize),
    /// A message of the transcript with another content.
    Changed {
        /// Its index.
        index: usize,
        /// The message as it goes out.
        json: String,
    },
    /// A message of ours.
    Ours(String),
}

/// A change of a request's list of messages against that of the call before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Index in the list before this change and after those before it.
    pub at: usize,
    /// So many messages go.
    pub remove: usize,
    /// These come in their place.
    pub insert: Vec<Sent>,
}

/// A call that is played.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Its number, from 0.
    pub call: usize,
    /// So many messages of the transcript stand before the answer.
    pub before: usize,
    /// How the request differs from the one before.
    pub changes: Vec<Change>,
    /// What a person may want to know.
    pub notices: Vec<Notice>,
    /// What a compaction of the host's before it cost, in prices of a plain input token.
    pub compaction_cost: f64,
}

/// Plays a transcript; `each` gets every call in order. Returns the session as the last call left it.
///
/// # Errors
/// What the session or `each` reports.
pub fn play(
    transcript: &Transcript,
    playing: &Playing,
    each: &mut dyn FnMut(Played) -> Result<()>,
) -> Result<LiveSession> {
    play_watched(transcript, playing, &mut |played, _| each(played))
}

/// Plays a transcript as [`play`] does; `each` gets the session's state too, as it is when the call goes out.
///
/// # Errors
/// What the session or `each` reports.
pub fn play_watched(
    transcript: &Transcript,
    playing: &Playing,
    each: &mut dyn FnMut(Played, &Session) -> Result<()>,
) -> Result<LiveSession> {
    let mut host = Host::new(transcript, playing)?;
    for (call, before) in answers(&transcript.messages).enumerate() {
        host.list.extend((host.read..before).map(Listed::Given));
        host.read = before;
        let (mut changes, mut notices) = host.transform()?;
        let compaction_cost = host.compact_if_due();
        if compaction_cost.is_some() {
            let (more, later) = host.transform()?;
            changes.extend(more);
            notices.extend(later);
        }
        let compaction_cost = compaction_cost.unwrap_or(0.0);
        each(Played { call, before, changes, notices, compaction_cost }, host.live.state())?;
    }
    Ok(host.live)
}

/// Plays a transcript as the host alone would: its messages as they are, compacted where there is a window. Of the settings
/// none counts.
///
/// # Errors
/// What `each` reports.
pub fn play_plain(
    transcript: &Transcript,
    playing: &Playing,
    each: &mut dyn FnMut(Played) -> Result<()>,
) -> Result<()> {
    let counter = playing.counter;
    let sizes: Vec<Sized> = transcript.messages.iter().map(|json| sized(json, counter)).collect();
    let fixed_units = playing.fixed_tokens * counter.units_per_token();
    let summary = Sent::Ours(summary(0));
    let (mut start, mut known, mut head) = (0, 0, 0);
    for (call, before) in answers(&transcript.messages).enumerate() {
        let sent = head + known - start;
        let of = |from: usize| sizes[from..before].iter().map(|message| message.units).sum::<u64>();
        let all = of(start) + head as u64 * SUMMARY_TOKENS * counter.units_per_token();
        let is_due = |window| compaction::is_due(window, fixed_units + all, counter);
        let first = playing.window_tokens.filter(|window| is_due(*window));
        let first = first.and_then(|_| compaction::first_kept(&sizes[start..before], counter));
        let given = |from: usize| (from..before).map(Sent::Given);
        let (change, compaction_cost) = match first {
            None => (Change { at: sent, remove: 0, insert: given(known).collect() }, 0.0),
            Some(first) => {
                start += first;
                head = 1;
                let insert = std::iter::once(summary.clone()).chain(given(start)).collect();
                let cost = compaction::cost(all - of(start), counter);
                (Change { at: 0, remove: sent, insert }, cost)
            }
        };
        known = before;
        let (changes, notices) = (vec![change], Vec::new());
        each(Played { call, before, changes, notices, compaction_cost })?;
    }
    Ok(())
}

/// Indexes of the assistant's messages.
pub fn answers(messages: &[String]) -> impl Iterator<Item = usize> + '_ {
    (0..messages.len()).filter(|index| role(&messages[*index]).is_some_and(|r| r == "assistant"))
}

fn role(message: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        role: String,
    }
    serde_json::from_str::<Head>(message).ok().map(|head| head.role)
}

/// A message of the host's list.
#[derive(Debug)]
enum Listed {
    /// One of the transcript, by its index.
    Given(usize),
    /// The summary of a compaction.
    Summary(String),
}

/// The host that the session is played to: it hands over its list and, where that has to be, compacts it.
struct Host<'a> {
    transcript: &'a Transcript,
    playing: &'a Playing,
    live: LiveSession,
    list: Vec<Listed>,
    /// Messages at the front of the list that the session has seen there.
    known: usize,
    /// Messages of the transcript that entered the list.
    read: usize,
}

impl<'a> Host<'a> {
    fn new(transcript: &'a Transcript, playing: &'a Playing) -> Result<Self> {
        let options = OpenSession {
            harness: "replay".into(),
            host_session: transcript.name.clone(),
            cwd: "/".into(),
            parent: None,
            settings: playing.settings.clone(),
            filesystem_id: "replay".into(),
            counter: playing.counter,
            files: Files::Elsewhere,
        };
        let live = LiveSession::open(Store::open(":memory:")?, options)?;
        Ok(Self { transcript, playing, live, list: Vec::new(), known: 0, read: 0 })
    }

    /// Hands over what is new in the list.
    fn transform(&mut self) -> Result<(Vec<Change>, Vec<Notice>)> {
        let fresh: Vec<&str> = self.list[self.known..].iter().map(|one| self.json(one)).collect();
        let fresh = format!("[{}]", fresh.join(","));
        let info = CallInfo {
            context_window: self.playing.window_tokens,
            fixed_tokens: Some(self.playing.fixed_tokens),
            overhead_tokens: Some(self.playing.overhead_tokens),
            ..CallInfo::default()
        };
        let Transformed::Edits { edits, notices } =
            self.live.transform(self.known, &fresh, &info)?
        else {
            return Err(Error::internal("a session that is played asked for the whole list"));
        };
        self.known = self.list.len();
        Ok((self.changes(&edits)?, notices))
    }

    /// Puts a summary in the place of the oldest messages, where what was made of the list leaves too little of the window free;
    /// says what it cost.
    fn compact_if_due(&mut self) -> Option<f64> {
        let counter = self.playing.counter;
        let tokens = self.playing.fixed_tokens + self.live.status().window_tokens;
        let units = tokens * counter.units_per_token();
        if !compaction::is_due(self.playing.window_tokens?, units, counter) {
            return None;
        }
        let sizes: Vec<Sized> =
            self.list.iter().map(|listed| sized(self.json(listed), counter)).collect();
        let first = compaction::first_kept(&sizes, counter)?;
        let dropped = sizes[..first].iter().map(|message| message.units).sum();
        let time = HostMessage::parse(self.json(&self.list[first]), counter).key.timestamp;
        let summary = summary(time.unwrap_or_default());
        self.list.splice(..first, [Listed::Summary(summary)]);
        self.known = 0;
        Some(compaction::cost(dropped, counter))
    }

    fn json<'b>(&self, listed: &'b Listed) -> &'b str
    where
        'a: 'b,
    {
        match listed {
            Listed::Given(index) => &self.transcript.messages[*index],
            Listed::Summary(json) => json,
        }
    }

    /// Reads the session's edits as the host's side does.
    fn changes(&self, edits: &str) -> Result<Vec<Change>> {
        let edits: Vec<Edit<'_>> = serde_json::from_str(edits)
            .map_err(|error| Error::internal(format!("edits cannot be read: {error}")))?;
        let change = |edit: Edit<'_>| {
            let insert = edit.insert.iter().map(|slot| self.sent(slot));
            Ok(Change { at: edit.at, remove: edit.remove, insert: insert.collect::<Result<_>>()? })
        };
        edits.into_iter().map(change).collect()
    }

    fn sent(&self, slot: &Slot<'_>) -> Result<Sent> {
        if let Some(message) = slot.message {
            return Ok(Sent::Ours(message.get().to_owned()));
        }
        let listed = slot.host.and_then(|index| self.list.get(index));
        let listed = listed.ok_or_else(|| Error::internal("a slot has no message of the list"))?;
        let with = |content: &RawValue| {
            let given = HostMessage::parse(self.json(listed), Counter::Characters);
            given.with_content(content.get())
        };
        Ok(match (listed, slot.content) {
            (Listed::Given(index), None) => Sent::Given(*index),
            (Listed::Given(index), Some(content)) => {
                Sent::Changed { index: *index, json: with(content) }
            }
            (Listed::Summary(json), None) => Sent::Ours(json.clone()),
            (Listed::Summary(_), Some(content)) => Sent::Ours(with(content)),
        })
    }
}

fn sized(json: &str, counter: Counter) -> Sized {
    let message = Message::parse(json, counter);
    Sized { units: message.units, is_result: message.speaker() == Speaker::Tool }
}

/// A user message in the place of what a compaction dropped. A transcript has no text for it, only its size counts.
fn summary(timestamp: i64) -> String {
    let length = SUMMARY_TOKENS * Counter::Characters.units_per_token();
    let length = usize::try_from(length).unwrap_or_default() - "user".len();
    let text: String = "summary ".chars().cycle().take(length).collect();
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": timestamp })
        .to_string()
}

/// A change of the session's list of slots.
#[derive(Deserialize)]
struct Edit<'a> {
    at: usize,
    remove: usize,
    #[serde(borrow)]
    insert: Vec<Slot<'a>>,
}

/// A slot as the session tells it: a message, or the index of the host's with a content in the place of its own.
#[derive(Deserialize)]
struct Slot<'a> {
    host: Option<usize>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}
