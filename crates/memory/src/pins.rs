//! Pins: a cited file found on disk, with the SHA-256 of its text when the entry was written, and
//! later whether the file still says the same. Line endings are ignored because a checkout may
//! change them. Must not know pages, or keep a file's text.

use files::looks;
use source::ExcludedFiles;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::citations::{Cite, names_file};
use super::scope::{Folders, LOCAL_INDEX_FILE, Scope};
use base::object::{FileStamp, Hash};
use base::path::absolute_path;
use config::Exclude;
use source::{FileState, read_file};

/// Largest file whose content is compared.
pub(super) const MAX_BYTES: u64 = 16 << 20;
/// Most lines that are tracked; a longer range counts as the whole file.
const MAX_LINES: usize = 500;
/// Most files of a project searched for a name.
const MAX_LISTED: usize = 20_000;
/// Digits of the hash of a first line.
const START_CHARS: usize = 8;

/// A cited file, as of when the entry was written or confirmed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CitationPin {
    /// Its path with `/`: relative to the project, absolute, or starting with `~`.
    pub path: String,
    /// SHA-256 of its bytes, with LF line endings.
    pub hash: Hash,
    /// The cited lines, if their text can be tracked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<PinnedLines>,
    /// Whether it may not be shared with others, or is meaningless to them: the file is excluded,
    /// or git ignores it and everybody has a different one.
    #[serde(default, rename = "private", skip_serializing_if = "std::ops::Not::not")]
    pub is_private: bool,
}

/// Lines of a cited file. They occurred nowhere else in it, so they are found wherever they move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PinnedLines {
    /// The first, when it was pinned.
    pub first: u32,
    /// Number of lines.
    pub count: u32,
    /// SHA-256 of the lines, with LF line endings, including the last.
    pub hash: Hash,
    /// The first digits of the same hash of the first line alone, to find it quickly.
    pub start: String,
}

/// How a pinned file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CitedChange {
    /// It says something else.
    Changed,
    /// It is gone.
    Gone,
}

impl CitedChange {
    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// The folders in which cited files are searched.
#[derive(Debug, Clone)]
pub(super) struct Places {
    project: Option<PathBuf>,
    folders: Folders,
    exclude: Arc<Exclude>,
    /// The files of the project, listed when a name is first searched.
    listing: Arc<OnceLock<Vec<String>>>,
    /// Whether `MEMORY.local.md` is this person's, found out when it first cites something.
    has_own_local: Arc<OnceLock<bool>>,
}

impl Places {
    /// The places for memory folders. `exclude`: files that others may not be told about.
    pub(super) fn new(folders: &Folders, exclude: Exclude) -> Self {
        let project = folders.folder(Scope::Project).and_then(Path::parent).and_then(Path::parent);
        Self {
            project: project.map(Path::to_owned),
            folders: folders.clone(),
            exclude: Arc::new(exclude),
            listing: Arc::default(),
            has_own_local: Arc::default(),
        }
    }

    /// The same places, without the cached list of project files.
    pub(super) fn anew(&self) -> Self {
        Self { listing: Arc::default(), has_own_local: Arc::default(), ..self.clone() }
    }

    /// Pins a cited file as it is now. `None` if it does not exist or is no evidence: another
    /// memory file, a folder, a file that may not be read.
    ///
    /// `file`: path of the citing memory file, in the folder of its scope. `is_new`: whether the
    /// entry is new or edited; if so, a file is also found by its name or the end of its path, if
    /// that is unique in the project.
    pub(super) fn pin(
        &self,
        scope: Scope,
        file: &str,
        cite: &Cite,
        is_new: bool,
    ) -> Option<CitationPin> {
        let candidates = self.candidates(scope, file, cite);
        let path = candidates.into_iter().find(|path| looks::is_file(path));
        let by_name = || self.by_name(scope, cite).filter(|_| is_new);
        let path = path.or_else(by_name)?;
        if self.is_memory(&path) {
            return None;
        }
        let name = self.name_of(scope, &path)?;
        let digest = match read_file(&path, MAX_BYTES).state {
            FileState::Text { text, .. } => {
                let text = with_lf(&text);
                let lines = cite.lines.and_then(|lines| PinnedLines::of(&text, lines));
                CitationPin {
                    path: name,
                    hash: Hash::of(text.as_bytes()),
                    lines,
                    is_private: false,
                }
            }
            FileState::Binary { source_hash, .. } => {
                CitationPin { path: name, hash: source_hash, lines: None, is_private: false }
            }
            _ => return None,
        };
        let is_left_out =
            || self.project.as_deref().is_some_and(|root| source::is_ignored(root, &path));
        Some(CitationPin { is_private: self.is_excluded(&path) || is_left_out(), ..digest })
    }

    /// Whether others may not be told about a file.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        self.exclude.excludes(path)
    }

    /// The path of a pinned file, from its name alone. `None` if a page of the scope may not name
    /// it: pins come with a clone, too.
    pub(super) fn open(&self, scope: Scope, pin: &CitationPin) -> Option<PathBuf> {
        let named = Path::new(&pin.path);
        let is_own = pin.path.starts_with('~') || named.is_absolute();
        match (&self.project, is_own, scope) {
            // Text by others in a conversation's memory must not cause a file to be read.
            (_, _, Scope::Conversation) | (_, false, Scope::Global) | (None, false, _) => None,
            (_, true, _) if self.is_bound(scope) => None,
            (_, true, _) => Some(absolute_path(&pin.path, Path::new("/"))),
            (Some(project), false, _) => {
                (!named.components().any(is_parent)).then(|| project.join(named))
            }
        }
    }

    /// Paths that a citation may mean, the likeliest first.
    fn candidates(&self, scope: Scope, file: &str, cite: &Cite) -> Vec<PathBuf> {
        let Some(folder) = self.folders.folder(scope) else { return Vec::new() };
        let beside = folder.join(file).parent().map(Path::to_owned).unwrap_or_default();
        let mut found = Vec::new();
        if cite.path.starts_with('~') {
            found.push(absolute_path(&cite.path, &beside));
        } else {
            if cite.is_link {
                // As Markdown and wikilinks mean it; most of these are other memory files, which
                // are no evidence.
                found.extend([
                    absolute_path(&cite.path, &beside),
                    absolute_path(&cite.path, folder),
                ]);
                found.push(absolute_path(&format!("{}.md", cite.path), folder));
            }
            if scope == Scope::Global {
                found.push(PathBuf::from(&cite.path));
            }
            if let Some(project) = self.project.as_deref().filter(|_| scope != Scope::Global) {
                found.push(absolute_path(&cite.path, project));
                // `/src/a.rs` may be relative to the project's folder.
                found.push(absolute_path(cite.path.trim_start_matches('/'), project));
                if cite.is_link {
                    found.push(absolute_path(&format!("{}.md", cite.path), project));
                }
            }
            if cite.path.starts_with('.') {
                found.push(absolute_path(&cite.path, &beside));
            }
        }
        found.retain(|path| path.is_absolute() && self.is_allowed(scope, path));
        found
    }

    /// The only project file whose path ends like the citation, or that a wikilink without an
    /// extension means.
    fn by_name(&self, scope: Scope, cite: &Cite) -> Option<PathBuf> {
        let project = self.project.as_deref().filter(|_| scope != Scope::Global)?;
        let is_name = cite.is_link || names_file(&cite.path);
        if !is_name || cite.path.starts_with(['/', '.', '~']) {
            return None;
        }
        let listed = || source::files_under(&source::canonical_path(project), MAX_LISTED);
        let files = self.listing.get_or_init(|| listed().unwrap_or_default());
        let is_meant = |file: &&String| {
            let is_end = |end: &str| {
                let before = file.strip_suffix(end);
                before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            is_end(&cite.path) || (cite.is_link && is_end(&format!("{}.md", cite.path)))
        };
        let mut found = files.iter().filter(is_meant);
        let only = found.next()?;
        found.next().is_none().then(|| project.join(only))
    }

    /// Whether a scope's pages may see only the project, because they may have come with a clone.
    pub(super) fn is_bound(&self, scope: Scope) -> bool {
        match scope {
            Scope::Global => false,
            Scope::Project | Scope::Conversation => true,
            Scope::Local => !*self.has_own_local.get_or_init(|| self.is_own_local()),
        }
    }

    fn is_own_local(&self) -> bool {
        let Some(folder) = self.folders.folder(Scope::Local) else { return false };
        match read_file(&folder.join(LOCAL_INDEX_FILE), MAX_BYTES).state {
            FileState::Text { source_hash, .. } => self.folders.is_own_local(&source_hash),
            _ => false,
        }
    }

    /// Whether a scope's page may cause a file to be read. Pages that come with a clone see only
    /// the clone.
    pub(super) fn is_allowed(&self, scope: Scope, path: &Path) -> bool {
        if !self.is_bound(scope) {
            return true;
        }
        let project = self.project.as_deref().filter(|_| scope != Scope::Conversation);
        let Some(project) = project else { return false };
        match (looks::canonicalize(project), looks::canonicalize(path)) {
            (Ok(project), Ok(path)) => path.starts_with(project),
            // The file does not exist, so its name must be inside the project.
            (_, Err(_)) => path.starts_with(project) && !path.components().any(is_parent),
            _ => false,
        }
    }

    fn is_memory(&self, path: &Path) -> bool {
        let path = source::canonical_path(path);
        let folders = Scope::ALL.into_iter().filter_map(|scope| self.folders.folder(scope));
        folders.into_iter().any(|folder| path.starts_with(source::canonical_path(folder)))
    }

    /// The name under which a file is pinned.
    fn name_of(&self, scope: Scope, path: &Path) -> Option<String> {
        let within = self.project.as_deref().filter(|_| scope != Scope::Global);
        let within = within.and_then(|project| path.strip_prefix(project).ok());
        if let Some(within) = within {
            let names: Option<Vec<&str>> =
                within.components().map(|part| part.as_os_str().to_str()).collect();
            return Some(names?.join("/"));
        }
        let home = std::env::home_dir();
        match home.and_then(|home| Some(path.strip_prefix(home).ok()?.to_str()?.to_owned())) {
            Some(within) => Some(format!("~/{}", within.replace('\\', "/"))),
            None => path.to_str().map(str::to_owned),
        }
    }
}

impl PinnedLines {
    /// The pins for lines of a text, if they have content and occur nowhere else in it.
    fn of(text: &str, (first, last): (u32, u32)) -> Option<Self> {
        let count = last - first + 1;
        if count as usize > MAX_LINES {
            return None;
        }
        let lines: Vec<&str> = text.lines().collect();
        let from = usize::try_from(first).ok()? - 1;
        let said = lines.get(from..from.checked_add(usize::try_from(count).ok()?)?)?;
        if !said.iter().any(|line| line.chars().any(char::is_alphanumeric)) {
            return None;
        }
        let stands = lines.windows(said.len()).filter(|window| *window == said).count();
        let start = start_of(said[0]);
        (stands == 1).then(|| Self { first, count, hash: hash_of(said), start })
    }

    /// Whether a text holds the lines, wherever they are now.
    fn stand_in(&self, text: &str) -> bool {
        let lines: Vec<&str> = text.lines().collect();
        let count = usize::try_from(self.count).unwrap_or_default().clamp(1, MAX_LINES);
        let is_start = |line: &str| start_of(line) == self.start;
        lines.windows(count).any(|window| is_start(window[0]) && hash_of(window) == self.hash)
    }
}

fn start_of(line: &str) -> String {
    Hash::of(line).as_str()[..START_CHARS].to_owned()
}

fn hash_of(lines: &[&str]) -> Hash {
    Hash::of(lines.join("\n") + "\n")
}

/// A text with LF line endings.
pub(super) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn is_parent(part: std::path::Component<'_>) -> bool {
    part == std::path::Component::ParentDir
}

/// The pins of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Pinned {
    /// Pins may differ, since entries were written at different times.
    pub(super) pins: BTreeSet<CitationPin>,
    /// Whether one belongs to a page of the project, which may see only the project.
    pub(super) is_bound: bool,
}

/// Finds out which pinned files changed. Caches what it read, by stamp.
#[derive(Debug, Default)]
pub(super) struct Checker {
    known: HashMap<PathBuf, (FileStamp, Known)>,
    /// Files that are gone, or of which nothing can be known, with what there was then.
    absent: Vec<(PathBuf, Option<FileStamp>)>,
    /// Whether some file may change again without another stamp.
    is_unsure: bool,
}

/// What is known of a file.
#[derive(Debug, Clone)]
enum Known {
    /// The SHA-256 of its bytes, with LF line endings, and which pinned lines it holds.
    File {
        hash: Hash,
        lines: BTreeMap<Hash, bool>,
    },
    Gone,
    /// Unknown: the previous result stays.
    Unclear,
}

impl Checker {
    /// Whether a pinned file may say something else than at the last check: compares stamps alone.
    pub(super) fn may_differ(&self) -> bool {
        let changed = |(path, (stamp, _)): (&PathBuf, &(FileStamp, Known))| {
            source::stamp(path).as_ref() != Some(stamp)
        };
        self.is_unsure
            || self.known.iter().any(changed)
            || self.absent.iter().any(|(path, stamp)| source::stamp(path) != *stamp)
    }

    /// The changed pinned files, by path and pin. Looks at all of them at once, and reads those
    /// with a new stamp.
    pub(super) fn check(
        &mut self,
        places: &Places,
        pinned: BTreeMap<PathBuf, Pinned>,
    ) -> BTreeMap<(PathBuf, CitationPin), CitedChange> {
        let paths: Vec<PathBuf> = pinned.keys().cloned().collect();
        let stamps = looks::each(paths, &|_| (), |path| source::stamp(path));
        let mut known = HashMap::new();
        let (mut unknown, mut asked) = (Vec::new(), Vec::new());
        for ((path, pinned), stamp) in pinned.iter().zip(stamps.into_iter().map(Option::flatten)) {
            match self.known.remove(path) {
                Some((before, now)) if Some(before) == stamp && now.tells(pinned) => {
                    known.insert(path.clone(), (before, now));
                }
                _ => {
                    unknown.push((path.clone(), pinned.clone(), places.clone()));
                    asked.push((path.clone(), stamp));
                }
            }
        }
        let read =
            looks::each(unknown, &|_| (), |(path, pinned, places)| read(path, pinned, places));
        let mut unstamped = HashMap::new();
        (self.is_unsure, self.absent) = (false, Vec::new());
        for ((path, before), read) in asked.into_iter().zip(read) {
            let (stamp, now) = read.unwrap_or((None, Known::Unclear));
            match (stamp, &now) {
                (Some(stamp), _) => {
                    known.insert(path, (stamp, now));
                    continue;
                }
                (None, Known::File { .. }) => self.is_unsure = true,
                (None, Known::Gone | Known::Unclear) => self.absent.push((path.clone(), before)),
            }
            unstamped.insert(path, now);
        }
        self.known = known;
        let mut changes = BTreeMap::new();
        for (path, Pinned { pins, .. }) in pinned {
            let now = self.known.get(&path).map(|(_, now)| now).or_else(|| unstamped.get(&path));
            for pin in pins {
                if let Some(change) = now.and_then(|now| now.change(&pin)) {
                    changes.insert((path.clone(), pin), change);
                }
            }
        }
        changes
    }
}

impl Known {
    /// Whether this covers all pins.
    fn tells(&self, pinned: &Pinned) -> bool {
        let Self::File { hash, lines } = self else { return false };
        pinned.pins.iter().all(|pin| {
            let is_known = |wanted: &PinnedLines| lines.contains_key(&wanted.hash);
            pin.hash == *hash || pin.lines.as_ref().is_none_or(is_known)
        })
    }

    fn change(&self, pin: &CitationPin) -> Option<CitedChange> {
        match self {
            Self::Unclear => None,
            Self::Gone => Some(CitedChange::Gone),
            Self::File { hash, .. } if *hash == pin.hash => None,
            Self::File { lines, .. } => {
                let stand = pin.lines.as_ref().and_then(|wanted| lines.get(&wanted.hash));
                (stand != Some(&true)).then_some(CitedChange::Changed)
            }
        }
    }
}

fn read(path: &Path, pinned: &Pinned, places: &Places) -> (Option<FileStamp>, Known) {
    if pinned.is_bound && !places.is_allowed(Scope::Project, path) {
        return (None, Known::Unclear);
    }
    let reading = read_file(path, MAX_BYTES);
    let known = match reading.state {
        FileState::Text { text, .. } => {
            let text = with_lf(&text);
            let hash = Hash::of(text.as_bytes());
            let differing = pinned.pins.iter().filter(|pin| pin.hash != hash);
            let wanted = differing.filter_map(|pin| pin.lines.as_ref());
            let lines = wanted.map(|lines| (lines.hash.clone(), lines.stand_in(&text))).collect();
            Known::File { hash, lines }
        }
        FileState::Binary { source_hash, .. } => {
            Known::File { hash: source_hash, lines: BTreeMap::new() }
        }
        // It was not that large when pinned.
        FileState::TooLarge { size } => {
            Known::File { hash: Hash::of(size.to_string()), lines: BTreeMap::new() }
        }
        // A folder in its place means that the file is gone.
        FileState::Missing | FileState::NotAFile => Known::Gone,
        FileState::Unreadable { .. } | FileState::Excluded { .. } | FileState::NotRead => {
            Known::Unclear
        }
    };
    (reading.stamp, known)
}

#[cfg(test)]
mod tests;
