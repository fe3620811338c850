//! State that outlives a look at memory: stable IDs, facts, pins and, with a store, the versions of
//! memory files and of the files they cite. Must not parse Markdown or decide what a model sees.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::compared::{CitedReport, Compared};
use super::facts::{Book, Fact, Met, text_hash};
use super::identity;
use super::journal::Draft;
use super::page::{Page, PageId, PagePlace};
use super::pins::{Checker, CitedChange, Places};
use super::stale::{self, CitedFile, Doubt, Staleness};
use super::warning::Warning;
use super::{Folders, Look, Memory, MemoryFile, Scope};
use base::error::{Error, Result};
use base::object::{Hash, Timestamp};
use config::Settings;
use source::IndexOptions;
use store::{IndexedFolder, Store, slashed};

/// Warning about a file that holds merge markers.
const TORN: &str = "CONFLICT_MARKERS";
/// Warnings about a file or folder that may have more pages.
const UNSURE: [&str; 8] = [
    "NOT_PRIVATE",
    "UNREADABLE",
    "NOT_TEXT",
    "CONFLICT_MARKERS",
    "TOO_LARGE",
    "LEADS_OUT",
    "MANY_FILES",
    "MANY_ENTRIES",
];

/// How to put files into a store, worked out on first use because that may access the disk.
type Options = LazyLock<Result<IndexOptions>, Box<dyn FnOnce() -> Result<IndexOptions> + Send>>;

/// A store, and the options for putting files into it.
#[derive(Debug, Clone)]
pub struct StoreAccess {
    store: Store,
    options: Arc<Options>,
}

impl StoreAccess {
    /// The store.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Access to a store. `options`: how to store files.
    pub fn new(
        store: Store,
        options: impl FnOnce() -> Result<IndexOptions> + Send + 'static,
    ) -> Self {
        Self { store, options: Arc::new(LazyLock::new(Box::new(options))) }
    }

    pub(super) fn options(&self) -> Option<&IndexOptions> {
        self.options.as_ref().as_ref().ok()
    }
}

/// State that outlives a look.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    pub(super) access: Option<StoreAccess>,
    book: Book,
    checker: Checker,
    /// The files of the last look with the IDs of their pages, in order.
    met: Option<Vec<(Scope, PathBuf, Hash)>>,
    ids: Vec<PageId>,
    places: Option<Places>,
    /// Whether memory was written here since its facts were last written: then the facts in git may
    /// change, too.
    is_shared: bool,
}

/// A page that a person may want to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct StalePage {
    /// The page.
    pub page: Page,
    /// Its facts.
    pub fact: Fact,
    /// The reasons; at least one.
    pub doubts: Vec<Doubt>,
    /// The cited files that changed.
    pub cited: Vec<CitedReport>,
}

/// A page whose cited files changed, with what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleReport {
    /// The page.
    pub page: Page,
    /// The cited files that changed.
    pub cited: Vec<CitedReport>,
}

impl Keeper {
    /// A keeper without any state, with the same store.
    pub(super) fn anew(self) -> Self {
        Self { access: self.access, ..Self::default() }
    }

    /// Gives pages their stable IDs, keeps their facts, and reports which are stale. Cheap if
    /// nothing changed.
    pub(super) fn keep(
        &mut self,
        folders: &Folders,
        files: &mut [MemoryFile],
        warnings: &mut Vec<Warning>,
        now: Timestamp,
    ) -> BTreeMap<PageId, Staleness> {
        let places = self.places(folders);
        let is_read = self.book.read(folders, now);
        let met = files.iter().map(|file| (file.scope, file.path.clone(), file.hash.clone()));
        let met: Vec<_> = met.collect();
        let is_changed = self.met.as_ref() != Some(&met);
        if is_changed || is_read {
            let mut pages: Vec<&mut Page> =
                files.iter_mut().flat_map(|file| &mut file.pages).collect();
            let checked_out = folders.checked_out();
            identity::carry_over(&mut pages, &self.book.known(&checked_out));
            self.ids = pages.iter().map(|page| page.id.clone()).collect();
            let seen_with = (warnings.as_slice(), checked_out.as_str());
            self.update(folders, files, seen_with, &places, now);
            let before = self.met.replace(met).unwrap_or_default();
            if let Err(error) = self.index(folders, files, &before, &places) {
                let folder =
                    folders.folder(Scope::Project).or_else(|| folders.folder(Scope::Global));
                let problem = format!("is not in the store: {error}");
                warnings.push(Warning::new("NOT_STORED", folder.unwrap_or(Path::new("")), problem));
            }
        } else {
            let pages = files.iter_mut().flat_map(|file| &mut file.pages);
            pages.zip(&self.ids).for_each(|(page, id)| page.id = id.clone());
        }
        warnings.extend(self.write(folders, now));
        let pages: Vec<&Page> = files.iter().flat_map(|file| &file.pages).collect();
        stale::check(&self.book, &mut self.checker, &places, &pages)
    }

    /// Whether a cited file may say something else than at the last look.
    pub(super) fn may_differ(&self) -> bool {
        self.checker.may_differ()
    }

    /// Records that pages were read or recalled.
    pub(super) fn used(&mut self, pages: &[PageId], now: Timestamp) {
        self.book.note_use(pages, now);
    }

    /// Writes what changed since the last writing.
    pub(super) fn write(&mut self, folders: &Folders, now: Timestamp) -> Vec<Warning> {
        let (warnings, is_done) = self.book.write(folders, self.is_shared, now);
        self.is_shared &= !is_done;
        warnings
    }

    /// Memory is written here, by a model's tool, a flush or a person's command.
    pub(super) fn shares(&mut self) {
        self.is_shared = true;
    }

    /// The model checked a page: its citations are pinned as they are now.
    pub(super) fn note_check(
        &mut self,
        page: &Page,
        (places, folders): (&Places, &Folders),
        now: Timestamp,
    ) {
        self.book.note_check(page, places, now);
        self.index(folders, &[], &[], places).ok();
        self.write(folders, now);
    }

    /// The facts of a page.
    pub(super) fn fact(&self, id: &PageId) -> Option<&Fact> {
        self.book.get(id)
    }

    fn store(&self) -> Option<(&Store, &IndexOptions)> {
        let access = self.access.as_ref()?;
        Some((&access.store, access.options()?))
    }

    /// Where cited files are searched. Folders and store do not change while memory is open.
    pub(super) fn places(&mut self, folders: &Folders) -> Places {
        if let Some(places) = &self.places {
            return places.anew();
        }
        let of_store = self.access.as_ref().and_then(StoreAccess::options);
        let exclude = of_store.map(|options| options.exclude.clone());
        let default = || Settings::default().excluded().unwrap_or_default();
        let places = Places::new(folders, exclude.unwrap_or_else(default));
        self.places.insert(places).clone()
    }

    fn update(
        &mut self,
        folders: &Folders,
        files: &[MemoryFile],
        (warnings, checked_out): (&[Warning], &str),
        places: &Places,
        now: Timestamp,
    ) {
        let pages: Vec<&Page> = files.iter().flat_map(|file| &file.pages).collect();
        let warned = |codes: &[&str]| -> Vec<&Path> {
            let found = warnings.iter().filter(|warning| codes.contains(&warning.code));
            found.map(|warning| &*warning.path).collect()
        };
        let met = Met {
            folders,
            pages: &pages,
            torn: warned(&[TORN]),
            unsure: warned(&UNSURE),
            checked_out,
            places,
            now,
            written: RefCell::default(),
        };
        // Who wrote an entry by hand commits it, and its facts with it.
        self.is_shared |= self.book.update(&met);
    }

    /// Puts changed memory files and newly pinned files into the store, so that a diff can be
    /// shown.
    fn index(
        &self,
        folders: &Folders,
        files: &[MemoryFile],
        before: &[(Scope, PathBuf, Hash)],
        places: &Places,
    ) -> Result<()> {
        let Some((store, options)) = self.store() else { return Ok(()) };
        let is_new = |file: &&MemoryFile| {
            let is_same = |known: &&(Scope, PathBuf, Hash)| known.1 == file.path;
            before.iter().find(is_same).is_none_or(|known| known.2 != file.hash)
        };
        let changed = files.iter().filter(is_new).map(|file| file.path.clone());
        let is_gone = |path: &&PathBuf| files.iter().all(|file| file.path != **path);
        let gone = before.iter().map(|(_, path, _)| path).filter(is_gone).cloned();
        let pins = self.book.new_pins();
        // A file that many entries cite is looked at once.
        let cited =
            pins.iter().filter_map(|(scope, pin)| Some((*scope, places.open(*scope, pin)?)));
        let cited: BTreeSet<(Scope, PathBuf)> = cited.collect();
        let cited = cited.into_iter().filter(|(scope, path)| places.is_allowed(*scope, path));
        let cited = cited.map(|(_, path)| path);
        let paths: Vec<PathBuf> = changed.chain(gone).chain(cited).collect();
        if paths.is_empty() {
            return Ok(());
        }
        for scope in Scope::WITH_FOLDER {
            let Some(folder) = folders.folder(scope).filter(|folder| folder.is_dir()) else {
                continue;
            };
            let located = options.files.locate(&source::canonical_path(folder));
            let path = slashed(&located.path.to_string_lossy());
            store.add_folder(&IndexedFolder { filesystem_id: located.filesystem_id, path })?;
        }
        source::index_files(store, &paths, options).map(drop)
    }
}

impl Look {
    /// Why a page is stale; `None` if it is not.
    pub fn staleness(&self, page: &PageId) -> Option<&Staleness> {
        self.stale.get(page)
    }

    /// Cited files that make a page probably wrong: its own, and of an entry those of the topic
    /// files that it links to, whose sections the model may not see.
    pub(super) fn strong_doubts<'a>(
        &'a self,
        page: &'a Page,
    ) -> impl Iterator<Item = &'a CitedFile> {
        let PagePlace { scope, file, line, last_line, .. } = &page.place;
        let lines = *line as usize..=*last_line as usize;
        let index = self.files.iter().find(|one| one.scope == *scope && one.file == *file);
        let leads = index.filter(|_| page.is_entry()).map_or(&[][..], |index| &index.leads);
        let from = leads.partition_point(|(line, _)| line < lines.start());
        let led = leads[from..].iter().take_while(move |(line, _)| lines.contains(line));
        let led = led.filter_map(move |(_, path)| {
            let is_meant = |one: &&MemoryFile| one.scope == *scope && one.file == *path;
            self.files.iter().find(is_meant)
        });
        let linked = led.flat_map(|file| &file.pages);
        let own = std::iter::once(&page.id).chain(linked.map(|page| &page.id));
        let cited = own.filter_map(|id| self.staleness(id)).flat_map(|stale| &stale.cited);
        cited.filter(|cited| cited.change.is_strong())
    }

    /// Three words for a page's line; `None` if it probably still holds.
    pub fn stale_words(&self, page: &Page) -> Option<&'static str> {
        let worst = self.strong_doubts(page).map(|cited| &cited.change).min()?;
        Some(if *worst == CitedChange::Gone { "cited file gone" } else { "cited file changed" })
    }

    /// All pages, including those of unlinked files and of the archive.
    pub fn all_pages(&self) -> impl Iterator<Item = &Page> {
        self.files.iter().flat_map(|file| &file.pages)
    }

    pub(super) fn page(&self, id: &str) -> Result<&Page> {
        let given = id.trim().to_lowercase();
        let is_meant = |page: &&Page| !given.is_empty() && page.id.as_str().starts_with(&given);
        let mut found = self.all_pages().filter(is_meant);
        match (found.next(), found.next()) {
            (Some(page), None) => Ok(page),
            _ => Err(Error::NoPage { id: given }),
        }
    }
}

impl Memory {
    /// A page's facts, as of the last look.
    pub fn fact(&self, page: &PageId) -> Option<&Fact> {
        self.keeper.fact(page)
    }

    /// The pages that a person may want to look at: those with changed cited files first, then the
    /// oldest. Changes nothing.
    pub fn stale(&mut self) -> Vec<StalePage> {
        let (look, now) = (self.look(), self.now());
        let places = self.keeper.places(&self.folders);
        let compared = Compared::of(self.keeper.store(), &places, &look.stale);
        let files = look.files.iter().filter(|file| !file.is_archived());
        let pages = files.flat_map(|file| &file.pages);
        let mut found: Vec<StalePage> = pages
            .filter_map(|page| {
                let fact = self.keeper.fact(&page.id)?.clone();
                let doubts = stale::doubts(page, &fact, look.staleness(&page.id), now);
                let cited = compared.reports(look.staleness(&page.id));
                (!doubts.is_empty()).then(|| StalePage { page: page.clone(), fact, doubts, cited })
            })
            .collect();
        // By the worst of what became of the cited files, then the oldest.
        found.sort_by_key(|found| {
            let worst = found.cited.iter().map(|cited| cited.change.clone()).min();
            (worst.is_none(), worst, found.fact.confirmed.clone())
        });
        found
    }

    /// The stale pages with their changes. First rebuilds the page tables, brings all facts up to
    /// date, and writes both.
    pub fn verify(&mut self) -> Vec<StaleReport> {
        self.keeper.met = None;
        self.rebuild();
        let look = self.look();
        let places = self.keeper.places(&self.folders);
        let compared = Compared::of(self.keeper.store(), &places, &look.stale);
        let reports = look.all_pages().filter_map(|page| {
            let cited = compared.reports(Some(look.staleness(&page.id)?));
            Some(StaleReport { page: page.clone(), cited })
        });
        reports.collect()
    }

    /// Confirms a page: pins its citations as they are now. `id`: its ID, or a unique prefix of it.
    ///
    /// # Errors
    /// `NO_PAGE`.
    pub fn confirm(&mut self, id: &str) -> Result<PageId> {
        let look = self.look();
        let page = look.page(id)?;
        // Of a file in conflict nothing is known.
        self.fact(&page.id).ok_or_else(|| Error::NoPage { id: id.to_owned() })?;
        self.confirm_pages(&[page]);
        Ok(page.id.clone())
    }

    /// Confirms all marked pages that cite a file of this name, as pins have it.
    pub fn confirm_all_of(&mut self, file: &str) -> Vec<PageId> {
        let look = self.look();
        let cites = |page: &&Page| {
            let staleness = look.staleness(&page.id);
            staleness.is_some_and(|stale| stale.cited.iter().any(|cited| cited.pin.path == file))
        };
        let pages: Vec<&Page> = look.all_pages().filter(cites).collect();
        self.confirm_pages(&pages);
        pages.into_iter().map(|page| page.id.clone()).collect()
    }

    fn confirm_pages(&mut self, pages: &[&Page]) {
        let (places, now) = (self.keeper.places(&self.folders), self.now());
        self.keeper.book.confirm(pages, &places, now);
        self.keeper.index(&self.folders, &[], &[], &places).ok();
        self.keeper.shares();
        self.keeper.write(&self.folders, now);
    }

    /// Call before reading memory that was written here, not by somebody else: its facts go into
    /// git with it.
    pub fn written(&mut self) {
        self.keeper.shares();
    }

    /// Records where pages in memory were imported from, if they were: in an index, the page with
    /// the text; in a topic file, all pages.
    pub fn note_origins(&mut self, written: &[(Scope, &Draft)]) {
        if written.iter().all(|(_, draft)| draft.origin.is_none()) {
            return;
        }
        let look = self.look();
        for (scope, Draft { file, text, origin, .. }) in written {
            let Some(origin) = origin else { continue };
            let text = text_hash(text);
            let is_meant = |page: &&Page| {
                (page.place.scope, &page.place.file) == (*scope, file)
                    && (!page.is_entry() || text_hash(&page.text) == text)
            };
            let pages: Vec<PageId> =
                look.all_pages().filter(is_meant).map(|page| page.id.clone()).collect();
            for page in pages {
                self.keeper.book.note_origin(&page, origin);
            }
        }
        self.keeper.shares();
        self.keeper.write(&self.folders, self.now());
    }
}
