//! Pins: a cited file found on disk, with what the entry rests on in it and the SHA-256 of that when
//! the entry was written. `check` says later whether the file still says the same. Must not know
//! pages, or keep a file's text.

mod blocks;
mod check;
mod lines;
mod moved;

use files::looks;
use source::ExcludedFiles;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use self::blocks::Definitions;
pub(super) use self::check::{Checker, Pinned};
pub use self::lines::PinnedLines;
use self::lines::{Lines, numbered};
use super::citations::{Cite, names_file};
use super::claim::{Claim, Said, sets};
use super::scope::{Folders, LOCAL_INDEX_FILE, Scope};
use base::object::Hash;
use base::path::absolute_path;
use config::Exclude;
use source::{FileState, read_file};

/// Largest file whose content is compared.
pub(super) const MAX_BYTES: u64 = 16 << 20;
/// Most files of a project searched for a name.
pub(super) const MAX_LISTED: usize = 20_000;
/// Most places of one file that an entry rests on.
const MAX_PLACES: usize = 8;
/// A name that stands on more lines tells no place.
const MAX_HOLDING: usize = 3;
/// Most names that are kept of one place.
const MAX_NAMES: usize = 12;

/// A cited file, as of when the entry was written or confirmed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CitationPin {
    /// Its path with `/`: relative to the project, absolute, or starting with `~`.
    pub path: String,
    /// SHA-256 of its bytes, with LF line endings.
    pub hash: Hash,
    /// SHA-256 of its text without blanks; none in pins that earlier releases wrote, and of files
    /// that are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Hash>,
    /// The lines that the entry rests on; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<PinnedLines>,
    /// What the entry names that stood there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Four digits for some of the lines of a whole file, by which it is told how much of it still
    /// stands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub marks: String,
    /// Whether only that it is there counts: the entry runs it.
    #[serde(default, rename = "run", skip_serializing_if = "std::ops::Not::not")]
    pub is_run: bool,
    /// Whether it may not be shared with others, or is meaningless to them: the file is excluded,
    /// or git ignores it and everybody has a different one.
    #[serde(default, rename = "private", skip_serializing_if = "std::ops::Not::not")]
    pub is_private: bool,
}

impl CitationPin {
    /// The pin of a whole file.
    fn whole(path: String, hash: Hash) -> Self {
        let (names, marks) = (Vec::new(), String::new());
        Self { path, hash, said: None, lines: None, names, marks, is_run: false, is_private: false }
    }

    /// The place that it covers, as people write it: `src/a.rs`, `src/a.rs:3`, `src/a.rs:3-9`.
    pub fn place(&self) -> String {
        match &self.lines {
            None => self.path.clone(),
            Some(lines) if lines.count <= 1 => format!("{}:{}", self.path, lines.first),
            Some(lines) => format!("{}:{}-{}", self.path, lines.first, lines.last()),
        }
    }
}

/// What became of a cited place. In the order in which a person looks at them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CitedChange {
    /// It changed, and something that the entry names stands there no more; or it is not there.
    Contradicted,
    /// The file is gone.
    Gone,
    /// It stands in another file of the project.
    Moved {
        /// Its path with `/`, relative to the project.
        to: String,
    },
    /// It changed, and what the entry names still stands there.
    Touched,
}

impl CitedChange {
    /// The name in documents.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }

    /// Whether the entry probably is wrong.
    pub fn is_strong(&self) -> bool {
        matches!(self, Self::Contradicted | Self::Gone)
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

    /// Pins what an entry rests on in a cited file as it is now: the cited lines, the definitions
    /// of the cited name, or what holds the names of the entry; else the whole file. Empty if the
    /// file does not exist or is no evidence: another memory file, a folder, a file that may not be
    /// read.
    ///
    /// `file`: path of the citing memory file, in the folder of its scope. `claim`: what the entry
    /// names. `is_new`: whether the entry is new or edited; if so, a file is also found by its name
    /// or the end of its path, if that is unique in the project.
    pub(super) fn pin(
        &self,
        scope: Scope,
        file: &str,
        (cite, claim): (&Cite, &Claim),
        is_new: bool,
    ) -> Vec<CitationPin> {
        let candidates = self.candidates(scope, file, cite);
        let path = candidates.into_iter().find(|path| looks::is_file(path));
        let by_name = || self.by_name(scope, cite).filter(|_| is_new);
        let Some(path) = path.or_else(by_name).filter(|path| !self.is_memory(path)) else {
            return Vec::new();
        };
        let Some(name) = self.name_of(scope, &path) else { return Vec::new() };
        let mut pins = match read_file(&path, MAX_BYTES).state {
            FileState::Text { text, .. } => pins_in(&with_lf(&text), name, cite, claim),
            FileState::Binary { source_hash, .. } => vec![CitationPin::whole(name, source_hash)],
            _ => return Vec::new(),
        };
        let is_left_out =
            || self.project.as_deref().is_some_and(|root| source::is_ignored(root, &path));
        let is_private = self.is_excluded(&path) || is_left_out();
        for pin in &mut pins {
            pin.is_private = is_private;
        }
        pins
    }

    /// The folder of the project.
    pub(super) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
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
        let files = self.listed(project);
        let is_meant = |file: &&String| {
            ends_so(file, &cite.path)
                || (cite.is_link && ends_so(file, &format!("{}.md", cite.path)))
        };
        let mut found = files.iter().filter(is_meant);
        let only = found.next()?;
        found.next().is_none().then(|| project.join(only))
    }

    fn listed(&self, project: &Path) -> &[String] {
        let listed = || source::files_under(&source::canonical_path(project), MAX_LISTED);
        self.listing.get_or_init(|| listed().unwrap_or_default())
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

/// The pins of a file with a text.
fn pins_in(text: &str, path: String, cite: &Cite, claim: &Claim) -> Vec<CitationPin> {
    let lines = Lines::of(text, is_markdown(&path));
    let whole =
        CitationPin { said: Some(lines.hash()), ..CitationPin::whole(path, Hash::of(text)) };
    let names = |said: &Said<'_>| {
        let mut names = claim.standing_in(said);
        names.truncate(MAX_NAMES);
        names
    };
    if cite.is_run {
        return vec![CitationPin { is_run: true, ..whole }];
    }
    let said = Said::of(text);
    let places = places_of((&lines, &said), cite, claim);
    if places.is_empty() {
        return vec![CitationPin { names: names(&said), marks: lines.marks(), ..whole }];
    }
    let pinned = places.into_iter().map(|place| {
        let names = names(&Said::of(&lines.text((place.first, place.last()))));
        CitationPin { lines: Some(place), names, ..whole.clone() }
    });
    pinned.collect()
}

/// The places that an entry rests on; none if that is the whole file.
fn places_of(
    (text, said): (&Lines<'_>, &Said<'_>),
    cite: &Cite,
    claim: &Claim,
) -> Vec<PinnedLines> {
    if let Some(lines) = cite.lines {
        return PinnedLines::of(text, lines, None).into_iter().collect();
    }
    let mut resting = Resting { text, places: Vec::new(), extending: Vec::new() };
    if let Some(symbol) = &cite.symbol {
        resting.add_defined(symbol, text.definitions(symbol));
    }
    if !resting.places.is_empty() {
        resting.add_extending(claim);
        return resting.widest();
    }
    let stem = Path::new(&cite.path).file_stem().unwrap_or_default();
    let is_meant = |name: &&str| stem != *name && said.says(name);
    let meant = claim.telling().filter(is_meant).map(|name| (name, text.definitions(name)));
    let (used, own): (Vec<_>, Vec<_>) =
        meant.partition(|(_, found)| found.is_value || found.places.is_empty());
    for (name, found) in own {
        resting.add_defined(name, found);
    }
    for (name, found) in used {
        resting.add_used(name, found);
    }
    resting.add_extending(claim);
    resting.add_numbers(claim);
    resting.widest()
}

/// The places of a text that an entry rests on, as they are found.
struct Resting<'t> {
    text: &'t Lines<'t>,
    places: Vec<PinnedLines>,
    /// What belongs to a type that is among the places, with its name.
    extending: Vec<PinnedLines>,
}

impl Resting<'_> {
    fn pinned(&self, places: Vec<(usize, usize)>, name: &str) -> Vec<PinnedLines> {
        let places = places.into_iter().map(numbered);
        places.filter_map(|place| PinnedLines::of(self.text, place, Some(name))).collect()
    }

    /// Adds the definitions of a name.
    fn add_defined(&mut self, name: &str, found: Definitions) {
        let (places, extending) =
            (self.pinned(found.places, name), self.pinned(found.extending, name));
        self.places.extend(places);
        self.extending.extend(extending);
    }

    /// Adds where a value is defined, or where any other words stand, if these are few places; not if
    /// one is within a place that is there already.
    fn add_used(&mut self, name: &str, found: Definitions) {
        let mut found = self.pinned(found.places, name);
        if found.is_empty() {
            let holding = self.text.holding(|line| Said::of(line).says(name));
            let few = Some(holding).filter(|lines| lines.len() <= MAX_HOLDING);
            let pin = |at| PinnedLines::of(self.text, at, None);
            found = few.into_iter().flatten().filter_map(pin).collect();
        }
        if !found.iter().any(|place| self.has((place.first, place.last()))) {
            self.places.extend(found);
        }
    }

    /// Adds what belongs to a type where the entry names what stands there and not in its definition.
    fn add_extending(&mut self, claim: &Claim) {
        for place in std::mem::take(&mut self.extending) {
            let named = claim.standing_in(&Said::of(&self.text.text((place.first, place.last()))));
            if named.iter().any(|name| !self.say(name)) {
                self.places.push(place);
            }
        }
    }

    /// Adds the only lines that set something to a number which the entry names and no place has.
    fn add_numbers(&mut self, claim: &Claim) {
        if self.places.is_empty() {
            return;
        }
        for number in claim.numbers() {
            let setting = self.text.holding(|line| sets(line, number));
            if let ([only], false) = (&*setting, self.say(number)) {
                self.places.extend(PinnedLines::of(self.text, *only, None));
            }
        }
    }

    fn has(&self, (first, last): (u32, u32)) -> bool {
        self.places.iter().any(|place| place.first <= first && last <= place.last())
    }

    fn say(&self, name: &str) -> bool {
        let text = |place: &PinnedLines| self.text.text((place.first, place.last()));
        self.places.iter().any(|place| Said::of(&text(place)).says(name))
    }

    /// The places without those within others, the widest first.
    fn widest(mut self) -> Vec<PinnedLines> {
        self.places.sort_by_key(|place| (std::cmp::Reverse(place.count), place.first));
        let mut kept: Vec<PinnedLines> = Vec::new();
        for place in self.places {
            let is_within =
                |other: &PinnedLines| other.first <= place.first && place.last() <= other.last();
            if kept.len() < MAX_PLACES && !kept.iter().any(is_within) {
                kept.push(place);
            }
        }
        kept
    }
}

/// Whether a file's path ends with a cited one.
pub(super) fn ends_so(file: &str, cited: &str) -> bool {
    let before = file.strip_suffix(cited);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn is_markdown(path: &str) -> bool {
    let end = Path::new(path).extension().and_then(|end| end.to_str());
    end.is_some_and(|end| ["md", "mdx", "markdown"].iter().any(|it| end.eq_ignore_ascii_case(it)))
}

/// A text with LF line endings.
pub(super) fn with_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn is_parent(part: std::path::Component<'_>) -> bool {
    part == std::path::Component::ParentDir
}
