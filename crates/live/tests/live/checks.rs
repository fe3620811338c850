//! Invariants of every request, checked against its text and the script's actions.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

use base::object::{AsOf, Hash, ObjectId};
use config::Layout;
use live::{
    CallInfo, HostList, Inspected, LiveSession, Notice, Wanted, inspect_calls, replay_call,
};
use regex::Regex;
use serde_json::Value;
use session::{IndexEntry, NotedText, Session, Shows, Subject, Treatment};
use store::{Store, Version};

use crate::host::json_of;
use crate::script::{Fact, World};
use crate::shapes::{blocks, shown_text, text_of};

/// A run of this many lines of one version never stands twice.
const SCREEN: usize = 20;

static STANDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(f\d+) unchanged; lines? (\d+)(?:-(\d+))? stands? in (?:the (\w+) result|a (note)) above(?: \((t\d+)\))?\.$").unwrap()
});
static REFERENCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[([fts]\d+)\] (?:(f\d+) )?(.*)$").unwrap());
static ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"id=([\w:+-]+)").unwrap());
static FULLER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"@\d+ is fuller").unwrap());
static TOKENS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\d,]+ tokens?").unwrap());
static LINES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r" · lines? ([\d, -]+)(?: of [\d,]+)?$").unwrap());

static HANDLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[([fts]\d+)\] ").unwrap());
static FOLD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[t(\d+)(?:-t(\d+))?\] s\d+ · (\d+) steps?: \S.*$").unwrap());

/// What stands at one message of a request.
#[derive(Debug, Default)]
struct Standing {
    /// Position of the message in the chat.
    position: u64,
    /// The handle of the file or, if nothing is known about it, its name; and the text of its
    /// version.
    version: Option<(String, String)>,
    /// Numbers of the lines that stand.
    lines: HashSet<u64>,
    /// Lines that are claimed to stand above: first, last, tool, handle.
    claims: Vec<(u64, u64, String, Option<String>)>,
}

impl World {
    /// Sends, and checks the request and an earlier one.
    pub(crate) fn send(&mut self) {
        self.host.send();
        self.asked();
        self.settle_failed();
        let state = self.host.live.state();
        let started = |notice: &&Notice| matches!(notice, Notice::EpochStarted { .. });
        self.epochs += self.host.notices.iter().filter(started).count();
        self.folded += usize::from(!state.folds().is_empty());
        let (number, id) = (self.next_number(), self.host.live.id().clone());
        self.calls.push((id, number, self.host.sent.clone()));
        assert_eq!(self.calls.last().unwrap().1, state.calls(), "every call has its number");
        let earlier = self.calls.len() * 7 % 11 * self.calls.len() / 11;
        self.check_recorded(earlier);
        self.check_sets();
        let is_new = self.check_files();
        if self.host.settings.layout == Layout::Log {
            self.check_log();
            self.check_pins(is_new);
        } else {
            self.check_pools();
        }
        let request = self.comparable();
        self.requests.push(request);
    }

    fn next_number(&self) -> u64 {
        self.calls.last().map_or(0, |(_, number, _)| *number) + 1
    }

    /// Failed calls get their numbers with the next commit.
    pub(crate) fn settle_failed(&mut self) {
        for messages in std::mem::take(&mut self.failed) {
            self.calls.push((self.host.live.id().clone(), self.next_number(), messages));
        }
    }

    pub(crate) fn check_at_the_end(&mut self) {
        self.check_all_recorded();
        crate::timeline::check(&self.host.store, self.host.live.id());
        if self.host.settings.layout == Layout::Log {
            self.check_references();
        }
    }

    fn check_recorded(&self, call: usize) {
        let (session, number, _) = &self.calls[call];
        let again = replay_call(&self.host.store, session, *number).unwrap().messages;
        self.check_rendered(call, &again);
    }

    /// Checks all calls. Those of a session are read in few passes: each read apart begins at the
    /// session's start.
    fn check_all_recorded(&self) {
        let mut call = 0;
        for of_session in self.calls.chunk_by(|(one, ..), (next, ..)| one == next) {
            let (session, first, _) = &of_session[0];
            let numbers = *first..first + of_session.len() as u64;
            for_each_call(&self.host.store, session, numbers, |number, read| {
                assert_eq!(number, self.calls[call].1);
                self.check_rendered(call, &read.messages);
                call += 1;
            });
        }
        assert_eq!(call, self.calls.len());
    }

    fn check_rendered(&self, call: usize, again: &[String]) {
        let (session, number, messages) = &self.calls[call];
        let again: Vec<Value> =
            again.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(again, *messages, "call {number} of {session} renders as it went out");
    }

    fn check_sets(&mut self) {
        let state = self.host.live.state();
        let index: Vec<String> =
            state.index().entries.iter().map(|entry| entry.handle.to_string()).collect();
        assert!(index.starts_with(&self.index), "index and handles only grow");
        let handles: HashSet<&String> = index.iter().collect();
        assert_eq!(handles.len(), index.len(), "two objects have one handle: {index:?}");
        let shown = Value::from(self.host.sent.clone()).to_string();
        for named in HANDLE.captures_iter(&shown) {
            assert!(handles.contains(&named[1].to_owned()), "`{}` names nothing", &named[1]);
        }
        let sets = state.sets();
        let pool: HashSet<&ObjectId> = sets.pool.iter().map(|known| &known.id).collect();
        assert!(pool.iter().all(|id| state.index().get(id).is_some()), "pool ⊆ index");
        assert!(sets.active().all(|active| pool.contains(&active.id)), "active ⊆ pool");
        assert!(sets.pinned().iter().all(|id| sets.is_active(id)), "pinned ⊆ active");
        self.index = index;
    }

    /// For files whose text stands, checks that the store matches the disk, if the call looked at
    /// them; returns whether it did.
    fn check_files(&mut self) -> bool {
        let newest = self.host.messages.last().unwrap();
        let time = newest["timestamp"].as_i64().unwrap();
        let is_looked = self.newest.replace(time) < Some(time) && newest["role"] != "assistant";
        let state = self.host.live.state();
        let standing: HashSet<ObjectId> = match self.host.settings.layout {
            Layout::Log => state.all_showings().map(|showing| showing.object.clone()).collect(),
            Layout::Pools => state.sets().active().map(|active| active.id.clone()).collect(),
        };
        for object in standing.iter().filter(|_| is_looked) {
            let Some(Subject::File { path, .. }) = state.subject(object) else {
                continue;
            };
            let latest = || self.host.store.get(object, AsOf::Latest).unwrap().unwrap();
            let on_disk = std::fs::read_to_string(path).ok();
            let mut version = latest();
            // A file that came back and left again between two calls: the tracker alone saw it.
            if self.tracks && version.content.is_some() && on_disk.is_none() {
                assert!(self.host.live.settle(Duration::from_secs(60)));
                version = latest();
            }
            let stored = self.host.store.content(&version).unwrap();
            assert_eq!(stored, on_disk, "{path} as it is in the store and on disk");
            let is_deleted = version.fields.get("no_content") == Some(&"deleted".into());
            assert_eq!(is_deleted, on_disk.is_none(), "{path}: {:?}", version.fields);
        }
        is_looked
    }

    fn check_log(&self) {
        let state = self.host.live.state();
        let shown = self.shown();
        assert_eq!(self.host.sent.len(), shown.len());
        for (sent, (position, host)) in self.host.sent.iter().zip(&shown) {
            let is_collapsed = *state.treatment(*position) == Treatment::Reference;
            let are_gone = self.host.images && is_collapsed;
            check_message(sent, host, state.folds().lines(*position).as_deref(), are_gone);
        }
        self.check_folds();
        let shown = self.host.sent.iter().zip(&shown);
        let standing: Vec<Standing> =
            shown.map(|(sent, (position, host))| self.standing(*position, sent, host)).collect();
        self.check_claims(&standing);
        self.check_duplicates(&standing);
    }

    /// What is pinned stands in the request, unless a person was told that it has no room, or
    /// nothing could carry it. `is_new`: whether the newest message is new and can carry it.
    fn check_pins(&self, is_new: bool) {
        let (state, pins) = (self.host.live.state(), self.host.live.pins());
        // What is pinned again is listed last.
        let left_out: BTreeSet<_> = pins.left_out.iter().copied().collect();
        assert_eq!(left_out, state.left_out().iter().collect());
        assert!(pins.waiting.is_empty() || !is_new, "{:?}", pins.waiting);
        let texts = self.host.sent.iter().map(text_of).collect::<Vec<_>>().concat();
        for held in state.sets().held.iter().filter(|held| pins.standing.contains(&&held.object)) {
            let known = state.subject(&held.object);
            let Some(Subject::File { version, .. }) = known else { continue };
            let noted = state.noted().flat_map(|at| state.notes(at));
            let mut noted = noted.filter_map(|note| note.shows.as_ref());
            let is_other =
                |text: &NotedText| text.object == held.object && text.version != held.version;
            let shown = state.showings(&held.object).all(|showing| showing.version == held.version)
                && !noted.any(is_other);
            // Of what changed since it was shown, the model has the difference.
            if *version != held.version || !shown {
                continue;
            }
            let (_, text) = self.file_version(state, &held.object, &held.version).unwrap();
            for range in &held.ranges {
                let first = usize::try_from(range.first).unwrap() - 1;
                let lines = text.split('\n').skip(first);
                for line in lines.take(usize::try_from(range.len()).unwrap()) {
                    assert!(texts.contains(line), "`{line}` is pinned");
                }
            }
        }
    }

    /// The host's messages that are not folded, with their positions.
    fn shown(&self) -> Vec<(u64, &Value)> {
        self.in_window().into_iter().filter(|(at, _)| !self.is_folded(*at)).collect()
    }

    fn in_window(&self) -> Vec<(u64, &Value)> {
        let window = self.host.live.state().chat().window.iter().copied();
        window.zip(&self.host.messages).collect()
    }

    fn is_folded(&self, position: u64) -> bool {
        self.host.live.state().folds().hide(position)
    }

    /// Checks that whole steps before an answer of the model are folded, and that lines at the
    /// preceding user message report all of them.
    fn check_folds(&self) {
        let state = self.host.live.state();
        let mut lines: Vec<(u32, u32, u64)> = Vec::new();
        let mut open = false;
        for (position, message) in self.in_window() {
            let role = message["role"].as_str().unwrap();
            let is_folded = self.is_folded(position);
            assert!(is_folded || !open || role == "assistant", "{role} comes after folded steps");
            open = is_folded;
            if role == "user" {
                assert!(
                    lines.iter().all(|(.., steps)| *steps == 0),
                    "steps are told of: {lines:?}"
                );
                let text = state.folds().lines(position).unwrap_or_default();
                lines = text.lines().map(fold_line).collect();
            }
            if is_folded && role == "assistant" {
                let line = lines.iter_mut().find(|(.., steps)| *steps > 0);
                line.expect("a line tells of the step").2 -= 1;
            }
            let fact = state.result(position).filter(|_| is_folded);
            if let Some(handle) = fact.and_then(|fact| state.handle(fact.object.as_ref()?)) {
                let names =
                    |(first, last, _): &(u32, u32, u64)| (*first..=*last).contains(&handle.number);
                assert!(lines.iter().any(names), "a line names {handle}");
            }
        }
        assert!(!open, "the newest message is not folded");
    }

    fn fact(&self, message: &Value) -> Option<&Fact> {
        self.facts.get(&message["timestamp"].as_i64()?)
    }

    /// The text that stands at a message; checks that all of the message's own text stands there or
    /// is claimed to stand above.
    fn standing(&self, position: u64, sent: &Value, host: &Value) -> Standing {
        let mut standing = Standing { position, ..Standing::default() };
        let Some(fact) = self.fact(sent) else { return standing };
        let text = shown_text(sent, host);
        let text = text.as_str();
        let state = self.host.live.state();
        let shows = state.result(position).map(|fact| &fact.shows);
        let shown_anew = match state.treatment(position) {
            Treatment::Reference => {
                assert!(REFERENCE.is_match(text) && !text.contains('\n'), "{text}");
                return standing;
            }
            // A new read that did not fit: `excerpts` counts its lines.
            Treatment::Excerpt { .. } if fact.read.is_some() => return standing,
            Treatment::Current { object, version, .. } => Some((object, version)),
            _ => match shows {
                Some(Shows::Activated { object, version, .. }) => Some((object, version)),
                _ => None,
            },
        };
        standing.version = match shown_anew {
            Some((object, version)) => self.file_version(state, object, version),
            None => fact.read.clone().map(|(name, text)| match shows {
                Some(Shows::File { object, .. }) => (self.handle_of(object), text),
                _ => (name, text),
            }),
        };
        let Some((name, of)) = &standing.version else { return standing };
        let numbers: HashMap<&str, u64> =
            of.lines().zip(1..).filter(|(line, _)| !line.is_empty()).collect();
        for line in text.lines() {
            standing.lines.extend(numbers.get(line));
            if let Some(claim) = STANDS.captures(line) {
                let number = |group: usize| claim.get(group).map(|m| m.as_str().parse().unwrap());
                let first = number(2).unwrap();
                let last = number(3).unwrap_or(first);
                let handle = claim.get(6).map(|m| m.as_str().to_owned());
                assert_eq!(self.handle_now(&claim[1]), *name, "{line}");
                let place = claim.get(4).or_else(|| claim.get(5)).unwrap();
                standing.claims.push((first, last, place.as_str().to_owned(), handle));
            }
        }
        if shown_anew.is_some() {
            check_heading(text, &standing);
            return standing;
        }
        for line in text_of(host).lines() {
            let Some(number) = numbers.get(line) else { continue };
            let claimed = standing.claims.iter().any(|(a, b, ..)| (a..=b).contains(&number));
            assert!(claimed || standing.lines.contains(number), "line {number} of {name} is lost");
        }
        standing
    }

    /// Checks that lines claimed to stand above do so, at that version.
    fn check_claims(&self, standing: &[Standing]) {
        let state = self.host.live.state();
        for (at, here) in standing.iter().enumerate() {
            for (first, last, tool, handle) in &here.claims {
                let is_named = |above: usize| {
                    let fact = state.result(standing[above].position);
                    fact.is_some_and(|fact| {
                        let own = fact.object.as_ref().and_then(|object| state.handle(object));
                        fact.tool == *tool && own.map(|own| own.to_string()) == *handle
                    })
                };
                let (_, text) = here.version.as_ref().unwrap();
                let last_line = text.lines().count() as u64;
                if tool == "note" {
                    let above =
                        self.host.sent[..at].iter().map(text_of).collect::<Vec<_>>().concat();
                    let numbered =
                        text.lines().zip(1..).filter(|(_, line)| (first..=last).contains(&line));
                    for (line, _) in numbered {
                        assert!(
                            above.contains(line),
                            "message {at} says that `{line}` is in a note"
                        );
                    }
                    continue;
                }
                let holds = |above: &Standing| {
                    above.version == here.version
                        && (*first..=(*last).min(last_line)).all(|line| above.lines.contains(&line))
                };
                assert!(
                    (0..at).any(|above| is_named(above) && holds(&standing[above])),
                    "message {at} says that lines {first}-{last} stand in {tool} {handle:?}\n{}",
                    self.host.shown(),
                );
            }
        }
    }

    /// Checks that no screen of consecutive lines of one version stands twice, nor all lines that a
    /// message shows, unless they were asked for again. What is pinned stands in one piece, whatever
    /// of it stands above.
    fn check_duplicates(&self, standing: &[Standing]) {
        for (at, here) in standing.iter().enumerate() {
            let Some(fact) = self.fact(&self.host.sent[at]) else { continue };
            let Some(version) = &here.version else { continue };
            let asked = fact.insisted || matches!(fact.tool.as_str(), "activate" | "pin");
            if asked || self.is_joined(&version.0) {
                continue;
            }
            let is_pinned = self.is_pinned(&version.0);
            let above = standing[..at].iter().enumerate();
            for (before, above) in above.filter(|(_, above)| above.version == here.version) {
                if is_pinned && above.lines.len() < here.lines.len() {
                    continue;
                }
                let mut both: Vec<u64> = here.lines.intersection(&above.lines).copied().collect();
                both.sort_unstable();
                let longest = both.chunk_by(|one, next| one + 1 == *next).map(<[u64]>::len).max();
                let longest = longest.unwrap_or_default();
                // A file that ends in a line end has an empty last line, which only some reads
                // show.
                let shown = match self.host.live.state().result(here.position).map(|it| &it.shows) {
                    Some(Shows::File { range, .. }) => range.len(),
                    _ => here.lines.len() as u64,
                };
                let is_all = here.claims.is_empty() && longest > 0 && longest as u64 == shown;
                assert!(
                    longest < SCREEN && !is_all,
                    "{longest} lines of {} stand at {before} and at {at}\n{}",
                    version.0,
                    self.host.shown(),
                );
            }
        }
    }

    fn is_pinned(&self, handle: &str) -> bool {
        let state = self.host.live.state();
        let pinned = state.sets().pinned();
        let named = state.index().entries.iter().filter(|entry| entry.handle.to_string() == handle);
        named.into_iter().any(|entry| pinned.contains(&&entry.id))
    }

    /// Whether a file was moved over another one that the model knows: the present place of that
    /// one's lines is unknown.
    fn is_joined(&self, handle: &str) -> bool {
        let entries = &self.host.live.state().index().entries;
        let named = entries.iter().find(|entry| entry.handle.to_string() == handle);
        named.is_some_and(|named| entries.iter().filter(|entry| entry.id == named.id).count() > 1)
    }

    fn file_version(
        &self,
        state: &Session,
        object: &ObjectId,
        version: &Hash,
    ) -> Option<(String, String)> {
        let Subject::File { .. } = &state.index().get(object)?.subject else { return None };
        let origins = state.files().origins(object).iter().rev();
        let objects = std::iter::once(object).chain(origins);
        let versions: Vec<Version> =
            objects.flat_map(|object| self.host.store.history(object).unwrap()).collect();
        let version = versions.iter().find(|known| known.content_hash == *version).unwrap();
        let text = self.host.store.content(version).unwrap().unwrap();
        Some((self.handle_of(object), text))
    }

    fn handle_of(&self, object: &ObjectId) -> String {
        self.host.live.state().handle(object).unwrap().to_string()
    }

    /// The handle under which a file is shown now: it may have been moved over another one.
    fn handle_now(&self, handle: &str) -> String {
        let entries = &self.host.live.state().index().entries;
        let entry = entries.iter().find(|entry| entry.handle.to_string() == handle).unwrap();
        self.handle_of(&entry.id)
    }

    /// Checks that every reference line names an object that `activate` brings back as it was;
    /// asked in a fork, which is thrown away.
    pub(crate) fn check_references(&mut self) {
        let (name, known) = (self.host.name.clone(), self.host.live.id().clone());
        let events = self.host.store.items(&known, AsOf::Latest, 0..u64::MAX).unwrap().len();
        let mut options = self.host.options();
        options.parent = Some(name);
        "check".clone_into(&mut options.host_session);
        let mut fork = LiveSession::open(self.host.store.clone(), options).unwrap();
        // A call without a window, so that there is room for all answers together.
        let list = json_of(&self.host.messages);
        fork.transform(HostList::whole(list), &CallInfo::default()).unwrap();
        let state = self.host.live.state();
        for (sent, (position, host)) in self.host.sent.iter().zip(self.shown()) {
            if *state.treatment(position) == Treatment::Reference {
                self.check_reference(&shown_text(sent, host), host, &mut fork);
            }
        }
        for (position, host) in self.in_window() {
            let fact = state.result(position).filter(|_| self.is_folded(position));
            if let Some(handle) = fact.and_then(|fact| state.handle(fact.object.as_ref()?)) {
                self.check_reference(&format!("[{handle}] "), host, &mut fork);
            }
        }
        self.check_texts(&mut fork);
        self.check_segments(&mut fork);
        let now = self.host.store.items(&known, AsOf::Latest, 0..u64::MAX).unwrap().len();
        assert_eq!(now, events, "a fork leaves its parent alone");
    }

    /// Checks that the segment named by a line for folded steps has all their words.
    fn check_segments(&self, fork: &mut LiveSession) {
        let state = self.host.live.state();
        for fold in state.folds().all() {
            // A summary of the host's may have made another one of the same messages since.
            let is_named = |entry: &&IndexEntry| {
                let is_it = |first, last| (first, last) == (fold.first, fold.last);
                matches!(entry.subject, Subject::Segment { first, last, .. } if is_it(first, last))
                    && fold.line.contains(&format!("] {} · ", entry.handle))
            };
            let segment = state.index().entries.iter().find(is_named);
            let segment = segment.unwrap_or_else(|| panic!("`{}` names no segment", fold.line));
            let wanted = Wanted { name: segment.handle.to_string(), ..Wanted::default() };
            let answer = fork.activate("", &wanted, false).unwrap();
            let has_words = |at: &u64| {
                let known = state.chat().get(*at).unwrap();
                let is_kept = !known.withheld && !known.is_volatile();
                is_kept && (fold.first..=fold.last).contains(at)
            };
            let folded = self.in_window().into_iter().filter(|(at, _)| has_words(at));
            for (_, message) in folded.filter(|(_, message)| message["role"] == "assistant") {
                for block in message["content"].as_array().unwrap() {
                    for said in ["text", "thinking"].iter().filter_map(|key| block[*key].as_str()) {
                        assert!(answer.contains(said), "`{said}` in {answer}");
                    }
                }
            }
        }
    }

    /// Checks that every file whose text the model saw has its text or, if it is gone, its last
    /// text.
    fn check_texts(&self, fork: &mut LiveSession) {
        let state = self.host.live.state();
        for entry in &state.index().entries {
            let Subject::File { path, .. } = &entry.subject else { continue };
            let versions = self.host.store.lineage(&entry.id).unwrap();
            let had_text = versions.iter().any(|version| version.content.is_some());
            // Of a file that another was moved over, the path may be a third one's by now.
            let is_replaced = state.handle(&entry.id) != Some(entry.handle);
            if state.files().seen(&entry.id).is_none() || !had_text || is_replaced {
                continue;
            }
            let wanted = Wanted { name: entry.handle.to_string(), ..Wanted::default() };
            let answer = fork.activate("", &wanted, false).unwrap();
            let (heading, shown) = answer.split_once('\n').unwrap_or((&answer, ""));
            match std::fs::read_to_string(path) {
                Ok(text) => assert_eq!(shown, text, "{heading}"),
                Err(_) => assert!(self.was_on_disk(shown), "{answer}"),
            }
        }
    }

    /// `line`: a reference line, or only its handle in brackets. `host`: the message that it stands
    /// for.
    fn check_reference(&self, line: &str, host: &Value, fork: &mut LiveSession) {
        let fact = self.fact(host).unwrap();
        let parts = REFERENCE.captures(line).unwrap();
        let lines = LINES.captures(line).map(|found| found[1].replace(' ', ""));
        let wanted = Wanted { name: parts[1].to_owned(), ..Wanted::default() };
        let own = text_of(host);
        match &fact.read {
            Some((_, text)) => {
                let answer = fork.activate("", &wanted, false).unwrap();
                if self.text_of(&parts[1]).as_ref() == Some(text) {
                    let shown = answer.split_once('\n').unwrap().1;
                    assert!(own.starts_with(shown), "{line}\n{answer}\n--- instead of\n{own}");
                    let named = lines.map(|lines| format!(" {lines} of "));
                    assert!(answer.contains(&named.unwrap_or_default()), "{line}\n{answer}");
                }
            }
            None if matches!(fact.tool.as_str(), "activate" | "pin") => {
                let answer = fork.activate("", &Wanted { lines, ..wanted }, false);
                assert!(answer.is_ok() || parts[1].starts_with('f'), "{line}: {answer:?}");
            }
            None => {
                let answer = fork.activate("", &wanted, false).unwrap();
                // Of an empty output there is only the heading.
                let shown = answer.split_once('\n').map_or("", |(_, text)| text);
                assert_eq!(shown, own, "{line}");
            }
        }
    }

    /// The text on disk of the file that a handle names, or whose lines the call with this handle
    /// shows.
    fn text_of(&self, handle: &str) -> Option<String> {
        let index = self.host.live.state().index();
        let entry = index.entries.iter().find(|entry| entry.handle.to_string() == handle)?;
        let file = match &entry.subject {
            Subject::Toolcall { shows: Some(Shows::File { object, .. }), .. } => {
                index.get(object)?
            }
            _ => entry,
        };
        let Subject::File { path, .. } = &file.subject else { return None };
        std::fs::read_to_string(path).ok()
    }

    fn check_pools(&self) {
        let (sent, host) = (&self.host.sent, &self.host.messages);
        let pool = usize::from(
            sent[0]["role"] != host[0]["role"] || sent[0]["content"] != host[0]["content"],
        );
        let chat = &sent[pool..pool + host.len()];
        for (sent, host) in chat.iter().zip(host) {
            assert!(!check_message(sent, host, None, false), "no notes in `pools`");
        }
        for active in &sent[pool + host.len()..] {
            assert_eq!(active["role"], "user");
            assert!(text_of(active).starts_with("ACTIVE_CONTENT id="));
        }
    }

    /// Handle and ID of all objects.
    pub(crate) fn objects(&self) -> Vec<(String, String)> {
        let entries = self.host.live.state().index().entries.iter();
        entries.map(|entry| (entry.handle.to_string(), entry.id.to_string())).collect()
    }

    /// Handle and path of all files.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let entries = self.host.live.state().index().entries.iter();
        let files = entries.filter(|entry| matches!(entry.subject, Subject::File { .. }));
        let place = |entry: &IndexEntry| entry.subject.agent_path().to_owned();
        files.map(|entry| (entry.handle.to_string(), place(entry))).collect()
    }

    /// The request without what differs between runs: IDs of toolcalls, which may be random, and
    /// their tokens.
    fn comparable(&self) -> Vec<Value> {
        let index = self.host.live.state().index();
        let handle = |id: &regex::Captures<'_>| {
            let entry = index.get(&ObjectId::new(&id[1]));
            entry.map_or_else(|| id[0].to_owned(), |entry| format!("id=<{}>", entry.handle))
        };
        let text = Value::from(self.host.sent.clone()).to_string();
        let text = ID.replace_all(&text, handle);
        // A restart writes transactions of its own.
        let text = FULLER.replace_all(&text, "@# is fuller");
        if self.host.settings.layout == Layout::Log {
            return serde_json::from_str(&text).unwrap();
        }
        serde_json::from_str(&TOKENS.replace_all(&text, "# tokens")).unwrap()
    }
}

/// Reads calls in passes that keep few of them in memory.
pub(crate) fn for_each_call(
    store: &Store,
    session: &ObjectId,
    numbers: Range<u64>,
    mut with: impl FnMut(u64, &Inspected),
) {
    for first in numbers.clone().step_by(64) {
        let read = inspect_calls(store, session, first..numbers.end.min(first + 64)).unwrap();
        for (number, read) in (first..).zip(read) {
            with(number, &read.unwrap().call);
        }
    }
}

/// The first and last call and the number of steps that a line for folded steps names.
fn fold_line(line: &str) -> (u32, u32, u64) {
    let found = FOLD.captures(line).unwrap_or_else(|| panic!("`{line}` is not a line for steps"));
    let first = found[1].parse().unwrap();
    let last = found.get(2).map_or(first, |last| last.as_str().parse().unwrap());
    (first, last, found[3].parse().unwrap())
}

/// Checks that a message is the host's except for the content of a tool result, notes, and the
/// lines of folded steps; returns whether it has a note.
fn check_message(sent: &Value, host: &Value, lines: Option<&str>, images_gone: bool) -> bool {
    for (key, value) in host.as_object().unwrap() {
        assert!(key == "content" || sent[key] == *value, "`{key}` of {host}");
    }
    assert_eq!(sent.as_object().unwrap().len(), host.as_object().unwrap().len());
    if host["role"] == "toolResult" {
        return check_result(sent, host, images_gone);
    }
    let (Some(shown), Some(given)) = (sent["content"].as_array(), host["content"].as_array())
    else {
        assert_eq!(sent, host);
        return false;
    };
    if host["role"] != "user" {
        assert_eq!(shown, given);
        return false;
    }
    let own = shown.len() - usize::from(lines.is_some());
    let (shown, behind) = shown.split_at(own);
    assert_eq!(behind.first().and_then(|block| block["text"].as_str()), lines);
    assert!(shown.ends_with(given), "user messages stay verbatim");
    shown.len() > given.len()
}

/// Checks that a result holds the host's blocks other than text, in their order; or, if its images
/// are gone, those that are neither. Returns whether it has a note.
fn check_result(sent: &Value, host: &Value, images_gone: bool) -> bool {
    let (shown, given) = (blocks(sent), blocks(host));
    let is_text = |block: &&Value| block["type"] == "text";
    let leaves = |block: &&Value| is_text(block) || (images_gone && block["type"] == "image");
    let kept: Vec<&Value> = given.iter().filter(|block| !leaves(block)).collect();
    let own: Vec<&Value> = shown.iter().filter(|block| !is_text(block)).collect();
    assert_eq!(own, kept);
    if shown.starts_with(&given) {
        assert!(sent["content"] == host["content"] || shown.len() > given.len());
        return shown.len() > given.len();
    }
    let has_text = given.iter().any(|block| is_text(&block));
    assert!(has_text || images_gone || shown.len() > given.len(), "an image alone stays as it is");
    shown.len() > kept.len() + 1
}

/// Checks that the heading of lines shown again names exactly the lines that follow it.
fn check_heading(text: &str, standing: &Standing) {
    let (_, of) = standing.version.as_ref().unwrap();
    let claimed = |line: &u64| standing.claims.iter().any(|(a, b, ..)| (a..=b).contains(&line));
    if standing.lines.is_empty() && !standing.claims.is_empty() {
        return;
    }
    let heading = text.lines().find(|line| line.starts_with('[') && LINES.is_match(line));
    let heading = heading.unwrap_or_else(|| panic!("no heading in {text}"));
    let mut named = HashSet::new();
    for part in LINES.captures(heading).unwrap()[1].split(", ") {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        named.extend(first.parse::<u64>().unwrap()..=last.parse().unwrap());
    }
    named.retain(|line| *line <= of.lines().count() as u64 && !claimed(line));
    assert_eq!(named, standing.lines, "{text}");
}
