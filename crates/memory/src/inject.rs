//! Memory's part of the system prompt: the resident pages, at their fidelities, within the limits.
//! Must not decide when the system prompt may change.

use std::collections::HashMap;
use std::path::PathBuf;

use super::block::{self, ShownPages};
use super::checks::without_comments;
use super::faults::Resident;
use super::fidelity::{Fidelity, Forms};
use super::page::{LEAD_IN_CHARS, Page, PageId, PageKind};
use super::residency::{self, NO_LIMIT, PageSize, Residency, ResidencyCandidate, ResidencyLimits};
use super::scope::{Folders, Scope};
use super::stale::Staleness;
use super::table::Row;
use super::worth::{Signals, worth};
use super::{Look, MemoryFile};
use base::object::{Hash, quote};
use config::MemorySettings;
use context::tokens;

/// Most rounds of making room for the headings above pages.
const ROUNDS: usize = 8;

/// Memory's part of the system prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Injection {
    /// The text of the section.
    pub text: String,
    /// Tokens of the text.
    pub tokens: u64,
    /// Tokens of the pages and their headings: at most `maxMemoryTokens`.
    pub page_tokens: u64,
    /// The resident pages, in the order of the text.
    pub resident: Vec<Resident>,
    /// Pinned pages below their least fidelity.
    pub below_least: Vec<PageId>,
}

/// Tokens of memory's part of a system prompt; 0 if there is none. Pi puts `</memory>` behind it.
pub fn section_tokens(prompt: &str) -> u64 {
    let section = prompt.find(block::FIRST_LINE).map(|from| &prompt[from..]);
    let section = section.map(|rest| rest.split("\n</memory>").next().unwrap_or(rest));
    section.map_or(0, tokens::count)
}

/// Makes injections, and caches what it derives from pages.
#[derive(Debug, Default)]
pub(super) struct Injector {
    home: Option<PathBuf>,
    forms: HashMap<PageId, (Hash, Forms)>,
    /// The fidelities of the last injection.
    resident: HashMap<PageId, Fidelity>,
}

impl Injector {
    /// `home`: the user's home folder.
    pub(super) fn new(home: Option<PathBuf>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Pages that were resident before a restart stay so until others are clearly better.
    pub(super) fn resume(&mut self, resident: Vec<(PageId, Fidelity)>) {
        self.resident = resident.into_iter().collect();
    }

    /// The page table rows of these pages.
    pub(super) fn rows<'a>(&mut self, pages: impl Iterator<Item = &'a Page>) -> Vec<Row> {
        let rows = pages.filter_map(|page| {
            self.derive(page);
            let forms = &self.forms.get(&page.id)?.1;
            Some(Row::of(page, forms, self.resident.get(&page.id).copied()))
        });
        rows.collect()
    }

    /// Renders memory's part of the system prompt. `signals`: what is known about a page besides
    /// its text. `tool`: that by which the model can ask memory; it is told of where not all stands
    /// in full and unmarked.
    pub(super) fn inject(
        &mut self,
        folders: &Folders,
        look: &Look,
        signals: &dyn Fn(&Page) -> Signals,
        tool: Option<&str>,
    ) -> Injection {
        let is_empty = look.files.iter().all(|file| file.pages.is_empty());
        let mut preamble = block::preamble(folders, self.home.as_deref(), is_empty);
        let settings = &look.settings;
        let (pages, resident, below_least) = if settings.page_table_injection {
            self.pages(look, signals)
        } else {
            let (lines, bytes) = (settings.max_inject_lines, settings.max_inject_bytes);
            (block::capped_indexes(&look.files, lines, bytes), Vec::new(), Vec::new())
        };
        let full = resident.iter().filter(|page| page.fidelity == Fidelity::Full).count();
        let all = look.all_pages().filter(|page| !page.is_withheld).count();
        let is_marked = look.stale.values().any(Staleness::is_changed);
        if let Some(tool) = tool.filter(|_| full < all || is_marked) {
            preamble.push_str(&block::asking(tool));
        }
        self.resident = resident.iter().map(|page| (page.id.clone(), page.fidelity)).collect();
        let page_tokens = tokens::count(&pages);
        let text = format!("{preamble}{pages}");
        Injection { tokens: tokens::count(&text), text, page_tokens, resident, below_least }
    }

    fn pages(
        &mut self,
        look: &Look,
        signals: &dyn Fn(&Page) -> Signals,
    ) -> (String, Vec<Resident>, Vec<PageId>) {
        let pages: Vec<(&Page, Signals)> = look.pages().map(|page| (page, signals(page))).collect();
        for (page, _) in &pages {
            self.derive(page);
        }
        let wanted: Vec<(&Page, Signals, &Forms)> = pages
            .iter()
            .filter(|(page, signals)| worth(page, *signals) > 0.0)
            .filter_map(|(page, signals)| Some((*page, *signals, &self.forms.get(&page.id)?.1)))
            .collect();
        let candidates: Vec<ResidencyCandidate> = wanted
            .iter()
            .map(|(page, signals, forms)| self.candidate(page, *signals, forms))
            .collect();
        let budget = u32::try_from(look.settings.max_memory_tokens).unwrap_or(u32::MAX);
        let caps = limits(&look.settings, budget);
        let mut limits = caps.clone();
        for _ in 0..ROUNDS {
            let chosen = residency::choose(&candidates, &limits);
            let (shown, more) = shown(&wanted, &chosen, &look.files);
            let text = block::pages(&shown, &more);
            let over = tokens::count(&text).saturating_sub(u64::from(budget));
            let taken = taken(&candidates, &chosen, limits.groups.len());
            let is_within = narrow(&mut limits, &caps, &taken, &block::sizes(&shown));
            if over == 0 && is_within {
                let resident = shown.iter().map(|shown| resident(shown, signals(shown.page)));
                let below = chosen.below_least.iter().map(|at| wanted[*at].0.id.clone()).collect();
                return (text, resident.collect(), below);
            }
            if over > 0 {
                let over = u32::try_from(over).unwrap_or(u32::MAX);
                limits.tokens = chosen.tokens.saturating_sub(over);
            }
        }
        // Headings alone exceed the limit.
        let pinned = wanted.iter().filter(|(page, ..)| page.is_pinned);
        (String::new(), Vec::new(), pinned.map(|(page, ..)| page.id.clone()).collect())
    }

    /// A page in the fullest form of at most so many tokens, behind what announces it.
    pub(super) fn form(&mut self, page: &Page, tokens: u32) -> String {
        self.derive(page);
        let Some((_, forms)) = self.forms.get(&page.id) else { return String::new() };
        let fits = |fidelity: &&Fidelity| forms.at(**fidelity).tokens <= tokens;
        let fidelity = Fidelity::ALL.iter().rev().find(fits).unwrap_or(&Fidelity::Pointer);
        let announced = page.announced(LEAD_IN_CHARS);
        format!("{}{}", quote::section(&announced), forms.at(*fidelity).text)
    }

    /// Caches the forms of a page.
    fn derive(&mut self, page: &Page) {
        let hash = Hash::of(&page.text);
        if self.forms.get(&page.id).is_none_or(|(known, _)| *known != hash) {
            let text = without_comments(&page.text).trim_end().to_owned();
            let forms = Forms::of(&Page { text, ..page.clone() });
            self.forms.insert(page.id.clone(), (hash, forms));
        }
    }

    fn candidate(&self, page: &Page, signals: Signals, forms: &Forms) -> ResidencyCandidate {
        let marked = signals.stale.map(block::stale_mark).unwrap_or_default();
        let mark = u32::try_from(tokens::count(&marked)).unwrap_or_default();
        let sizes = Fidelity::ALL.map(|fidelity| {
            let form = forms.at(fidelity);
            let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            PageSize {
                tokens: form.tokens + mark,
                bytes: count(form.text.len() + marked.len() + 1),
                lines: count(form.text.lines().count()),
            }
        });
        ResidencyCandidate {
            sizes,
            value: worth(page, signals),
            group: page.place.scope as u8,
            least: page.is_pinned.then(|| least(page)),
            is_rule: page.is_entry() && (page.is_important || page.kind == PageKind::Instruction),
            resident: self.resident.get(&page.id).copied(),
        }
    }
}

/// A page in the block, with the reason for showing it.
fn resident(shown: &ShownPages<'_>, signals: Signals) -> Resident {
    let ShownPages { page, fidelity, .. } = *shown;
    let why = if page.is_pinned {
        "pinned".to_owned()
    } else {
        format!("worth {:.1}", worth(page, signals))
    };
    Resident { id: page.id.clone(), fidelity, why }
}

/// Bytes and lines of the pages that were chosen in each group.
fn taken(candidates: &[ResidencyCandidate], chosen: &Residency, groups: usize) -> Vec<(u32, u32)> {
    let mut taken = vec![(0_u32, 0_u32); groups];
    for (candidate, fidelity) in candidates.iter().zip(&chosen.fidelities) {
        let size = fidelity.map(|at| candidate.sizes[at as usize]).unwrap_or_default();
        let (bytes, lines) = &mut taken[usize::from(candidate.group)];
        (*bytes, *lines) = (bytes.saturating_add(size.bytes), lines.saturating_add(size.lines));
    }
    taken
}

/// Narrows the limits of scopes whose pages exceed their caps together with the headings above them,
/// in proportion. Returns whether none did. `taken`: what the pages alone have, since a limit that
/// another one keeps them below would have to be narrowed again and again before it lets one go.
fn narrow(
    limits: &mut ResidencyLimits,
    caps: &ResidencyLimits,
    taken: &[(u32, u32)],
    sizes: &[(usize, usize)],
) -> bool {
    let mut is_within = true;
    let mut fit = |limit: &mut u32, cap: u32, taken: u32, size: usize| {
        let (size, taken) = (size as u64, u64::from(taken));
        if cap != NO_LIMIT && size > u64::from(cap) {
            is_within = false;
            *limit = u32::try_from((taken * u64::from(cap) / size).min(taken.saturating_sub(1)))
                .unwrap_or(cap);
        }
    };
    let groups = limits.groups.iter_mut().zip(&caps.groups).zip(taken).zip(sizes);
    for (((limit, cap), taken), (bytes, lines)) in groups {
        fit(&mut limit.0, cap.0, taken.0, *bytes);
        fit(&mut limit.1, cap.1, taken.1, *lines);
    }
    is_within
}

/// The least fidelity of a pinned page: instructions are never abbreviated.
fn least(page: &Page) -> Fidelity {
    if page.kind == PageKind::Instruction || page.is_entry() {
        Fidelity::Full
    } else {
        Fidelity::Compressed
    }
}

fn limits(settings: &MemorySettings, tokens: u32) -> ResidencyLimits {
    let cap = |given: u64| u32::try_from(given).unwrap_or(NO_LIMIT);
    let group = (cap(settings.max_inject_bytes), cap(settings.max_inject_lines));
    ResidencyLimits { tokens, groups: Scope::ALL.map(|_| group).to_vec() }
}

/// The resident pages, and the number of entries of each index that are not shown.
fn shown<'a>(
    wanted: &[(&'a Page, Signals, &'a Forms)],
    chosen: &Residency,
    files: &[MemoryFile],
) -> (Vec<ShownPages<'a>>, Vec<(Scope, usize)>) {
    let resident =
        wanted.iter().zip(&chosen.fidelities).filter_map(|((page, signals, forms), at)| {
            let fidelity = (*at)?;
            let text = &*forms.at(fidelity).text;
            Some(ShownPages { page, fidelity, text, stale: signals.stale })
        });
    let shown: Vec<ShownPages<'_>> = resident.collect();
    let more = Scope::ALL.map(|scope| {
        let index = files.iter().find(|file| file.scope == scope && file.is_index());
        let all = index.map_or(0, |index| index.open_pages().count());
        let stand =
            shown.iter().filter(|shown| shown.page.is_entry() && shown.page.place.scope == scope);
        (scope, all - stand.count().min(all))
    });
    (shown, more.to_vec())
}
