//! Plays a transcript through a live session: one call before each assistant message.
//!
//! The session's store is in memory, and its files are in a scratch folder. Must not measure
//! anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::Deserialize;
use serde_json::json;

use super::compaction::{self, Sized};
use super::facts::{Facts, ToolCalls};
use super::measure::message::{MeasuredMessage, Speaker};
use super::oracle::Oracle;
use super::transcript::Transcript;
use super::tree::FILESYSTEM;
use base::error::{Error, Result};
use base::object::Timestamp;
use config::Settings;
use context::host::HostMessage;
use context::ledger::RESERVED_TOKENS;
use context::tokens::Counter;
use context::view::{Edit, Inserted, read_edits};
use context::window::most_tokens;
use live::{
    CallInfo, HostList, LiveSession, Notice, OpenSession, ToolFiles, Transformed, hazards_of,
};
use session::{SUMMARY_TOKENS, Session};
use store::Store;

/// How a transcript is played.
#[derive(Debug, Clone)]
pub struct Playing {
    /// The session's settings, including layout and prices.
    pub settings: Settings,
    /// How tokens are counted.
    pub counter: Counter,
    /// Tokens of the model's window; `None`: no limit.
    pub window_tokens: Option<u64>,
    /// Tokens of system prompt and tools.
    pub fixed_tokens: u64,
    /// The part of `fixed_tokens` that is ours.
    pub overhead_tokens: u64,
    /// Folder with a folder of snapshots for each transcript, by its name; see [`super::facts`].
    pub snapshots: Option<PathBuf>,
    /// Whether the session knows the transcript's needs instead of guessing them.
    pub foresees: bool,
}

/// A message of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayedRequest {
    /// An unchanged message of the transcript, by its index.
    Given(usize),
    /// A message of the transcript with changed content.
    Changed {
        /// Its index.
        index: usize,
        /// The message as it goes out.
        json: String,
    },
    /// One of our own messages.
    Ours(String),
}

/// A change in the list of messages since the previous request.
pub type PlayedChange = Edit<PlayedRequest>;

/// A played call.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Its number, from 0.
    pub call: usize,
    /// Number of messages of the transcript that precede the answer.
    pub before: usize,
    /// How the request differs from the previous one.
    pub changes: Vec<PlayedChange>,
    /// Notices for a person.
    pub notices: Vec<Notice>,
    /// Cost of a compaction by the host before the call, in uncached input tokens.
    pub compaction_cost: f64,
    /// Tool calls that ended since the previous call.
    pub tool_calls: ToolCalls,
}

/// Plays a transcript; `each` gets every call in order. Returns the session after the last call.
///
/// # Errors
/// Errors of the session or of `each`.
pub fn play(
    transcript: &Transcript,
    playing: &Playing,
    each: &mut dyn FnMut(Played) -> Result<()>,
) -> Result<LiveSession> {
    play_watched(transcript, playing, &mut |played, _| each(played))
}

/// Like [`play`], but `each` also gets the session's state at the time of the call.
///
/// # Errors
/// Errors of the session or of `each`.
pub fn play_watched(
    transcript: &Transcript,
    playing: &Playing,
    each: &mut dyn FnMut(Played, &Session) -> Result<()>,
) -> Result<LiveSession> {
    Host::new(transcript, playing)?.play(each)
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
    /// A message of the transcript, by its index.
    Given(usize),
    /// The summary of a compaction.
    Summary(String),
}

/// The host of the played session: it hands over its list and compacts it if necessary.
struct Host<'a> {
    transcript: &'a Transcript,
    playing: &'a Playing,
    live: LiveSession,
    facts: Facts,
    list: Vec<Listed>,
    /// Number of the newest call.
    since: Option<u64>,
    /// Number of messages at the front of the list that are the same as in that call.
    known: usize,
    /// Number of the transcript's messages that entered the list.
    read: usize,
    /// The current call.
    call: usize,
    /// Foresight, if the session has it.
    oracle: Option<Oracle>,
}

impl<'a> Host<'a> {
    fn new(transcript: &'a Transcript, playing: &'a Playing) -> Result<Self> {
        let cwd = transcript.cwd.as_deref().unwrap_or("/");
        let snapshots = playing.snapshots.as_ref().map(|folder| folder.join(&transcript.name));
        let facts = Facts::new(&base::path::absolute_path(cwd, Path::new("/")), snapshots)?;
        let options = OpenSession {
            harness: "replay".into(),
            host_session: transcript.name.clone(),
            cwd: facts.tree.cwd(),
            parent: None,
            settings: Settings { mounts: vec![facts.tree.mount()], ..playing.settings.clone() },
            filesystem_id: FILESYSTEM.into(),
            counter: playing.counter,
            files: ToolFiles::Elsewhere,
            images: true,
            confined: None,
            asks_to_compact: true,
        };
        // A clock that only counts, so that a replay does not depend on its speed.
        let time = AtomicI64::new(0);
        let clock = move || Timestamp(time.fetch_add(1, Ordering::Relaxed));
        let store = Store::open(":memory:")?.with_clock(Arc::new(clock));
        // A session would go on with the built-in ones, and the replay answer another question.
        hazards_of(&options)?;
        let live = LiveSession::open(store, options)?;
        Ok(Self {
            transcript,
            playing,
            live,
            facts,
            list: Vec::new(),
            since: None,
            known: 0,
            read: 0,
            call: 0,
            oracle: playing.foresees.then(|| Oracle::new(&transcript.messages, playing.counter)),
        })
    }

    /// Plays all calls. Returns the session after the last.
    fn play(mut self, each: &mut dyn FnMut(Played, &Session) -> Result<()>) -> Result<LiveSession> {
        for (call, before) in answers(&self.transcript.messages).enumerate() {
            let tool_calls = self.read_until(before, call)?;
            let (mut changes, mut notices) = self.transform()?;
            let compaction_cost = self.compact_if_due();
            if compaction_cost.is_some() {
                let (more, later) = self.transform()?;
                changes.extend(more);
                notices.extend(later);
            }
            let compaction_cost = compaction_cost.unwrap_or(0.0);
            let played = Played { call, before, changes, notices, compaction_cost, tool_calls };
            each(played, self.live.state())?;
        }
        Ok(self.live)
    }

    /// Takes the messages before an answer, and the file changes until its request is sent.
    fn read_until(&mut self, before: usize, call: usize) -> Result<ToolCalls> {
        for index in self.read..before {
            self.facts.take(&mut self.live, &self.transcript.messages[index], call)?;
            self.list.push(Listed::Given(index));
        }
        (self.read, self.call) = (before, call);
        self.facts.at_request(call)
    }

    /// Hands over the new messages of the list.
    fn transform(&mut self) -> Result<(Vec<PlayedChange>, Vec<Notice>)> {
        let fresh = self.list[self.known..].iter();
        let messages = fresh.map(|one| self.json(one).to_owned()).collect();
        let info = CallInfo {
            context_window: self.playing.window_tokens,
            fixed_tokens: Some(self.playing.fixed_tokens),
            overhead_tokens: Some(self.playing.overhead_tokens),
            ..CallInfo::default()
        };
        if let Some(oracle) = &self.oracle {
            self.live.foresee(oracle.at(self.call, self.read));
        }
        let list = HostList { since: self.since, skip: self.known, messages };
        let Transformed::Edits { call, edits, notices } = self.live.transform(list, &info)? else {
            return Err(Error::internal("a session that is played asked for the whole list"));
        };
        (self.since, self.known) = (Some(call), self.list.len());
        Ok((self.changes(&edits)?, notices))
    }

    /// Replaces the oldest messages by a summary if the session's request leaves too little of the
    /// window free, as a host does that asks before; returns the cost.
    fn compact_if_due(&mut self) -> Option<f64> {
        let counter = self.playing.counter;
        let tokens = self.playing.fixed_tokens + self.live.status().window_tokens;
        let units = tokens * counter.units_per_token();
        if units
            <= most_tokens(self.playing.window_tokens?, RESERVED_TOKENS) * counter.units_per_token()
        {
            return None;
        }
        let sizes: Vec<Sized> = self
            .list
            .iter()
            .map(|listed| sized(&MeasuredMessage::parse(self.json(listed), counter)))
            .collect();
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

    fn changes(&self, edits: &str) -> Result<Vec<PlayedChange>> {
        let edits = read_edits(edits)?.into_iter();
        edits.map(|edit| edit.try_map(|inserted| self.sent(inserted))).collect()
    }

    fn sent(&self, inserted: Inserted<'_>) -> Result<PlayedRequest> {
        let (index, content) = match inserted {
            Inserted::Ours(message) => return Ok(PlayedRequest::Ours(message.to_owned())),
            Inserted::Given(index) => (index, None),
            Inserted::Changed(index, content) => (index, Some(content)),
        };
        let listed = self.list.get(index);
        let listed = listed.ok_or_else(|| Error::internal("a slot has no message of the list"))?;
        let with = |content| {
            HostMessage::parse(self.json(listed), Counter::Characters).with_content(content)
        };
        Ok(match (listed, content) {
            (Listed::Given(index), None) => PlayedRequest::Given(*index),
            (Listed::Given(index), Some(content)) => {
                PlayedRequest::Changed { index: *index, json: with(content) }
            }
            (Listed::Summary(json), None) => PlayedRequest::Ours(json.clone()),
            (Listed::Summary(_), Some(content)) => PlayedRequest::Ours(with(content)),
        })
    }
}

pub(super) fn sized(message: &MeasuredMessage) -> Sized {
    Sized { units: message.units, is_result: message.speaker() == Speaker::Tool }
}

/// The user message that replaces what a compaction dropped. Only its size matters; the transcript
/// has no text for it.
pub(super) fn summary(timestamp: i64) -> String {
    let length = SUMMARY_TOKENS * Counter::Characters.units_per_token();
    let length = usize::try_from(length).unwrap_or_default() - "user".len();
    let text: String = "summary ".chars().cycle().take(length).collect();
    json!({ "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": timestamp })
        .to_string()
}
