//! Where cited files are: finds what citations mean on disk, and pins it. Each file is looked for
//! and read once, whoever cites it. Must not judge a pin.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::resting::Cited;
use super::{CitationPin, MAX_BYTES, ends_so, text_of};
use crate::citations::{Cite, names_file};
use crate::claim::Claim;
use crate::page::Page;
use crate::scope::{Folders, LOCAL_INDEX_FILE, Scope};
use base::path::absolute_path;
use config::Exclude;
use files::looks;
use source::{FileState, read_file};

/// Most files of a project searched for a name.
const MAX_LISTED: usize = 20_000;

/// The folders in which cited files are searched.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(super) project: Option<PathBuf>,
    folders: Folders,
    exclude: Arc<Exclude>,
    /// The files of the project, listed when a name is first searched.
    listing: Arc<OnceLock<Listing>>,
    /// The memory folders with links followed, once one is compared.
    of_memory: Arc<OnceLock<Vec<PathBuf>>>,
    /// Whether `MEMORY.local.md` is this person's, found out when it first cites something.
    has_own_local: Arc<OnceLock<bool>>,
}

/// The files of a project.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Their paths with `/`, relative to the project.
    pub(crate) files: Vec<String>,
    /// Where in `files` those of a name are.
    by_name: HashMap<String, Vec<usize>>,
}

/// Citations of a page that are to be pinned.
#[derive(Debug)]
pub(crate) struct Citing<'p> {
    /// The page.
    pub(crate) page: &'p Page,
    /// Those of its citations.
    pub(crate) cites: Vec<&'p Cite>,
    /// Whether the page is new or edited; if so, a file is also found by its name or the end of its
    /// path, if that is unique in the project.
    pub(crate) is_new: bool,
}

/// What a citation means: where it stands decides, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Meant<'c> {
    scope: Scope,
    /// The folder of the citing file, in that of its scope.
    beside: &'c Path,
    path: &'c str,
    is_link: bool,
    is_new: bool,
}

/// A path that a citation may mean, as it is on disk.
#[derive(Debug, Clone, Default)]
struct PathOnDisk {
    is_file: bool,
    /// With links followed; `None` if nothing is there.
    real: Option<PathBuf>,
}

/// A file that is to be pinned: its path, and its name in pins.
type Named = (PathBuf, String);

impl Places {
    /// The places for memory folders. `exclude`: files that others may not be told about.
    pub(crate) fn new(folders: &Folders, exclude: Exclude) -> Self {
        let project = folders.folder(Scope::Project).and_then(Path::parent).and_then(Path::parent);
        Self {
            project: project.map(Path::to_owned),
            folders: folders.clone(),
            exclude: Arc::new(exclude),
            listing: Arc::default(),
            of_memory: Arc::default(),
            has_own_local: Arc::default(),
        }
    }

    /// The same places, without what was found out about them.
    pub(crate) fn anew(&self) -> Self {
        Self {
            listing: Arc::default(),
            of_memory: Arc::default(),
            has_own_local: Arc::default(),
            ..self.clone()
        }
    }

    /// Pins what entries rest on in the files that they cite, as these are now: the cited lines,
    /// the definitions of the cited name, or what holds the names of the entry; else the whole file.
    /// None of a file that does not exist or is no evidence: another memory file, a folder, a file
    /// that may not be read. In the order of `citing`.
    pub(crate) fn pin(&self, citing: &[Citing<'_>]) -> Vec<Vec<CitationPin>> {
        let claims: Vec<_> =
            citing.iter().map(|one| LazyCell::new(|| Claim::of(&one.page.text))).collect();
        let mut pins = vec![Vec::new(); citing.len()];
        for ((path, name), asked) in self.meant_by(citing) {
            let state = read_file(&path, MAX_BYTES).state;
            let (FileState::Text { source_hash, .. } | FileState::Binary { source_hash, .. }) =
                &state
            else {
                continue;
            };
            let source_hash = source_hash.clone();
            let mut found: Vec<(usize, Vec<CitationPin>)> = if let Some(text) =
                text_of(&path, state)
            {
                let cited = Cited::of(&text, name);
                asked.into_iter().map(|(at, cite)| (at, cited.pins(cite, &claims[at]))).collect()
            } else {
                let whole = CitationPin::whole(name, source_hash);
                asked.into_iter().map(|(at, _)| (at, vec![whole.clone()])).collect()
            };
            let is_private = self.is_private(&path);
            for (at, found) in &mut found {
                for pin in found.iter_mut() {
                    pin.is_private = is_private;
                }
                pins[*at].append(found);
            }
        }
        for pins in &mut pins {
            pins.sort();
            pins.dedup();
        }
        pins
    }

    /// The pins of all citations of pages, as if these were new.
    pub(crate) fn pin_pages(&self, pages: &[&Page]) -> Vec<Vec<CitationPin>> {
        let citing = pages.iter().map(|page| {
            let cites = page.cites.iter().collect();
            Citing { page, cites, is_new: true }
        });
        self.pin(&citing.collect::<Vec<_>>())
    }

    /// The folder of the project.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// Whether others may not be told about a file.
    pub(crate) fn is_excluded(&self, path: &Path) -> bool {
        source::excludes(&self.exclude, path)
    }

    fn is_private(&self, path: &Path) -> bool {
        let is_left_out = |root: &Path| source::is_ignored(root, path);
        self.is_excluded(path) || self.project.as_deref().is_some_and(is_left_out)
    }

    /// The path of a pinned file, from its name alone. `None` if a page of the scope may not name
    /// it: pins come with a clone, too.
    pub(crate) fn open(&self, scope: Scope, pin: &CitationPin) -> Option<PathBuf> {
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

    /// The files that are cited, with the citations that mean them, each by the place of its page.
    fn meant_by<'c>(&self, citing: &'c [Citing<'_>]) -> BTreeMap<Named, Vec<(usize, &'c Cite)>> {
        let cites = citing.iter().enumerate().flat_map(|(at, one)| {
            one.cites.iter().map(move |cite| (at, *cite, Meant::of(one, cite)))
        });
        let cites: Vec<(usize, &Cite, Meant<'_>)> = cites.collect();
        let mut open: HashMap<Meant<'_>, Vec<PathBuf>> = HashMap::new();
        for (_, _, meant) in &cites {
            open.entry(*meant).or_insert_with(|| self.candidates(meant));
        }
        let found = looked_at(open.values().flatten());
        let means = |(meant, candidates): (&Meant<'c>, &Vec<PathBuf>)| {
            Some((*meant, self.chosen(meant, candidates, &found)?))
        };
        let named: HashMap<Meant<'_>, Named> = open.iter().filter_map(means).collect();
        let mut by_file: BTreeMap<Named, Vec<(usize, &Cite)>> = BTreeMap::new();
        for (at, cite, meant) in cites {
            if let Some(file) = named.get(&meant) {
                by_file.entry(file.clone()).or_default().push((at, cite));
            }
        }
        by_file
    }

    /// The file that a citation means, if it may be read and is evidence.
    fn chosen(
        &self,
        meant: &Meant<'_>,
        candidates: &[PathBuf],
        found: &HashMap<PathBuf, PathOnDisk>,
    ) -> Option<Named> {
        let there = candidates.iter().find_map(|path| {
            let PathOnDisk { is_file, real } = found.get(path)?;
            let is_open = *is_file && self.is_allowed_at(meant.scope, path, real.as_deref());
            is_open.then(|| (path.clone(), real.clone()))
        });
        let by_name = || Some((self.by_name(meant).filter(|_| meant.is_new)?, None));
        let (path, real) = there.or_else(by_name)?;
        let real = real.unwrap_or_else(|| source::canonical_path(&path));
        let name = (!self.is_memory(&real)).then(|| self.name_of(meant.scope, &path))??;
        Some((path, name))
    }

    /// Paths that a citation may mean, the likeliest first.
    fn candidates(&self, meant: &Meant<'_>) -> Vec<PathBuf> {
        let Meant { scope, path, is_link, .. } = *meant;
        let Some(folder) = self.folders.folder(scope) else { return Vec::new() };
        let beside = folder.join(meant.beside);
        let mut found = Vec::new();
        if path.starts_with('~') {
            found.push(absolute_path(path, &beside));
        } else {
            if is_link {
                // As Markdown and wikilinks mean it; most of these are other memory files, which
                // are no evidence.
                found.extend([absolute_path(path, &beside), absolute_path(path, folder)]);
                found.push(absolute_path(&format!("{path}.md"), folder));
            }
            if scope == Scope::Global {
                found.push(PathBuf::from(path));
            }
            if let Some(project) = self.project.as_deref().filter(|_| scope != Scope::Global) {
                found.push(absolute_path(path, project));
                // `/src/a.rs` may be relative to the project's folder, and `@src/a.rs` as hosts spell it.
                found.push(absolute_path(path.trim_start_matches(['/', '@']), project));
                if is_link {
                    found.push(absolute_path(&format!("{path}.md"), project));
                }
            }
            if path.starts_with('.') {
                found.push(absolute_path(path, &beside));
            }
        }
        found.retain(|path| path.is_absolute());
        found
    }

    /// The only project file whose path ends like the citation, or that a wikilink without an
    /// extension means.
    fn by_name(&self, meant: &Meant<'_>) -> Option<PathBuf> {
        let Meant { scope, path, is_link, .. } = *meant;
        let project = self.project.as_deref().filter(|_| scope != Scope::Global)?;
        let is_name = is_link || names_file(path);
        if !is_name || path.starts_with(['/', '.', '~']) {
            return None;
        }
        let files = self.listed(project);
        let with_end = is_link.then(|| format!("{path}.md"));
        let ends = std::iter::once(path).chain(with_end.as_deref());
        let found: BTreeSet<&str> =
            ends.flat_map(|end| files.named(end).filter(move |file| ends_so(file, end))).collect();
        let only = found.first().filter(|_| found.len() == 1)?;
        Some(project.join(only))
    }

    pub(super) fn listed(&self, project: &Path) -> &Listing {
        self.listing.get_or_init(|| Listing::under(project))
    }

    /// Whether a scope's pages may see only the project, because they may have come with a clone.
    pub(crate) fn is_bound(&self, scope: Scope) -> bool {
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
    pub(crate) fn is_allowed(&self, scope: Scope, path: &Path) -> bool {
        !self.is_bound(scope) || {
            let real = looks::canonicalize(path).ok();
            self.is_allowed_at(scope, path, real.as_deref())
        }
    }

    /// As [`Self::is_allowed`]. `real`: the path with links followed; `None` if nothing is there.
    fn is_allowed_at(&self, scope: Scope, path: &Path, real: Option<&Path>) -> bool {
        if !self.is_bound(scope) {
            return true;
        }
        let project = self.project.as_deref().filter(|_| scope != Scope::Conversation);
        let Some(project) = project else { return false };
        match (self.folders.real_project(), real) {
            (Some(project), Some(real)) => real.starts_with(project),
            // The file does not exist, so its name must be inside the project.
            (_, None) => path.starts_with(project) && !path.components().any(is_parent),
            _ => false,
        }
    }

    /// `real`: the path with links followed.
    fn is_memory(&self, real: &Path) -> bool {
        let folders = self.of_memory.get_or_init(|| {
            let folders = Scope::ALL.into_iter().filter_map(|scope| self.folders.folder(scope));
            folders.map(source::canonical_path).collect()
        });
        folders.iter().any(|folder| real.starts_with(folder))
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

impl<'c> Meant<'c> {
    fn of(citing: &Citing<'c>, cite: &'c Cite) -> Self {
        let place = &citing.page.place;
        let beside = Path::new(&place.file).parent().unwrap_or(Path::new(""));
        let Cite { path, is_link, .. } = cite;
        Self { scope: place.scope, beside, path, is_link: *is_link, is_new: citing.is_new }
    }
}

impl Listing {
    /// The files of a project; none if these are too many.
    pub(crate) fn under(project: &Path) -> Self {
        let listed = source::files_under(&source::canonical_path(project), MAX_LISTED);
        let files = listed.unwrap_or_default();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            by_name.entry(name_in(file).to_owned()).or_default().push(at);
        }
        Self { files, by_name }
    }

    /// The files with the name at the end of a path.
    pub(crate) fn named(&self, path: &str) -> impl Iterator<Item = &str> {
        let places = self.by_name.get(name_in(path)).into_iter().flatten();
        places.map(|at| self.files[*at].as_str())
    }
}

fn name_in(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What is at some paths. All in one look, since each look has a cost.
fn looked_at<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> HashMap<PathBuf, PathOnDisk> {
    let paths: BTreeSet<&PathBuf> = paths.collect();
    let paths: Vec<PathBuf> = paths.into_iter().cloned().collect();
    let found = looks::each(paths.clone(), &|_| (), |path| {
        let is_file = looks::is_file(path);
        PathOnDisk { is_file, real: is_file.then(|| looks::canonicalize(path).ok()).flatten() }
    });
    paths.into_iter().zip(found).map(|(path, found)| (path, found.unwrap_or_default())).collect()
}

fn is_parent(part: Component<'_>) -> bool {
    part == Component::ParentDir
}
