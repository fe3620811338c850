//! What goes wrong with the server, as the crate's errors: where the connection fails, and what answers of other kinds than asked for
//! mean. The token never comes in here.

use std::error::Error as StdError;

use serde_json::Value;

use super::http::Reply;
use crate::error::Error;

/// Characters of what a server said that go into a message.
const MAX_SAID: usize = 300;

/// Whether and when the same request may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail in the same way.
    Never,
    /// On another connection, at once: this one was dead, or died in the middle.
    AtOnce,
    /// After a while.
    Later,
}

/// An error, and what may be done about it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) again: Again,
    /// Whether the server cannot have seen the request.
    pub(super) unsent: bool,
}

impl Failure {
    pub(super) fn never(error: Error) -> Self {
        Self { error, again: Again::Never, unsent: false }
    }
}

/// The server did not answer in time.
pub(super) fn timeout(url: &str, seconds: f64) -> Error {
    unavailable(url, format!("no answer within {seconds} s"), None)
}

/// As `XTDB_UNAVAILABLE`.
pub(super) fn unavailable(
    url: &str,
    problem: impl Into<String>,
    source: Option<crate::error::BoxError>,
) -> Error {
    Error::XtdbUnavailable { url: url.to_owned(), problem: problem.into(), source }
}

/// As `XTDB_ANSWER`.
pub(super) fn unreadable(url: &str, problem: impl Into<String>) -> Error {
    Error::XtdbAnswer { url: url.to_owned(), problem: problem.into() }
}

/// As `XTDB_FOREIGN`.
pub(super) fn foreign(url: &str, found: impl Into<String>) -> Error {
    Error::XtdbForeign { url: url.to_owned(), found: found.into() }
}

/// What a failed exchange means. Nothing was answered, or the answer broke off.
pub(super) fn of_transport(url: &str, error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let cause = innermost(&error);
    if error.is_connect() {
        // Whoever waited that long does not wait again.
        let (again, problem) = if error.is_timeout() {
            (Again::Never, "no connection in time".to_owned())
        } else if error.is_dns() {
            (Again::Later, format!("its host is not found ({cause})"))
        } else {
            (Again::Later, format!("no connection ({cause})"))
        };
        let error = unavailable(url, problem, Some(error.into()));
        return Failure { error, again, unsent: true };
    }
    let hyper = chain(&error).find_map(|error| error.downcast_ref::<hyper::Error>());
    if hyper.is_some_and(hyper::Error::is_parse) {
        return Failure::never(foreign(url, format!("it does not speak HTTP ({cause})")));
    }
    if error.is_builder() {
        return Failure::never(Error::internal(format!("a request that cannot be sent: {cause}")));
    }
    Failure {
        unsent: hyper.is_some_and(hyper::Error::is_canceled),
        error: unavailable(url, format!("the connection was cut ({cause})"), Some(error.into())),
        again: Again::AtOnce,
    }
}

/// What an answer with another status than asked for means.
pub(super) fn of_status(url: &str, reply: &Reply) -> Failure {
    let status = reply.status;
    let failed = |problem: String| Error::XtdbFailed { url: url.to_owned(), status, problem };
    match status {
        401 | 403 => Failure::never(Error::XtdbRefused {
            url: url.to_owned(),
            status,
            problem: reply.said().unwrap_or_else(|| "it gave no reason".to_owned()),
        }),
        400 if reply.mentions("node-out-of-sync") => Failure {
            error: unavailable(url, "this node has not caught up with the transaction yet", None),
            again: Again::Later,
            unsent: false,
        },
        408 | 429 | 502..=504 => Failure {
            error: unavailable(url, format!("status {status}{}", reply.said_after()), None),
            again: Again::Later,
            unsent: false,
        },
        500 if reply.class().is_some_and(|class| class.ends_with("TimeoutException")) => {
            Failure::never(unavailable(url, "it had not indexed the transaction in time", None))
        }
        500.. => {
            let problem = match reply.class() {
                Some(class) => format!("`{class}`"),
                None => format!("status {status}{}", reply.said_after()),
            };
            Failure::never(failed(problem))
        }
        400 | 413 | 414 | 431 if !reply.is_html() || reply.mentions("Bad Message") => {
            Failure::never(failed(format!(
                "it refused the request with status {status}{}",
                reply.said_after()
            )))
        }
        _ => Failure::never(foreign(url, reply.described())),
    }
}

/// What an answer means that has the right status and another content.
pub(super) fn of_content(url: &str, reply: &Reply) -> Error {
    foreign(url, reply.described())
}

impl Reply {
    /// The class of the exception, where the server names it.
    pub(super) fn class(&self) -> Option<String> {
        let text = std::str::from_utf8(&self.body).ok()?;
        if let Ok(Value::Object(said)) = serde_json::from_str(text) {
            return said.get("class")?.as_str().map(str::to_owned);
        }
        let said = super::super::edn::read_all(&self.body).ok()?;
        match said.get("class")? {
            super::super::edn::Edn::Text(class) => Some(class.clone()),
            _ => None,
        }
    }

    pub(super) fn is_html(&self) -> bool {
        self.content_type.as_deref().is_some_and(|kind| kind.contains("html"))
    }

    fn mentions(&self, word: &str) -> bool {
        memchr::memmem::find(&self.body, word.as_bytes()).is_some()
    }

    /// What the server said in words: a message of its own, or a short plain text.
    fn said(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.body);
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

    /// The beginning of what the server said, without what may act on a terminal or is secret.
    pub(super) fn shown(&self, said: &str) -> String {
        let said: String = said.chars().filter(|char| !char.is_control()).collect();
        let said =
            self.secret.as_ref().map_or_else(|| said.clone(), |secret| secret.hidden_in(&said));
        said.chars().take(MAX_SAID).collect()
    }

    fn said_after(&self) -> String {
        self.said().map_or_else(String::new, |said| format!(": {said}"))
    }

    /// The answer of another program, in a few words.
    fn described(&self) -> String {
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

fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    chain(error).last().map_or_else(String::new, ToString::to_string)
}
