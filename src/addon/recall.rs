//! `Memory.recall`. Must not decide anything.

use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi_derive::napi;

use super::argument::Given;
use super::blocking::Blocking;
use super::memory::Memory;
use super::search::SnippetLine;
use super::store::Store;
use super::version::count;
use base::error::Result;
use memory::{RecallPlace, Scope};

/// What to recall.
#[napi(object)]
#[derive(Default)]
pub struct RecallOptions {
    /// Scopes to search. Default: all that may be looked at.
    #[napi(ts_type = "MemoryScope[]")]
    pub scopes: Option<Vec<String>>,
    /// Whether whole files are ranked, and not the passages in them. Default: `false`.
    pub by_file: Option<bool>,
    /// Whether past sessions are searched too, in the store given. Default: `false`.
    pub sessions: Option<bool>,
    /// ID of the session that asks: it is no past one.
    pub current_session: Option<String>,
    /// Most hits in memory, and most in past sessions; at least 1. Default: 10.
    pub limit: Option<u32>,
}

/// What a recall found.
#[napi(object)]
pub struct RecallAnswer {
    /// `ok` where a hit is likely to answer, `weak` where the hits share words with the question and hardly answer it. Else why there is
    /// none: `no_match` if all that was asked for was searched; `malformed` (also a question of function words alone), `denied` (the
    /// project is not trusted), `unavailable` (a file that cannot be read, no store) or `backend_error` (the store failed) if not.
    #[napi(
        ts_type = "'ok' | 'weak' | 'no_match' | 'malformed' | 'denied' | 'unavailable' | 'backend_error'"
    )]
    pub reason: String,
    /// What was asked for and not searched, or not to its end; also where there are hits.
    pub problems: Vec<RecallProblem>,
    /// The hits: those in memory, best first, then those in past sessions, best first.
    pub hits: Vec<RecallHit>,
}

/// Something that was not searched.
#[napi(object)]
pub struct RecallProblem {
    /// Why.
    #[napi(ts_type = "'malformed' | 'denied' | 'unavailable' | 'backend_error'")]
    pub reason: String,
    /// What, and what is wrong.
    pub message: String,
}

/// A passage of memory, a memory file, or a message of a past session that was found.
#[napi(object, use_nullable = true)]
pub struct RecallHit {
    /// Whose memory it is; null for a message.
    #[napi(ts_type = "MemoryScope")]
    pub scope: Option<String>,
    /// Path in the scope's folder, with `/`; null for a message.
    pub file: Option<String>,
    /// Absolute path; null for a message.
    pub path: Option<String>,
    /// First line of the passage, from 1; null for a message.
    pub line: Option<i64>,
    /// ID of the page that holds it; null for a message, and where no page does.
    pub page: Option<String>,
    /// Whether it stands in the archive: it is stale.
    pub archived: bool,
    /// What became of a file that its page cites, the worst of all; null if nothing did. See `CitedFile.change`.
    #[napi(ts_type = "'contradicted' | 'touched' | 'moved' | 'gone'")]
    pub stale: Option<String>,
    /// ID of the past session; null in memory.
    pub session: Option<String>,
    /// Position of the message in the session's chat, from 0; null in memory.
    pub item: Option<i64>,
    /// ID of the shortest chat segment that holds the message; null in memory, and where there is none.
    pub segment: Option<String>,
    /// Other places in memory that say nearly the same, best first.
    pub alike: Vec<AlikePlace>,
    /// Texts of the headings above, outermost first.
    pub headings: Vec<String>,
    /// Above 0; higher is better. Only comparable within memory, and within past sessions.
    pub score: f64,
    /// The lines that show why, at most three, with their numbers in the file or message.
    pub lines: Vec<SnippetLine>,
}

/// A place in memory that says nearly what a hit says.
#[napi(object)]
pub struct AlikePlace {
    /// Whose memory it is.
    #[napi(ts_type = "MemoryScope")]
    pub scope: String,
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// First line of the passage, from 1.
    pub line: i64,
}

#[napi]
impl Memory {
    /// Finds what memory says about something: entries, topic files, the archive, and where `sessions` is set the chats of past sessions
    /// in `store`. Words, `"phrases"`, `-excluded` words, `prefix*`, and plain questions. Never rejects because something could
    /// not be searched: `reason` says so.
    #[napi(
        ts_args_type = "query: string, options?: RecallOptions | null, store?: Store | null",
        ts_return_type = "Promise<RecallAnswer>"
    )]
    pub fn recall(
        &self,
        query: Given<String>,
        options: Given<Option<RecallOptions>>,
        store: Given<Option<ClassInstance<'_, Store>>>,
    ) -> AsyncTask<Blocking<RecallAnswer>> {
        let store = store.named("store").map(|store| store.map(|store| store.core.clone()));
        self.with(move |memory| {
            let asked = query.named("query").and_then(|query| {
                let options = recall_options(options.named("options")?.unwrap_or_default())?;
                Ok((query, options, store?))
            });
            let found = match asked {
                Ok((query, options, store)) => memory.recall(&query, &options, store.as_ref()),
                Err(error) => memory::RecallAnswer::malformed(&error),
            };
            Ok(RecallAnswer::from(found))
        })
    }
}

fn recall_options(given: RecallOptions) -> Result<memory::RecallOptions> {
    let mut options = memory::RecallOptions::default();
    let scopes = given.scopes.unwrap_or_default();
    options.scopes = scopes.iter().map(|scope| Scope::named(scope)).collect::<Result<_>>()?;
    options.by_file = given.by_file.unwrap_or_default();
    options.sessions = given.sessions.unwrap_or_default();
    options.current_session = given
        .current_session
        .map(|id| id.strip_prefix("session:").map(str::to_owned).unwrap_or(id));
    options.limit = given.limit.map_or(options.limit, |limit| limit as usize);
    Ok(options)
}

impl From<memory::RecallAnswer> for RecallAnswer {
    fn from(found: memory::RecallAnswer) -> Self {
        let problem = |problem: memory::RecallProblem| RecallProblem {
            reason: problem.reason.as_str().to_owned(),
            message: problem.message,
        };
        Self {
            reason: found.reason.as_str().to_owned(),
            problems: found.problems.into_iter().map(problem).collect(),
            hits: found.hits.into_iter().map(RecallHit::from).collect(),
        }
    }
}

impl From<memory::RecallHit> for RecallHit {
    fn from(hit: memory::RecallHit) -> Self {
        let mut found = Self {
            scope: None,
            file: None,
            path: None,
            line: None,
            page: hit.page.map(|page| page.to_string()),
            archived: false,
            stale: hit.stale.map(|change| change.as_str().to_owned()),
            session: None,
            item: None,
            segment: None,
            alike: hit.alike.into_iter().filter_map(alike).collect(),
            headings: hit.headings,
            score: hit.score,
            lines: hit.lines.into_iter().map(SnippetLine::from).collect(),
        };
        match hit.place {
            RecallPlace::File { scope, file, path, line, is_archived } => {
                found.scope = Some(scope.to_string());
                found.file = Some(file);
                found.path = Some(path.to_string_lossy().into_owned());
                found.line = Some(count(line));
                found.archived = is_archived;
            }
            RecallPlace::Message { session, position, segment } => {
                found.session = Some(session.to_string());
                found.item = Some(count(position));
                found.segment = segment.map(|id| id.to_string());
            }
        }
        found
    }
}

fn alike(place: RecallPlace) -> Option<AlikePlace> {
    let RecallPlace::File { scope, file, line, .. } = place else { return None };
    Some(AlikePlace { scope: scope.to_string(), file, line: count(line) })
}
