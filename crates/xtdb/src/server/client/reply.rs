//! A server's answer and its text. Must not know what was asked.

use serde_json::Value;

use super::super::edn::{self, Edn};
use super::failure::{self, Failure};
use super::http::MAX_ERROR;
use super::token::Token;

/// Most characters of a server's text that go into a message.
const MAX_SAID: usize = 300;

/// An answer: status and headers, and its text if that was read: all of a short answer, the
/// beginning of an error.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    /// The server's address, as errors name it.
    pub(super) url: String,
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) server: Option<String>,
    pub(super) location: Option<String>,
    pub(super) body: Vec<u8>,
    /// The secret that no message may show.
    pub(super) secret: Option<Token>,
}

impl Reply {
    /// Refuses an answer with another status, and a page.
    pub(super) fn expect(&self, status: u16) -> Result<(), Failure> {
        if self.status == status && !self.is_html() {
            Ok(())
        } else {
            Err(failure::of_status(self))
        }
    }

    /// The class of the exception, if the server names it.
    pub(super) fn class(&self) -> Option<String> {
        self.text_of("class")
    }

    /// A text under a key of the answer, in either notation.
    pub(super) fn text_of(&self, key: &str) -> Option<String> {
        if let Ok(Value::Object(said)) = serde_json::from_slice(&self.body) {
            return said.get(key)?.as_str().map(str::to_owned);
        }
        match edn::read_all(&self.body).ok()?.get(key)? {
            Edn::Text(said) => Some(said.clone()),
            _ => None,
        }
    }

    /// Whether it is the expected answer, by its status and kind.
    pub(super) fn is_wanted(&self) -> bool {
        matches!(self.status, 200..=299) && !self.is_html()
    }

    pub(super) fn is_html(&self) -> bool {
        self.content_type.as_deref().is_some_and(|kind| kind.contains("html"))
    }

    pub(super) fn mentions(&self, word: &str) -> bool {
        memchr::memmem::find(&self.body, word.as_bytes()).is_some()
    }

    /// The server's message in words: its own, or a short plain text.
    pub(super) fn said(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_ERROR)]);
        let said = match serde_json::from_str(&text) {
            Ok(Value::Object(said)) => ["message", "xtdb.error/message", "error", "class"]
                .iter()
                .find_map(|key| said.get(*key)?.as_str().map(str::to_owned)),
            _ if self.is_html() => title(&text),
            _ => Some(text.into_owned()),
        }?;
        let said = self.shown(&said.split_whitespace().collect::<Vec<_>>().join(" "));
        (!said.is_empty()).then_some(said)
    }

    /// The beginning of the server's text, without secrets and without characters that may act on a
    /// terminal.
    pub(super) fn shown(&self, said: &str) -> String {
        let said: String = said.chars().filter(|char| !char.is_control()).collect();
        let said =
            self.secret.as_ref().map_or_else(|| said.clone(), |secret| secret.hidden_in(&said));
        said.chars().take(MAX_SAID).collect()
    }

    pub(super) fn said_after(&self) -> String {
        self.said().map_or_else(String::new, |said| format!(": {said}"))
    }

    /// A short description of another program's answer.
    pub(super) fn described(&self) -> String {
        let kind = match self.content_type.as_deref() {
            _ if self.body.is_empty() => "nothing in it",
            Some(kind) if kind.contains("html") => "an HTML page in it",
            Some(kind) if kind.contains("json") => "JSON in it",
            Some(kind) if kind.contains("edn") => "EDN in it",
            _ => "a text in it",
        };
        let server = self
            .server
            .as_ref()
            .map_or_else(String::new, |server| format!(" from `{}`", self.shown(server)));
        let place = self
            .location
            .as_ref()
            .map_or_else(String::new, |place| format!(", which leads to `{}`", self.shown(place)));
        format!(
            "an answer{server} with status {} and {kind}{}{place}",
            self.status,
            self.said_after()
        )
    }
}

/// The title of a page, or its first words.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find('<')?;
    Some(page[start..end].trim().to_owned())
}
