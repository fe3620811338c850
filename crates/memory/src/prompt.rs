//! What memory tells the model during a session: the section of the system prompt, which stays
//! unchanged while a cache holds it, and later changes as session notes. Must not choose pages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::at_hand::{AtHand, Entry, MOST_TOKENS, places};
use super::block::{self, FIRST_LINE};
use super::faults::Resident;
use super::fidelity::Fidelity;
use super::inject::Injection;
use super::note::{ToldPages, and_more, numbered, stale_note, stale_rest};
use super::overview::SectionOverview;
use super::scope::shown_path;
use super::worth::{Signals, is_related};
use super::{Look, Memory, Page, PageId, PageKind, Scope, table};
use base::error::Result;
use session::{MemoryChange, PromptedSession};

/// Most pages that have a note of their own where the files of several change at once, and most places
/// of the others.
const MOST_ALONE: usize = 3;
const MOST_PLACES: usize = 20;

/// The section of the system prompt in force.
#[derive(Debug, Default)]
pub(super) struct InForce {
    injection: Option<Injection>,
    /// Pages as the model knows them.
    told: ToldPages,
    /// The pages that the model knows to be stale, with what became of the files that they cite.
    stale: BTreeMap<PageId, &'static str>,
    /// Entries that come with the file that they cite.
    at_hand: AtHand,
    /// Whether the last call's system prompt lacked it: the person turned memory off.
    is_out: bool,
    /// Changes since it was rendered.
    changes: u32,
}

impl InForce {
    /// Whether the model has it.
    pub(super) fn is_shown(&self) -> bool {
        self.injection.is_some() && !self.is_out
    }

    /// Its pages.
    fn resident(&self) -> &[Resident] {
        self.injection.as_ref().map_or(&[], |injection| &injection.resident)
    }

    fn is_resident(&self, page: &Page) -> bool {
        self.resident().iter().any(|shown| shown.id == page.id)
    }

    /// Its size.
    pub(super) fn overview(&self) -> Option<SectionOverview> {
        let Injection { ref text, tokens, page_tokens, .. } = *self.injection.as_ref()?;
        Some(SectionOverview { bytes: text.len(), tokens, page_tokens, changes: self.changes })
    }
}

impl Memory {
    /// The section of the system prompt for the next calls; `None` if memory is off.
    ///
    /// It is rendered anew at the start of a session, when the session says that this costs
    /// nothing, and without a session whenever memory changed. Otherwise it stays as it is, and the
    /// session tells the model what changed.
    ///
    /// # Errors
    /// Those of the session's store. The section in force then stays.
    pub fn prompt(
        &mut self,
        mut session: Option<&mut dyn PromptedSession>,
    ) -> Result<Option<&Injection>> {
        let look = self.look();
        self.writing.clear();
        if !look.settings.enabled {
            self.in_force = InForce::default();
            return Ok(None);
        }
        let now = self.known_pages(&look);
        let may_change = if let Some(session) = &session {
            session.is_cold()
        } else {
            let is_stale = self.stale_pages(&look) != self.in_force.stale;
            is_stale || !self.in_force.told.changes(&now).is_empty()
        };
        if self.in_force.injection.is_none() || may_change {
            let paths = session.as_ref().map(|session| session.known_paths(&BTreeSet::new()));
            let tool = session.as_ref().and_then(|session| session.asking_tool());
            self.render(&look, &paths.unwrap_or_default(), tool.as_deref());
            if let Some(session) = &mut session {
                session.memory_rendered()?;
            }
        } else if let Some(session) = session {
            self.tell(session, &look, None)?;
        }
        let below_least =
            self.in_force.injection.as_ref().map(|injection| injection.below_least.clone());
        self.prompted(self.in_force.resident().to_vec(), &below_least.unwrap_or_default());
        Ok(self.in_force.injection.as_ref())
    }

    /// Call when memory may have changed: the session tells the model. `call`: the tool call by
    /// which the model itself changed memory; the call tells the model as long as it is in the
    /// context. Changes by others must be told separately, before it runs.
    ///
    /// # Errors
    /// Those of the session's store.
    pub fn changed(&mut self, session: &mut dyn PromptedSession, call: Option<&str>) -> Result<()> {
        if call.is_some() {
            self.written();
        }
        let look = self.look();
        self.tell(session, &look, call)
    }

    /// Call before each call of the session: if a file changed that a page in the system prompt
    /// cites, or if the session met a file on which memory has more, the session tells the model.
    /// Cheap if neither is so. `prompt`: the system prompt, if known.
    ///
    /// # Errors
    /// Those of the session's store.
    pub fn before_call(
        &mut self,
        session: &mut dyn PromptedSession,
        prompt: Option<&str>,
    ) -> Result<()> {
        self.in_force.is_out = prompt.is_some_and(|prompt| !prompt.contains(FIRST_LINE));
        if !self.in_force.is_shown() {
            return Ok(());
        }
        if self.keeper.may_differ() {
            self.changed(session, None)?;
        }
        let at_hand = &mut self.in_force.at_hand;
        let notes = at_hand.notes(session.known_paths(at_hand.met()));
        let once =
            |text: String| MemoryChange { text, file: String::new(), call: None, once: true };
        session.memory_changed(&notes.into_iter().map(once).collect::<Vec<_>>())
    }

    fn render(&mut self, look: &Look, paths: &[String], tool: Option<&str>) {
        self.resume();
        let now = self.now();
        let signals = |page: &Page| {
            let fact = self.keeper.fact(&page.id);
            Signals {
                uses: fact.map_or(0, |fact| u32::try_from(fact.uses).unwrap_or(u32::MAX)),
                age_days: fact.and_then(|fact| fact.quiet_days(now)),
                is_related: is_related(page, paths),
                stale: look.stale_words(page),
            }
        };
        let injection = self.injector.inject(&self.folders, look, &signals, tool);
        self.keep_table(look);
        self.in_force.injection = Some(injection);
        self.in_force.told = self.known_pages(look);
        self.in_force.stale = self.stale_pages(look);
        self.in_force.at_hand = AtHand::new(paths);
        self.in_force.changes = 0;
        self.lay_at_hand(look);
    }

    /// Makes the page tables again from the Markdown.
    pub fn rebuild(&mut self) {
        let look = self.look();
        self.resume();
        self.keep_table(&look);
    }

    /// Before the first section, takes over the resident pages of the previous session.
    pub(super) fn resume(&mut self) {
        if self.in_force.injection.is_none() {
            let folders = self.memory_folders();
            let rows = folders.iter().flat_map(|(_, folder)| table::read(folder).0);
            let resident = rows.filter_map(|row| Some((row.id, row.resident?)));
            self.injector.resume(resident.collect());
        }
    }

    /// Writes the page tables if they differ from the pages.
    fn keep_table(&mut self, look: &Look) {
        let rows = self.injector.rows(look.pages());
        table::keep(&self.memory_folders(), rows);
    }

    /// Has the session tell the model about changes that it does not know. `call`: the tool call
    /// that made them.
    fn tell(
        &mut self,
        session: &mut dyn PromptedSession,
        look: &Look,
        call: Option<&str>,
    ) -> Result<()> {
        if self.in_force.injection.is_none() {
            return Ok(());
        }
        let (now, stale) = (self.known_pages(look), self.stale_pages(look));
        let mut number = self.in_force.changes;
        let mut told = Vec::new();
        for change in self.in_force.told.changes(&now) {
            number += 1;
            let Some(path) = self.path(change.scope, &change.file) else { continue };
            let text = change.note(&self.shown_path(&path), number);
            let file = path.to_string_lossy().into_owned();
            let call = call.map(str::to_owned);
            told.push(MemoryChange { text, file, call, once: false });
        }
        for note in self.stale_notes(look, &stale) {
            number += 1;
            let text = format!("{}{note}", numbered(number));
            // No file of memory shows it, and no call of the model tells it.
            told.push(MemoryChange { text, file: String::new(), call: None, once: false });
        }
        session.memory_changed(&told)?;
        let news = look.pages().filter(|page| page.is_entry() && !self.in_force.told.holds(page));
        self.in_force.at_hand.were_told(news.map(|page| page.id.clone()));
        self.lay_at_hand(look);
        self.in_force.stale = stale;
        self.in_force.told = now;
        self.in_force.changes = number;
        Ok(())
    }

    /// Pages that the model knows: index entries, and resident sections of topic files.
    fn known_pages(&self, look: &Look) -> ToldPages {
        let is_known = |page: &&Page| page.is_entry() || self.in_force.is_resident(page);
        ToldPages::of(look.pages().filter(is_known))
    }

    /// The pages in the system prompt whose cited files changed, with what became of these.
    fn stale_pages(&self, look: &Look) -> BTreeMap<PageId, &'static str> {
        let resident = look.pages().filter(|page| self.in_force.is_resident(page));
        resident.filter_map(|page| Some((page.id.clone(), look.stale_words(page)?))).collect()
    }

    /// What to say of the pages that are stale now and were not, and the other way round. Another
    /// branch may change many at once: of those behind the first ones a single note tells.
    fn stale_notes(&self, look: &Look, stale: &BTreeMap<PageId, &'static str>) -> Vec<String> {
        let told = &self.in_force.stale;
        let news = look.pages().filter(|page| stale.get(&page.id) != told.get(&page.id));
        let (marked, cleared): (Vec<&Page>, Vec<&Page>) =
            news.partition(|page| stale.contains_key(&page.id));
        let note = |page: &&Page| {
            let cited = look.strong_doubts(page);
            let files: Vec<(&str, &str)> =
                cited.map(|cited| (&*cited.pin.path, cited.change.as_str())).collect();
            stale_note(page, &files)
        };
        let notes = [(marked, true), (cleared, false)].into_iter().flat_map(|(pages, is_stale)| {
            let alone = if pages.len() > MOST_ALONE + 1 { MOST_ALONE } else { pages.len() };
            let (first, rest) = pages.split_at(alone);
            let rest =
                (!rest.is_empty()).then(|| stale_rest(rest.len(), is_stale, &self.places_of(rest)));
            first.iter().map(note).chain(rest).collect::<Vec<_>>()
        });
        notes.collect()
    }

    /// Where the first of some pages stand, as the model knows it, and how many more there are.
    fn places_of(&self, pages: &[&Page]) -> String {
        let shown = pages.iter().take(MOST_PLACES).filter_map(|page| {
            let path = self.path(page.place.scope, &page.place.file)?;
            Some((self.shown_path(&path), page.place.line))
        });
        let shown: Vec<(String, u32)> = shown.collect();
        let more = and_more(pages.len() - shown.len());
        places(shown.iter().map(|(file, line)| (&**file, *line))) + &more
    }

    /// Takes note of the pages that cite files and do not stand in full in the system prompt.
    fn lay_at_hand(&mut self, look: &Look) {
        if self.in_force.injection.is_none() || !look.settings.page_table_injection {
            return;
        }
        let resident = self.in_force.resident();
        let is_full = |shown: &&Resident| shown.fidelity == Fidelity::Full;
        let stands = |page: &Page| resident.iter().filter(is_full).any(|shown| shown.id == page.id);
        let pages: Vec<&Page> = look
            .pages()
            .filter(|page| page.place.scope != Scope::Conversation && !stands(page))
            .collect();
        let mut entries = Vec::new();
        for page in pages {
            let cites = self.cited_paths(page);
            let Some(path) = self.path(page.place.scope, &page.place.file) else { continue };
            if cites.is_empty() {
                continue;
            }
            let mark = look.stale_words(page).map(block::stale_mark).unwrap_or_default();
            entries.push(Entry {
                id: page.id.clone(),
                text: self.injector.form(page, MOST_TOKENS) + &mark,
                is_rule: page.is_important || page.kind == PageKind::Instruction,
                file: self.shown_path(&path),
                line: page.place.line,
                cites,
            });
        }
        self.in_force.at_hand.lay(entries);
    }

    /// The files that a page cites, each with its path as the model knows it.
    fn cited_paths(&self, page: &Page) -> Vec<(PathBuf, String)> {
        let cites = self.keeper.fact(&page.id).map(|fact| &*fact.cites).unwrap_or_default();
        let home = self.home.as_deref();
        let mut paths: Vec<(PathBuf, String)> = Vec::new();
        for pin in cites {
            let path = match (pin.path.strip_prefix("~/"), home) {
                (Some(inside), Some(home)) => home.join(inside),
                _ => self.folders.project_folder().map(|at| at.join(&pin.path)).unwrap_or_default(),
            };
            let shown = self.shown_path(&path);
            if path.is_absolute() && !paths.iter().any(|(known, _)| *known == path) {
                paths.push((path, shown));
            }
        }
        paths
    }

    pub(super) fn path(&self, scope: Scope, file: &str) -> Option<PathBuf> {
        Some(self.folders.folder(scope)?.join(file))
    }

    /// A path as the model knows it: `~` for the home folder, or relative to the project.
    pub(super) fn shown_path(&self, path: &Path) -> String {
        if let Some(shown) = self.folders.shown_in_project(path) {
            return shown;
        }
        shown_path(path, self.home.as_deref())
    }
}
