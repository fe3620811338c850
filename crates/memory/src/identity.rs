//! Carries page IDs over edits: a new page takes the ID of a missing page that says nearly the
//! same. Pure; must not know where the known pages are kept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::page::{Page, PageId, each_said};
use super::scope::Scope;

/// Least similarity at which a page counts as an edited version of another.
const LIKE: f64 = 0.5;
/// Most pairs of pages compared: thousands of imported entries have no earlier versions to match.
const MAX_PAIRS: usize = 250_000;
/// Words and signs of a page that are compared.
const MAX_WORDS: usize = 90;

/// A page as last known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPage {
    /// Its ID.
    pub id: PageId,
    /// Its scope.
    pub scope: Scope,
    /// Path in the scope's folder.
    pub file: String,
    /// Texts of the headings above it.
    pub headings: Vec<String>,
    /// Its words, see [`words`](crate::page::words); the first ones are enough.
    pub words: Vec<String>,
    /// Whether it stood at the last look at what is checked out now. If not, it stands on another
    /// branch, and no page here is an edited version of it.
    pub is_here: bool,
}

impl KnownPage {
    /// What to remember of a page.
    pub fn of(page: &Page) -> Self {
        let (headings, words) = if page.is_withheld {
            // A person takes the secret out of the Markdown alone.
            Default::default()
        } else {
            (page.place.headings.clone(), compared(&page.text))
        };
        let (id, scope, file) = (page.id.clone(), page.place.scope, page.place.file.clone());
        Self { id, scope, file, headings, words, is_here: true }
    }
}

/// What identifies a page, see [`each_said`].
fn compared(text: &str) -> Vec<String> {
    each_said(text).take(MAX_WORDS).collect()
}

/// Whether two texts, by their [`KnownPage::words`], say the same. Of long ones that cannot be told.
pub(super) fn says_the_same(one: &[String], other: &[String]) -> bool {
    !one.is_empty() && one.len() < MAX_WORDS && one == other
}

/// Gives each page that says what a known one said its ID, and each other one with an unknown ID
/// that of the most similar known page that is missing. `pages`: all pages of the scopes that
/// `known` covers.
pub fn carry_over(pages: &mut [&mut Page], known: &[KnownPage]) {
    keep_by_words(pages, known);
    let present: HashSet<PageId> = pages.iter().map(|page| page.id.clone()).collect();
    let was: HashSet<&PageId> = known.iter().map(|page| &page.id).collect();
    let gone: Vec<&KnownPage> = known.iter().filter(|page| !present.contains(&page.id)).collect();
    let new: Vec<usize> = (0..pages.len()).filter(|at| !was.contains(&pages[*at].id)).collect();
    if gone.is_empty() || gone.len().saturating_mul(new.len()) > MAX_PAIRS {
        return;
    }
    let mut pairs = Vec::new();
    for at in new {
        let words = compared(&pages[at].text);
        for (place, gone) in gone.iter().enumerate() {
            let likeness = likeness(pages[at], &words, gone);
            if likeness >= LIKE && (gone.is_here || words == gone.words) {
                pairs.push((likeness, at, place));
            }
        }
    }
    // The most similar pairs first; among equals, the first in the text.
    pairs.sort_by(|one, other| {
        other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2)))
    });
    let (mut named, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for (_, at, place) in pairs {
        if !named.contains(&at) && !taken.contains(&place) {
            named.insert(at);
            taken.insert(place);
            pages[at].id = gone[place].id.clone();
        }
    }
}

/// Gives pages that say what a known one said its ID. Pages with the same first words are counted,
/// so one that came or left moves the IDs of those below it.
fn keep_by_words(pages: &mut [&mut Page], known: &[KnownPage]) {
    let by_id: HashMap<&PageId, &KnownPage> = known.iter().map(|page| (&page.id, page)).collect();
    let words_of_other = |page: &Page| {
        let words = compared(&page.text);
        by_id.get(&page.id).is_none_or(|was| was.words != words).then_some(words)
    };
    let others: BTreeMap<usize, Vec<String>> =
        (0..pages.len()).filter_map(|at| Some((at, words_of_other(pages[at])?))).collect();
    if others.is_empty() {
        return;
    }
    let called: HashMap<PageId, usize> =
        pages.iter().enumerate().map(|(at, page)| (page.id.clone(), at)).collect();
    // Those by which nobody is called who still says it; the last one is taken first.
    let mut free: HashMap<(Scope, &[String]), Vec<&PageId>> = HashMap::new();
    for page in known.iter().rev().filter(|page| !page.words.is_empty()) {
        if called.get(&page.id).is_none_or(|at| others.contains_key(at)) {
            free.entry((page.scope, &page.words)).or_default().push(&page.id);
        }
    }
    let mut renamed: BTreeMap<usize, PageId> = BTreeMap::new();
    for (at, words) in &others {
        let same = free.get_mut(&(pages[*at].place.scope, &**words));
        if let Some(id) = same.and_then(Vec::pop) {
            renamed.insert(*at, id.clone());
        }
    }
    // Whoever was called so takes an ID that nobody has now.
    let given: HashSet<&PageId> = renamed.values().collect();
    let mut left = renamed.keys().map(|at| pages[*at].id.clone()).filter(|id| !given.contains(id));
    let displaced: BTreeSet<usize> =
        given.iter().filter_map(|id| called.get(*id).copied()).collect();
    let displaced = displaced.into_iter().filter(|at| !renamed.contains_key(at));
    let displaced: Vec<(usize, PageId)> = displaced.zip(left.by_ref()).collect();
    for (at, id) in renamed.into_iter().chain(displaced) {
        pages[at].id = id;
    }
}

/// The similarity of a page and a known one, 0 to 1: the share of common words (Dice), slightly
/// reduced in another file or below another heading. 0 in another scope.
fn likeness(page: &Page, words: &[String], known: &KnownPage) -> f64 {
    if page.place.scope != known.scope {
        return 0.0;
    }
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut shared = 0_u32;
    for word in &known.words {
        if let Some(count) = counts.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    // At least 1, so that two pages without words do not divide by zero.
    let all = u32::try_from(words.len() + known.words.len()).unwrap_or(u32::MAX).max(1);
    let place = match (page.place.file == known.file, page.place.headings == known.headings) {
        (true, true) => 1.0,
        (true, false) => 0.95,
        (false, _) => 0.9,
    };
    2.0 * f64::from(shared) / f64::from(all) * place
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    fn pages(text: &str) -> Vec<Page> {
        parse(Scope::Project, "MEMORY.md", text)
    }

    /// Which entry of `before` each entry of `after` is.
    fn carried(before: &str, after: &str) -> Vec<Option<usize>> {
        let before = pages(before);
        let known: Vec<KnownPage> = before.iter().map(KnownPage::of).collect();
        let mut after = pages(after);
        carry_over(&mut after.iter_mut().collect::<Vec<_>>(), &known);
        let place = |page: &Page| before.iter().position(|known| known.id == page.id);
        after.iter().map(place).collect()
    }

    #[test]
    fn an_edited_entry_keeps_its_id_and_a_new_one_gets_its_own() {
        let before = "- the build needs python three\n- logs are in var log app\n";
        let after = "- a wholly other thing that nobody said\n- logs now are in var log app too\n- The build needs Python three, not two\n";
        assert_eq!(carried(before, after), [None, Some(1), Some(0)]);
    }

    #[test]
    fn a_moved_entry_keeps_its_id() {
        let before = "## A\n- one two three four\n## B\n- x\n";
        assert_eq!(carried(before, "## A\n## C\n- one two three four\n- x\n"), [Some(0), Some(1)]);
    }

    #[test]
    fn entries_with_one_key_keep_their_ids_beside_each_other() {
        let before = "- limit: ten calls in a.rs\n- limit: 64 steps\n- limit: three retries\n";
        for (after, expected) in [
            ("- limit: 64 steps\n- limit: three retries\n", vec![Some(1), Some(2)]),
            (
                "- limit: four MB\n- limit: ten calls in a.rs\n- limit: 64 steps\n- limit: three retries\n",
                vec![None, Some(0), Some(1), Some(2)],
            ),
            ("- limit: three retries\n- limit: ten calls in a.rs\n", vec![Some(2), Some(0)]),
        ] {
            assert_eq!(carried(before, after), expected, "{after}");
        }
    }

    #[test]
    fn no_id_is_given_twice() {
        let before = "- alpha beta gamma delta epsilon zeta one\n";
        let after = "- alpha beta gamma delta epsilon zeta eta two\n- so alpha beta gamma delta epsilon zeta\n";
        let found = carried(before, after);
        assert_eq!(found.iter().flatten().count(), 1);
    }

    #[test]
    fn an_entry_that_stays_keeps_its_id_whatever_comes_beside_it() {
        let before = "- deploy with make ship\n";
        assert_eq!(
            carried(before, "- deploy with make ship now\n- deploy with make ship\n"),
            [None, Some(0)]
        );
    }
}
