//! A message as an item of the chat document: its exact JSON, with the content of a tool result by
//! reference.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Slice};
use context::content::{self, LeftOutContent};
use context::host::HostMessage;
use context::log_layout::{Texts, lines_of};
use context::tokens::Counter;
use session::{LineRange, Withheld, WithheldReason};

/// Where the content of a message is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContentFrom {
    /// The object.
    object: ObjectId,
    /// `content_hash` of the version.
    version: Hash,
    /// The lines; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<LineRange>,
    /// Text after it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    after: String,
    /// The content's [frame](content::frame); `None` for one text block without other keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frame: Option<Box<RawValue>>,
    /// Whether only the images are kept there, and the frame has the texts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    images_only: bool,
}

impl ContentFrom {
    /// The whole text of an object's version.
    pub(crate) fn whole(object: &ObjectId, version: &Hash) -> Self {
        let (object, version) = (object.clone(), version.clone());
        let (lines, after, frame) = (None, String::new(), None);
        Self { object, version, lines, after, frame, images_only: false }
    }

    /// The images of a toolcall's version; the message holds its text itself.
    pub(crate) fn images(object: &ObjectId, version: &Hash) -> Self {
        Self { images_only: true, ..Self::whole(object, version) }
    }

    /// Lines of an object's version and a text behind them.
    pub(crate) fn lines(object: &ObjectId, version: &Hash, range: LineRange, after: &str) -> Self {
        let (lines, after) = (Some(range), after.to_owned());
        Self { lines, after, ..Self::whole(object, version) }
    }

    /// The version whose lines these are, and which; `None` if it is all of a version.
    pub(crate) fn of_file(&self) -> Option<((ObjectId, Hash), Slice)> {
        let LineRange { first: first_line, last: last_line } = self.lines?;
        let slice = Slice { first_line, last_line, suffix: self.after.clone() };
        Some(((self.object.clone(), self.version.clone()), slice))
    }

    /// Returns this if it yields exactly this content.
    fn giving(mut self, content: &str, texts: &dyn Texts) -> Result<Option<Self>> {
        if !self.images_only && content::is_text_content(content, &self.text(texts)?) {
            return Ok(Some(self));
        }
        let left_out = if self.images_only { LeftOutContent::Images } else { LeftOutContent::All };
        let frame = content::frame(content, left_out);
        if frame == content {
            return Ok(None);
        }
        self.frame = Some(RawValue::from_string(frame).map_err(|error| unreadable(&error))?);
        Ok((self.content(texts)? == content).then_some(self))
    }

    fn content(&self, texts: &dyn Texts) -> Result<String> {
        let text = self.text(texts)?;
        Ok(match &self.frame {
            Some(frame) => {
                let mut image = |number| texts.image(&self.object, &self.version, number);
                content::fill(frame.get(), &text, &mut image)?
            }
            None => content::text_content(&text),
        })
    }

    fn text(&self, texts: &dyn Texts) -> Result<Arc<str>> {
        if self.images_only {
            return Ok("".into());
        }
        let text = texts.text(&self.object, &self.version)?;
        Ok(match self.lines {
            Some(range) => (lines_of(&text, range) + &self.after).into(),
            None if self.after.is_empty() => text,
            None => format!("{text}{}", self.after).into(),
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Item<'a> {
    turn: u32,
    step: u32,
    #[serde(borrow)]
    message: &'a RawValue,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<ContentFrom>,
    /// Set where `message` is a placeholder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<Withheld>,
}

/// Writes a message as an item. `from` is used only if it gives exactly the message's content.
pub(crate) fn write(
    message: &HostMessage,
    turn: u32,
    step: u32,
    from: Option<ContentFrom>,
    texts: &dyn Texts,
) -> Result<String> {
    let from = match (from, message.content()) {
        (Some(from), Some(content)) => from.giving(content, texts)?,
        _ => None,
    };
    let raw = if from.is_some() { message.with_content("null") } else { message.raw.clone() };
    let raw: &RawValue = serde_json::from_str(&raw).map_err(|error| unreadable(&error))?;
    let withheld = message.withheld.clone();
    serde_json::to_string(&Item { turn, step, message: raw, content: from, withheld })
        .map_err(|error| unreadable(&error))
}

/// Reads the message that an item holds, byte for byte, or the placeholder that stands for it.
pub(crate) fn read(item: &str, texts: &dyn Texts, counter: Counter) -> Result<HostMessage> {
    let item: Item<'_> = serde_json::from_str(item).map_err(|error| unreadable(&error))?;
    let message = HostMessage::from_stored(item.message.get(), item.withheld, counter);
    match item.content {
        Some(from) => Ok(HostMessage::parse(message.with_content(&from.content(texts)?), counter)),
        None => Ok(message),
    }
}

/// As [`read`], but without the referenced content: content kept elsewhere is null.
pub(crate) fn read_unfilled(item: &str, counter: Counter) -> Result<HostMessage> {
    let item: Item<'_> = serde_json::from_str(item).map_err(|error| unreadable(&error))?;
    Ok(HostMessage::from_stored(item.message.get(), item.withheld, counter))
}

/// As [`read`], for an item whose referenced text was forgotten: a placeholder. `digest` and
/// `tokens`: of the original message.
pub(crate) fn read_forgotten(
    item: &str,
    digest: &Hash,
    tokens: u64,
    counter: Counter,
) -> Result<HostMessage> {
    let item: Item<'_> = serde_json::from_str(item).map_err(|error| unreadable(&error))?;
    let (digest, bytes) = (digest.clone(), item.message.get().len() as u64);
    let withheld = Withheld { reason: WithheldReason::Forgotten, digest, bytes, tokens };
    Ok(HostMessage::from_stored(item.message.get(), Some(withheld), counter))
}

/// Turns an item from which something was removed into a new item: facts about the original message
/// are from now on in the item itself.
pub(crate) fn carry_over(item: &str, digest: &Hash, tokens: u64) -> Result<String> {
    let mut item: Item<'_> = serde_json::from_str(item).map_err(|error| unreadable(&error))?;
    if item.withheld.is_none() {
        let (digest, bytes) = (digest.clone(), item.message.get().len() as u64);
        item.withheld = Some(Withheld { reason: WithheldReason::Redacted, digest, bytes, tokens });
    }
    serde_json::to_string(&item).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::internal(format!("chat item cannot be read or written: {error}"))
}
