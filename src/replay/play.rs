//! Plays a transcript through a session as live use does: one call before each message of the assistant.
//!
//! The session is in memory and looks at no file of this machine. Must not measure anything.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::transcript::Transcript;
use crate::context::host::HostMessage;
use crate::context::live::{CallInfo, Files, LiveSession, Notice, OpenSession, Transformed};
use crate::context::tokens::Counter;
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::store::Store;

/// How a transcript is played.
#[derive(Debug, Clone)]
pub struct Playing {
    /// The session's settings, its layout among them.
    pub settings: Settings,
    /// How tokens are counted.
    pub counter: Counter,
    /// Tokens of the model's window; `None`: no limit.
    pub window_tokens: Option<u64>,
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
}

/// Plays a transcript; `each` gets every call in order.
///
/// # Errors
/// What the session or `each` reports.
pub fn play(
    transcript: &Transcript,
    playing: &Playing,
    each: &mut dyn FnMut(Played) -> Result<()>,
) -> Result<()> {
    let mut live = open(&transcript.name, playing)?;
    let info = CallInfo { context_window: playing.window_tokens, ..CallInfo::default() };
    let mut known = 0;
    for (call, before) in answers(&transcript.messages).enumerate() {
        let fresh = format!("[{}]", transcript.messages[known..before].join(","));
        let Transformed::Edits { edits, notices } = live.transform(known, &fresh, &info)? else {
            return Err(Error::internal("a session that is played asked for the whole list"));
        };
        let changes = changes(&edits, &transcript.messages)?;
        each(Played { call, before, changes, notices })?;
        known = before;
    }
    Ok(())
}

/// Plays a transcript as the host alone would: its messages as they are.
///
/// # Errors
/// What `each` reports.
pub fn play_plain(
    transcript: &Transcript,
    each: &mut dyn FnMut(Played) -> Result<()>,
) -> Result<()> {
    let mut known = 0;
    for (call, before) in answers(&transcript.messages).enumerate() {
        let insert = (known..before).map(Sent::Given).collect();
        let changes = vec![Change { at: known, remove: 0, insert }];
        each(Played { call, before, changes, notices: Vec::new() })?;
        known = before;
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

fn open(name: &str, playing: &Playing) -> Result<LiveSession> {
    let options = OpenSession {
        harness: "replay".into(),
        host_session: name.to_owned(),
        cwd: "/".into(),
        parent: None,
        settings: playing.settings.clone(),
        filesystem_id: "replay".into(),
        counter: playing.counter,
        files: Files::Elsewhere,
    };
    LiveSession::open(Store::open(":memory:")?, options)
}

/// Reads the session's edits as the host's side does.
fn changes(edits: &str, messages: &[String]) -> Result<Vec<Change>> {
    #[derive(Deserialize)]
    struct Edit<'a> {
        at: usize,
        remove: usize,
        #[serde(borrow)]
        insert: Vec<Slot<'a>>,
    }
    #[derive(Deserialize)]
    struct Slot<'a> {
        host: Option<usize>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        #[serde(borrow)]
        message: Option<&'a RawValue>,
    }
    let edits: Vec<Edit<'_>> = serde_json::from_str(edits)
        .map_err(|error| Error::internal(format!("edits cannot be read: {error}")))?;
    let sent = |slot: Slot<'_>| match (slot.message, slot.host, slot.content) {
        (Some(message), ..) => Ok(Sent::Ours(message.get().to_owned())),
        (None, Some(index), None) => Ok(Sent::Given(index)),
        (None, Some(index), Some(content)) => {
            let given = messages.get(index).map_or("", String::as_str);
            let given = HostMessage::parse(given, Counter::Characters);
            Ok(Sent::Changed { index, json: given.with_content(content.get()) })
        }
        (None, None, _) => Err(Error::internal("a slot has neither message nor index")),
    };
    let change = |edit: Edit<'_>| {
        let insert = edit.insert.into_iter().map(sent).collect::<Result<_>>()?;
        Ok(Change { at: edit.at, remove: edit.remove, insert })
    };
    edits.into_iter().map(change).collect()
}
