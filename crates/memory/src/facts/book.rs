//! The facts of all pages while memory is open: read from the folders' files, brought up to date
//! with the pages, and written when they change. If a file cannot be written, only its facts are
//! lost. Must not say what follows from facts.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{FACTS_FILE, Fact, LOCAL_FACTS_FILE, day, days_between, joined, text_hash, text_of};
use crate::citations::Cite;
use crate::identity::KnownPage;
use crate::page::{Page, PageId, PagePlace};
use crate::pins::{CitationPin, Citing, Places};
use crate::scope::{Folders, LOCAL_INDEX_FILE, Scope};
use crate::sidecar::{MAX_FILE_BYTES, MemoryFolder, finding_of};
use crate::warning::Warning;
use base::error::{Error, Result};
use base::object::{FileStamp, Timestamp};
use source::{self};

/// Days for which the facts of a missing page are kept: it may come back, in another file or with
/// another branch.
const KEPT_DAYS: i64 = 180;

/// The facts of one folder's pages.
#[derive(Debug, Default)]
struct Chapter {
    facts: BTreeMap<PageId, Fact>,
    /// What `page-facts.jsonl` says.
    shared: BTreeMap<PageId, Fact>,
    /// Stamps of both files as they were read.
    stamps: [Option<FileStamp>; 2],
    is_read: bool,
    /// Why they could not be read.
    unread: Option<Error>,
    /// Pages whose facts differ from the files.
    changed: BTreeSet<PageId>,
    /// Lines of each file that could not be read.
    aside: [Vec<String>; 2],
}

/// The facts of all pages.
#[derive(Debug, Default)]
pub(crate) struct Book {
    chapters: BTreeMap<PathBuf, Chapter>,
}

/// The current pages, for [`Book::update`].
pub(crate) struct Met<'a> {
    pub(crate) folders: &'a Folders,
    /// All pages, with their stable IDs.
    pub(crate) pages: &'a [&'a Page],
    /// Files that hold merge markers: their pages are not what anybody wrote.
    pub(crate) torn: Vec<&'a Path>,
    /// Files and folders that could be read only in part or not at all: they may have more pages.
    pub(crate) unsure: Vec<&'a Path>,
    /// What is checked out in the project.
    pub(crate) checked_out: &'a str,
    /// Where cited files are.
    pub(crate) places: &'a Places,
    /// Now.
    pub(crate) now: Timestamp,
    /// What [`Self::is_written_here`] found out.
    pub(crate) written: RefCell<BTreeMap<(Scope, String), bool>>,
}

impl Met<'_> {
    /// Whether a file, or its scope's folder where `file` is empty, is one of some paths.
    fn is_among(&self, paths: &[&Path], scope: Scope, file: &str) -> bool {
        let folder = self.folders.folder(scope);
        folder.is_none_or(|folder| {
            let path = if file.is_empty() { folder } else { &folder.join(file) };
            paths.contains(&path)
        })
    }

    /// When a file last changed, where that is known.
    fn changed_at(&self, scope: Scope, file: &str) -> Option<Timestamp> {
        let stamp = source::stamp(&self.folders.folder(scope)?.join(file))?;
        Some(Timestamp(stamp.mtime_ns / 1_000_000))
    }

    /// Whether a page's file was written by this person, and not by git. Asked once for each file, not
    /// for each of its pages: git's index is read for it.
    fn is_written_here(&self, PagePlace { scope, file, .. }: &PagePlace) -> bool {
        let ask = || self.folders.is_written_here(*scope, file);
        *self.written.borrow_mut().entry((*scope, file.clone())).or_insert_with(ask)
    }
}

impl Book {
    /// Reads those files of the folders that changed since the last reading. Returns whether any
    /// did.
    pub(crate) fn read(&mut self, folders: &Folders, now: Timestamp) -> bool {
        let mut is_new = false;
        for (scope, folder) in chapters(folders) {
            let chapter = self.chapters.entry(folder.path().to_owned()).or_default();
            if !chapter.is_read || stamps(&folder) != chapter.stamps {
                chapter.read(scope, &folder, &day(now));
                is_new = true;
            }
        }
        is_new
    }

    /// The known pages, for carrying IDs over.
    pub(crate) fn known(&self, checked_out: &str) -> Vec<KnownPage> {
        let facts = self.chapters.values().flat_map(|chapter| chapter.facts.values());
        facts.filter(|fact| !fact.text.is_empty()).map(|fact| fact.known(checked_out)).collect()
    }

    /// The facts of a page.
    pub(crate) fn get(&self, id: &PageId) -> Option<&Fact> {
        self.chapters.values().find_map(|chapter| chapter.facts.get(id))
    }

    /// Brings the facts up to date with the pages: citations of new or edited pages are pinned,
    /// missing pages are marked. Returns whether this person wrote a
    /// page of a repository by hand.
    pub(crate) fn update(&mut self, met: &Met<'_>) -> bool {
        let (folders, today) = (met.folders, day(met.now));
        let (mut is_written, is_in_git) = (false, !met.checked_out.is_empty());
        for (scope, folder) in chapters(folders) {
            let path = folder.path();
            let Some(chapter) = self.chapters.get_mut(path) else { continue };
            let is_here = |page: &&&Page| folders.folder(page.place.scope) == Some(path);
            let here: Vec<&Page> = met.pages.iter().filter(is_here).copied().collect();
            let mut open = Vec::new();
            for page in &here {
                let place = &page.place;
                if !met.is_among(&met.torn, place.scope, &place.file) {
                    is_written |= chapter.meet(page, met, &today, &mut open)
                        && place.scope == Scope::Project
                        && is_in_git;
                }
            }
            for (citing, pins) in open.iter().zip(met.places.pin(&open)) {
                chapter.pin(&citing.page.id, pins);
            }
            let present: BTreeSet<&PageId> = here.iter().map(|page| &page.id).collect();
            let is_unsure = |scope, file: &str| met.is_among(&met.unsure, scope, file);
            let is_unsure = |fact: &Fact| is_unsure(fact.scope, &fact.file) || is_unsure(scope, "");
            chapter.miss(&present, &is_unsure, &today);
        }
        is_written
    }

    /// Pins citations of pages anew and records their confirmation.
    pub(crate) fn confirm(&mut self, pages: &[&Page], places: &Places, now: Timestamp) {
        self.pin_anew(pages, places, |fact| Fact {
            confirmed: day(now),
            checked: String::new(),
            seen: false,
            ..fact
        });
    }

    /// Pins a page's citations anew, since the model checked it. Nothing else of it changes: nobody
    /// confirmed it.
    pub(crate) fn note_check(&mut self, page: &Page, places: &Places, now: Timestamp) {
        self.pin_anew(&[page], places, |fact| Fact { checked: day(now), ..fact });
    }

    fn pin_anew(&mut self, pages: &[&Page], places: &Places, with: impl Fn(Fact) -> Fact) {
        for (page, cites) in pages.iter().zip(places.pin_pages(pages)) {
            self.amend(&page.id, |fact| Fact { cites, ..with(fact) });
        }
    }

    /// Records that pages were read or recalled today.
    pub(crate) fn note_use(&mut self, pages: &[PageId], now: Timestamp) {
        let today = day(now);
        for id in pages {
            self.amend(id, |fact| {
                let uses = fact.uses + u64::from(fact.used != today);
                Fact { uses, used: today.clone(), ..fact }
            });
        }
    }

    /// Unwritten new pins, except those of files that others may not be told about.
    pub(crate) fn new_pins(&self) -> Vec<(Scope, CitationPin)> {
        let changed = self
            .chapters
            .values()
            .flat_map(|chapter| chapter.changed.iter().filter_map(|id| chapter.facts.get(id)));
        let pins = changed.flat_map(|fact| fact.cites.iter().map(|pin| (fact.scope, pin.clone())));
        pins.filter(|(_, pin)| !pin.is_private).collect()
    }

    /// Records where a page was imported from.
    pub(crate) fn note_origin(&mut self, id: &PageId, origin: &str) {
        self.amend(id, |fact| Fact { origin: origin.to_owned(), ..fact });
    }

    /// Writes what changed. Skips a folder in which another process is writing, until the next
    /// time. `is_shared`: whether memory was written here, so that the facts in git may change too.
    /// Returns what could not be written, and whether everything was.
    pub(crate) fn write(
        &mut self,
        folders: &Folders,
        is_shared: bool,
        now: Timestamp,
    ) -> (Vec<Warning>, bool) {
        let (mut warnings, mut is_done) = (Vec::new(), true);
        for (scope, folder) in chapters(folders) {
            let Some(chapter) = self.chapters.get_mut(folder.path()) else { continue };
            let is_in_git = is_shared || scope != Scope::Project;
            let is_noted = is_shared && scope == Scope::Project;
            let foreign = if is_noted { folders.foreign() } else { BTreeSet::new() };
            match chapter.write(scope, &folder, is_in_git, &day(now)) {
                Ok(is_written) => {
                    is_done &= is_written;
                    if is_written && is_noted {
                        folders.note_written([FACTS_FILE].into_iter(), &foreign);
                    }
                }
                Err(error) => {
                    warnings.push(Warning::from(finding_of(&error)));
                    is_done = false;
                }
            }
        }
        (warnings, is_done)
    }

    fn amend(&mut self, id: &PageId, with: impl FnOnce(Fact) -> Fact) {
        let mut chapters = self.chapters.values_mut();
        let Some(chapter) = chapters.find(|chapter| chapter.facts.contains_key(id)) else { return };
        if let Some(fact) = chapter.facts.get(id).cloned() {
            chapter.set(with(fact));
        }
    }
}

impl Chapter {
    /// Reads both files. Unwritten changes made here win over the files' content.
    fn read(&mut self, scope: Scope, folder: &MemoryFolder, today: &str) {
        self.stamps = stamps(folder);
        self.is_read = true;
        if self.is_too_large() {
            return;
        }
        let own = || match scope {
            Scope::Project => folder.lines::<Fact>(LOCAL_FACTS_FILE).map(Some),
            _ => Ok(None),
        };
        let (lines, own) =
            match folder.lines::<Fact>(FACTS_FILE).and_then(|(lines, _)| Ok((lines, own()?))) {
                Ok(read) => read,
                Err(error) => {
                    // Their content is unknown, so nothing may replace it.
                    (self.is_read, self.unread) = (false, Some(error));
                    return;
                }
            };
        self.unread = None;
        let (shared, aside) = joined(lines.entries, lines.bad, scope, today);
        let mut facts = shared.clone();
        (self.shared, self.aside) = (shared, [aside, Vec::new()]);
        if let Some((lines, _)) = own {
            let (local, aside) = joined(lines.entries, lines.bad, scope, today);
            self.aside[1] = aside;
            for (id, fact) in local {
                add_local(&mut facts, id, fact, today);
            }
        }
        let before = std::mem::replace(&mut self.facts, facts);
        self.changed.retain(|id| before.contains_key(id));
        for id in &self.changed {
            if let Some(fact) = before.get(id) {
                self.facts.insert(id.clone(), fact.clone());
            }
        }
    }

    /// Returns whether this person wrote the page since it was last met. `open`: takes the citations
    /// that are to be pinned.
    fn meet<'p>(
        &mut self,
        page: &'p Page,
        met: &Met<'_>,
        today: &str,
        open: &mut Vec<Citing<'p>>,
    ) -> bool {
        let place = &page.place;
        let mut pin = |cites: Vec<&'p Cite>, is_new: bool| {
            if !cites.is_empty() {
                open.push(Citing { page, cites, is_new });
            }
        };
        let is_written = || met.is_written_here(place);
        let on = if place.scope == Scope::Project && !self.shared.contains_key(&page.id) {
            met.checked_out.to_owned()
        } else {
            String::new()
        };
        let Some(known) = self.facts.get(&page.id) else {
            // It is at least as old as its file.
            let changed_at = met.changed_at(place.scope, &place.file);
            let since = changed_at.map(day).filter(|since| since.as_str() < today);
            let fact = Fact::new(page, since.unwrap_or_else(|| today.to_owned()));
            let is_written = is_written();
            self.set(Fact { seen: !is_written, on, ..fact });
            pin(page.cites.iter().collect(), true);
            return is_written;
        };
        // The line from a pull is right if it knows the page as it is now.
        let is_of_page = |fact: &&Fact| fact.text == text_hash(&page.text);
        let pulled = self.shared.get(&page.id).filter(is_of_page);
        let is_older = |pulled: &&Fact| !is_of_page(&known) || !known.is_checked_since(pulled);
        let pulled = pulled.filter(|_| known.seen || !is_of_page(&known)).filter(is_older);
        let mut fact = pulled.unwrap_or(known).clone();
        (fact.scope, fact.on) = (place.scope, on);
        fact.gone.clear();
        let is_edited = fact.describe(page);
        let is_written = is_edited && is_written();
        if is_edited {
            today.clone_into(&mut fact.confirmed);
            fact.seen = !is_written;
            fact.checked.clear();
            fact.cites.clear();
            pin(page.cites.iter().collect(), true);
        } else if fact.cited_files() < page.cites.len() {
            // Includes only files that were created since, or that this person has and others do
            // not. What is pinned is not read for it.
            let is_open = |cite: &&Cite| fact.cites.iter().all(|pin| pin.path != cite.path);
            pin(page.cites.iter().filter(is_open).collect(), false);
        }
        self.set(fact);
        is_written
    }

    /// Adds the pins of files that a page did not have yet.
    fn pin(&mut self, id: &PageId, mut pins: Vec<CitationPin>) {
        let Some(known) = self.facts.get(id) else { return };
        pins.retain(|pin| known.cites.iter().all(|known| known.path != pin.path));
        if !pins.is_empty() {
            let cites = known.cites.iter().cloned().chain(pins).collect();
            let fact = Fact { cites, ..known.clone() };
            self.set(fact);
        }
    }

    fn miss(
        &mut self,
        present: &BTreeSet<&PageId>,
        is_unsure: &dyn Fn(&Fact) -> bool,
        today: &str,
    ) {
        let missing =
            self.facts.values().filter(|fact| !present.contains(&fact.id) && !is_unsure(fact));
        let missing: Vec<Fact> = missing.cloned().collect();
        for fact in missing {
            let since = days_between(&fact.gone, today);
            if fact.gone.is_empty() || since.is_none() {
                self.set(Fact { gone: today.to_owned(), ..fact });
            } else if since.is_some_and(|days| days > KEPT_DAYS) {
                self.facts.remove(&fact.id);
                self.changed.insert(fact.id);
            }
        }
    }

    fn set(&mut self, fact: Fact) {
        if self.facts.get(&fact.id) != Some(&fact) {
            self.changed.insert(fact.id.clone());
            self.facts.insert(fact.id.clone(), fact);
        }
    }

    fn write(
        &mut self,
        scope: Scope,
        folder: &MemoryFolder,
        is_shared: bool,
        today: &str,
    ) -> Result<bool> {
        let is_behind = || self.facts.values().any(|fact| self.is_unshared(fact));
        if self.changed.is_empty() && !(is_shared && is_behind()) {
            return Ok(true);
        }
        let Some(_lock) = folder.try_lock()? else { return Ok(false) };
        if !self.is_read || stamps(folder) != self.stamps {
            self.read(scope, folder, today);
        }
        if let Some(error) = self.unread.take() {
            return Err(error);
        }
        if self.is_too_large() {
            // Its content was not read, so nothing may replace it.
            let source = std::io::Error::from(std::io::ErrorKind::FileTooLarge);
            return Err(Error::File { act: "read", path: folder.path_of(FACTS_FILE), source });
        }
        if is_shared {
            if scope == Scope::Project && self.stamps[0].is_none() {
                folder.keep_private(FACTS_FILE)?;
            }
            put(folder, FACTS_FILE, &text_of(self.all_shared()), &mut self.aside[0])?;
            self.shared = self.all_shared().map(|fact| (fact.id.clone(), fact)).collect();
        }
        if scope == Scope::Project {
            let local = self.facts.values().filter_map(|fact| match fact.scope {
                Scope::Local => Some(fact.clone()),
                _ if self.is_unshared(fact) => Some(fact.clone()),
                _ => fact.own(),
            });
            put(folder, LOCAL_FACTS_FILE, &text_of(local), &mut self.aside[1])?;
        }
        self.changed.clear();
        self.stamps = stamps(folder);
        Ok(true)
    }

    fn is_too_large(&self) -> bool {
        self.stamps.iter().flatten().any(|stamp| stamp.size > MAX_FILE_BYTES)
    }

    /// What `page-facts.jsonl` should say.
    fn all_shared(&self) -> impl Iterator<Item = Fact> {
        self.facts.values().filter_map(|fact| match fact.scope {
            Scope::Global | Scope::Conversation => Some(fact.clone()),
            Scope::Project => Some(fact.shared()),
            Scope::Local => None,
        })
    }

    /// Whether this fact is not in the shared file yet.
    fn is_unshared(&self, fact: &Fact) -> bool {
        fact.scope == Scope::Project && self.shared.get(&fact.id) != Some(&fact.shared())
    }
}

/// Adds a line of `page-facts.local.jsonl`.
fn add_local(facts: &mut BTreeMap<PageId, Fact>, id: PageId, fact: Fact, today: &str) {
    if fact.file == LOCAL_INDEX_FILE {
        facts.insert(id, Fact { scope: Scope::Local, ..fact });
    } else if fact.file.is_empty() {
        if let Some(shared) = facts.get_mut(&id) {
            shared.add_own(fact);
        }
    } else {
        let joined = match facts.remove(&id) {
            Some(shared) => fact.join(shared, today),
            None => fact,
        };
        facts.insert(id, joined);
    }
}

/// Writes a file if its text changed, and keeps its unreadable lines.
fn put(folder: &MemoryFolder, name: &str, text: &str, aside: &mut Vec<String>) -> Result<()> {
    if !aside.is_empty() {
        folder.set_aside(name, aside)?;
        aside.clear();
    }
    let there = source::read_bytes(&folder.path_of(name)).ok().flatten();
    if there.unwrap_or_default() == text.as_bytes() {
        Ok(())
    } else {
        folder.write(name, text.as_bytes())
    }
}

/// The folders that have facts, each once, with the scope of their facts in git.
fn chapters(folders: &Folders) -> impl Iterator<Item = (Scope, MemoryFolder)> {
    let scopes = Scope::WITH_FOLDER.into_iter();
    scopes.filter_map(|scope| Some((scope, folders.memory_folder(scope)?)))
}

fn stamps(folder: &MemoryFolder) -> [Option<FileStamp>; 2] {
    [FACTS_FILE, LOCAL_FACTS_FILE].map(|name| source::stamp(&folder.path_of(name)))
}
