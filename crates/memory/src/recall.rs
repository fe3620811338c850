//! Recall: searches memory and, on request, past sessions. A failed recall never reads like one
//! that found nothing. Must not write, or say what a model sees.

mod alike;
mod confidence;
mod corpus;
mod dates;
mod passages;
mod question;
mod ranking;
mod related;
mod sessions;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::alike::Gathered;
use self::corpus::Corpus;
use self::passages::Passage;
use self::question::Question;
use self::ranking::{Ranked, rank};
use super::load::MemoryFile;
use super::page::{Page, PageId};
use super::pins::CitedChange;
use super::scope::{Folders, Scope};
use super::stale::Staleness;
use super::warning::Warning;
use super::watching::Recalled;
use super::{Look, Memory, StoreAccess};
use base::error::Error;
use base::object::{ObjectId, quote};
use store::{Expression, SnippetLine, Store, snippet};

/// Default limit of hits.
const DEFAULT_LIMIT: usize = 10;
/// Longest query, in characters.
const MAX_QUERY_CHARS: usize = 10_000;
/// Passages whose lines show why a file was found.
const SHOWN_PASSAGES: usize = 3;
/// The weight of a hit in the archive beside a current one: it may have been archived because it is
/// wrong.
const ARCHIVED: f64 = 0.5;
/// Warnings about files that were not searched completely.
const UNSEARCHED: [&str; 6] =
    ["UNREADABLE", "NOT_TEXT", "NOT_PRIVATE", "TOO_LARGE", "MANY_FILES", "LEADS_OUT"];

/// The outcome of a recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RecallReason {
    /// Something was found.
    Ok,
    /// What was found shares words with the question, but hardly answers it.
    Weak,
    /// Everything requested was searched without a match.
    NoMatch,
    /// The query or an option is invalid.
    Malformed,
    /// The requested memory may not be read, because the user does not trust the project.
    Denied,
    /// Something could not be reached: a file that cannot be read, no store.
    Unavailable,
    /// The store failed.
    BackendError,
}

impl RecallReason {
    /// The code that hosts see.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Options of a recall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallOptions {
    /// Scopes to search; empty for all readable ones.
    pub scopes: Vec<Scope>,
    /// Whether to rank whole files instead of their passages.
    pub by_file: bool,
    /// Whether past sessions are searched too.
    pub sessions: bool,
    /// The session that asks, as in its ID without `session:`; it does not count as a past one.
    pub current_session: Option<String>,
    /// Most hits in memory, and most in past sessions; default 10.
    pub limit: usize,
}

impl Default for RecallOptions {
    fn default() -> Self {
        Self {
            scopes: Vec::new(),
            by_file: false,
            sessions: false,
            current_session: None,
            limit: DEFAULT_LIMIT,
        }
    }
}

/// The result of a recall.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallAnswer {
    /// `Ok` or `Weak` if there is a hit; otherwise the worst reason why there is none.
    pub reason: RecallReason,
    /// What was requested and not searched completely, each with the reason; also present if there
    /// are hits.
    pub problems: Vec<RecallProblem>,
    /// The hits: those in memory, best first, then those in past sessions, best first.
    pub hits: Vec<RecallHit>,
}

impl RecallAnswer {
    /// The answer to an invalid query.
    pub fn malformed(error: &Error) -> Self {
        let reason = RecallReason::Malformed;
        let problems = vec![RecallProblem { reason, message: error.to_string() }];
        Self { reason, problems, hits: Vec::new() }
    }
}

/// Something that was not searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallProblem {
    /// Why: `Malformed` or worse.
    pub reason: RecallReason,
    /// The problem, in words.
    pub message: String,
}

/// A passage or file that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallHit {
    /// Where it was found.
    pub place: RecallPlace,
    /// The page that holds it; `None` for a message, and above the first page of a file.
    pub page: Option<PageId>,
    /// What became of a file that its page cites: the worst of all.
    pub stale: Option<CitedChange>,
    /// Other places that say nearly the same, best first.
    pub alike: Vec<RecallPlace>,
    /// Texts of the headings above it, outermost first; none for a file.
    pub headings: Vec<String>,
    /// Above 0; higher is better. Comparable within memory, and within past sessions.
    pub score: f64,
    /// The lines that show why, at most three, with their numbers in the file or message. Before
    /// those of an item stands the one that announces its list.
    pub lines: Vec<SnippetLine>,
}

/// The place of a hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecallPlace {
    /// In a memory file.
    File {
        /// Scope.
        scope: Scope,
        /// Path in the scope's folder, with `/`.
        file: String,
        /// Absolute path.
        path: PathBuf,
        /// First line, from 1.
        line: u64,
        /// Whether it is in the archive.
        is_archived: bool,
    },
    /// In a message of a past session.
    Message {
        /// The session.
        session: ObjectId,
        /// Position of the message in the session's chat.
        position: u64,
        /// The shortest segment of the chat that holds it.
        segment: Option<ObjectId>,
    },
}

impl Memory {
    /// Searches all memory files, linked or not, the archive, and on request past sessions in
    /// `store`. Works even if memory is off.
    pub fn recall(
        &mut self,
        query: &str,
        options: &RecallOptions,
        store: Option<&Store>,
    ) -> RecallAnswer {
        let look = self.look();
        self.recall_at(query, options, store, &look)
    }

    /// As [`Self::recall`], at what a look showed.
    pub(super) fn recall_at(
        &mut self,
        query: &str,
        options: &RecallOptions,
        store: Option<&Store>,
        look: &Look,
    ) -> RecallAnswer {
        let expression = match parsed(query, options) {
            Ok(expression) => expression,
            Err(error) => return RecallAnswer::malformed(&error),
        };
        if !self.recall.knows(&look.files) {
            self.recall.learn(look.files.clone());
        }
        let mut problems = denied(options, &self.folders);
        problems.extend(unsearched(&look.warnings));
        let RankedHits { mut hits, mut is_answered } =
            self.recall.find(&expression, options, &look.stale);
        if options.sessions {
            let known = self.keeper.access.as_ref().map(StoreAccess::store);
            let (found, problem) = sessions::recall(store.or(known), &expression, options);
            hits.extend(found.hits);
            is_answered |= found.is_answered;
            problems.extend(problem);
        }
        let worst = problems.iter().map(|problem| problem.reason).max();
        let reason = match worst {
            _ if is_answered => RecallReason::Ok,
            _ if !hits.is_empty() => RecallReason::Weak,
            Some(worst) => worst,
            None => RecallReason::NoMatch,
        };
        self.note_recall(query, reason, &hits, &problems);
        RecallAnswer { reason, problems, hits }
    }

    fn note_recall(
        &mut self,
        query: &str,
        reason: RecallReason,
        hits: &[RecallHit],
        problems: &[RecallProblem],
    ) {
        let mut pages: Vec<PageId> = Vec::new();
        for page in hits.iter().filter_map(|hit| hit.page.as_ref()) {
            if !pages.contains(page) {
                pages.push(page.clone());
            }
        }
        let failed = problems.iter().filter(|problem| problem.reason > RecallReason::Denied);
        let unsearched = failed.map(|problem| problem.message.clone()).collect();
        self.recalled(Recalled { query, code: reason.as_str(), pages, unsearched });
    }
}

/// Searches memory files, and keeps their words until the files change.
#[derive(Debug, Default)]
pub(super) struct Recall {
    files: Vec<MemoryFile>,
    passages: Vec<Passage>,
    corpus: Corpus,
}

impl Recall {
    /// Whether these are the indexed files.
    fn knows(&self, files: &[MemoryFile]) -> bool {
        let mut pairs = self.files.iter().zip(files);
        self.files.len() == files.len()
            && pairs.all(|(known, file)| {
                (known.scope, &known.file, &known.hash) == (file.scope, &file.file, &file.hash)
            })
    }

    /// Indexes files.
    fn learn(&mut self, files: Vec<MemoryFile>) {
        let numbered = files.iter().enumerate();
        self.passages = numbered
            .flat_map(|(at, file)| passages::passages(at, &file.file, &file.text))
            .collect();
        self.corpus = Corpus::new(&self.passages);
        self.files = files;
    }

    /// The hits in the indexed files. `stale`: what became of the files that pages cite.
    fn find(
        &self,
        expression: &Expression,
        options: &RecallOptions,
        stale: &BTreeMap<PageId, Staleness>,
    ) -> RankedHits {
        let question = Question::new(&self.corpus, expression);
        let ranked = rank(&self.corpus, &question);
        let is_asked = |document: usize| {
            let scope = self.files[document].scope;
            options.scopes.is_empty() || options.scopes.contains(&scope)
        };
        let of = |at: usize| self.passages[at].document;
        let mut passages = self.current_first(&ranked.passages, of);
        passages.retain(|(at, _)| is_asked(of(*at)));
        let best = passages.iter().map(|(at, _)| *at);
        let is_answered = confidence::is_answered(&self.corpus, &question, best);
        let mut hits: Vec<RecallHit> = if options.by_file {
            let documents = ranked.documents(&self.corpus, &question);
            let found = self.current_first(&documents, |at| at).into_iter();
            let asked = found.filter(|(at, _)| is_asked(*at)).take(options.limit);
            asked.map(|found| self.hit_of_file(found, &ranked, expression)).collect()
        } else {
            // A marked one must not hide one that is not.
            let worst = |at: usize| {
                let Passage { document, line, .. } = self.passages[at];
                let page = self.page_at(document, line)?;
                stale.get(&page.id)?.worst()
            };
            let agree = |one: usize, other: usize| {
                alike::agree(&self.passages[one], &self.passages[other])
                    && worst(one) == worst(other)
            };
            let found = alike::gathered(&self.corpus, passages, options.limit, agree);
            found.into_iter().map(|found| self.hit_of_passage(&found, expression)).collect()
        };
        for hit in &mut hits {
            let staleness = hit.page.as_ref().and_then(|page| stale.get(page));
            hit.stale = staleness.and_then(Staleness::worst).cloned();
        }
        RankedHits { hits, is_answered }
    }

    fn hit_of_passage(&self, found: &Gathered, expression: &Expression) -> RecallHit {
        let (at, score) = found.best;
        let passage = &self.passages[at];
        let lead_in = passage.lead_in.clone().into_iter();
        let lines = lead_in.chain(lines(passage, expression)).collect();
        let hit = self.hit(passage.document, passage.line, score, lines);
        let alike = found.alike.iter().map(|at| {
            let Passage { document, line, .. } = self.passages[*at];
            self.place(document, line)
        });
        RecallHit { headings: passage.headings.clone(), alike: alike.collect(), ..hit }
    }

    fn hit_of_file(
        &self,
        (at, score): (usize, f64),
        ranked: &Ranked,
        expression: &Expression,
    ) -> RecallHit {
        let lines = self.lines_of_file(at, ranked, expression);
        self.hit(at, lines.first().map_or(1, |line| line.line), score, lines)
    }

    /// The results, best first, where the archive counts less. `document`: returns a result's
    /// document.
    fn current_first(
        &self,
        found: &[(usize, f64)],
        document: impl Fn(usize) -> usize,
    ) -> Vec<(usize, f64)> {
        let weigh = |(at, score): &(usize, f64)| {
            let is_archived = self.files[document(*at)].is_archived();
            (*at, if is_archived { score * ARCHIVED } else { *score })
        };
        let mut found: Vec<(usize, f64)> = found.iter().map(weigh).collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1));
        found
    }

    fn hit(&self, document: usize, line: u64, score: f64, lines: Vec<SnippetLine>) -> RecallHit {
        let page = self.page_at(document, line).map(|page| page.id.clone());
        let place = self.place(document, line);
        RecallHit {
            place,
            page,
            stale: None,
            alike: Vec::new(),
            headings: Vec::new(),
            score,
            lines,
        }
    }

    fn page_at(&self, document: usize, line: u64) -> Option<&Page> {
        let holds = |page: &&Page| {
            (u64::from(page.place.line)..=u64::from(page.place.last_line)).contains(&line)
        };
        self.files[document].pages.iter().find(holds)
    }

    fn place(&self, document: usize, line: u64) -> RecallPlace {
        let file = &self.files[document];
        RecallPlace::File {
            scope: file.scope,
            file: file.file.clone(),
            path: file.path.clone(),
            line,
            is_archived: file.is_archived(),
        }
    }

    /// The best line of each of a file's best passages, in their order.
    fn lines_of_file(
        &self,
        document: usize,
        found: &Ranked,
        expression: &Expression,
    ) -> Vec<SnippetLine> {
        let passages = found.passages.iter().map(|(at, _)| &self.passages[*at]);
        let best = passages.filter(|passage| passage.document == document).take(SHOWN_PASSAGES);
        let lines = best.filter_map(|passage| {
            let lines = lines(passage, expression).into_iter();
            lines.rev().max_by_key(|line| line.matches.len())
        });
        let mut lines: Vec<SnippetLine> = lines.collect();
        lines.sort_by_key(|line| line.line);
        lines
    }
}

/// Hits, and whether they answer the question.
#[derive(Debug, Default)]
struct RankedHits {
    hits: Vec<RecallHit>,
    is_answered: bool,
}

fn parsed(query: &str, options: &RecallOptions) -> Result<Expression, Error> {
    if options.limit == 0 {
        return Err(Error::argument("limit", "must be at least 1"));
    }
    if query.chars().nth(MAX_QUERY_CHARS).is_some() {
        let problem = format!("is longer than {MAX_QUERY_CHARS} characters");
        return Err(Error::argument("query", problem));
    }
    words::without_function_words(query, Expression::parse(query)?)
}

/// The requested scopes that may not be read.
fn denied(options: &RecallOptions, folders: &Folders) -> Vec<RecallProblem> {
    let asked = options.scopes.iter().filter(|scope| folders.is_denied(**scope));
    let problems = asked.map(|scope| RecallProblem {
        reason: RecallReason::Denied,
        message: format!("memory of scope `{scope}` is not searched: the project is not trusted"),
    });
    problems.collect()
}

fn unsearched(warnings: &[Warning]) -> impl Iterator<Item = RecallProblem> {
    // What is known besides the Markdown, such as `.lock` and `page-facts.jsonl`, is not searched.
    let is_searched = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.is_empty()
            && !name.starts_with('.')
            && path.extension().is_none_or(|end| end.eq_ignore_ascii_case("md"))
    };
    let about = warnings.iter().filter(|warning| UNSEARCHED.contains(&warning.code));
    let about = about.filter(move |warning| is_searched(&warning.path));
    about.map(|warning| RecallProblem {
        reason: RecallReason::Unavailable,
        message: format!("`{}` {}", quote::path(&warning.path), warning.problem),
    })
}

/// The lines of a passage that show why it was found; its first line if none matches the search.
fn lines(passage: &Passage, expression: &Expression) -> Vec<SnippetLine> {
    let mut lines = snippet(&passage.text, expression);
    if lines.is_empty() {
        lines.push(SnippetLine::plain(&passage.text));
    }
    for line in &mut lines {
        line.line += passage.line - 1;
    }
    lines
}
