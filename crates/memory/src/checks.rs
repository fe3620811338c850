//! Checks text before it becomes memory, or text that is memory already: secrets, duplicate or
//! contradictory entries, sizes, damage. Pure. Must not decide what follows from a finding, except
//! that a secret is never kept.

mod compare;
mod files;
mod hidden;

use self::compare::Compared;
pub(super) use self::compare::shown;
pub(super) use self::files::secret_lines;
pub use self::files::{CheckLimits, check_file, check_new_lines};
use self::hidden::hidden_in;
pub(super) use self::hidden::without_comments;
use super::finding::{FindingCode, MemoryFinding};
use super::journal::Draft;
use super::load::first_conflict_marker;
use super::page::{Page, words};
use super::parse::parse;
use super::scope::Scope;
use base::error::{Error, Result};
use context::stand_ins::first_stand_in;
use redact::redact_note;

/// Longest entry that an index should have, in characters; longer text belongs in a topic file.
pub(super) const LONG_ENTRY_CHARS: usize = 500;

/// Refuses an entry or file that looks like it holds a secret, with the heading above it.
///
/// # Errors
/// `SECRET`, with the rule that found it and nothing of the text.
pub fn refuse_secret(draft: &Draft) -> Result<()> {
    match redact_note(&draft.as_noted()).counts.into_keys().next() {
        Some(rule) => Err(Error::Secret { rule: rule.to_owned() }),
        None => Ok(()),
    }
}

/// The rule by which `after` seems to hold a secret that `before` did not hold.
pub fn new_secret(before: &str, after: &str) -> Option<&'static str> {
    let after = redact_note(after).counts;
    if after.is_empty() {
        return None;
    }
    let before = redact_note(before).counts;
    after.into_iter().find_map(|(rule, count)| {
        (count > before.get(rule).copied().unwrap_or_default()).then_some(rule)
    })
}

/// Checks a new index entry.
///
/// `standing`: the entries of that index. `beside`: those of other scopes, which only warn.
/// `limits`: how much of a file is injected.
pub fn check_entry(
    draft: &Draft,
    scope: Scope,
    standing: &[Page],
    beside: &[Page],
    limits: CheckLimits,
) -> Vec<MemoryFinding> {
    let (mut found, text) = (Vec::new(), draft.text.trim());
    if let Err(error) = refuse_secret(draft) {
        return vec![MemoryFinding::new(FindingCode::Secret, error.to_string())];
    }
    if words(text).is_empty() {
        return vec![MemoryFinding::new(FindingCode::Empty, "the text has no words")];
    }
    if let Some(line) = first_stand_in(text) {
        let words = format!("the text holds `{line}`, which means nothing outside its session");
        return vec![MemoryFinding::new(FindingCode::StandsForContent, words)];
    }
    if first_conflict_marker(text).is_some() {
        let words = "the text holds the marks of a merge that nobody finished";
        found.push(MemoryFinding::new(FindingCode::ConflictMarkers, words));
    }
    found.extend(
        hidden_in(text).map(|(_, words)| MemoryFinding::new(FindingCode::HiddenText, words)),
    );
    found.extend(size_of_entry(text, limits));
    if let Some(page) = draft.page(scope) {
        let page = Compared::new(&page);
        let mut likes: Vec<_> = standing.iter().filter_map(|other| against(&page, other)).collect();
        likes.sort_by_key(|finding| finding.code != FindingCode::Duplicate);
        found.extend(likes.into_iter().take(MOST_LIKE));
        let doubled = beside.iter().filter(|other| page.says_same(&Compared::new(other)));
        found.extend(doubled.take(1).map(|other| {
            let words = format!("the {} memory says the same: {}", other.place.scope, shown(other));
            MemoryFinding::new(FindingCode::NearDuplicate, words)
        }));
    }
    found
}

/// Most findings from comparing one entry with others.
const MOST_LIKE: usize = 3;

/// The page that a text would be as a single entry.
pub(crate) fn page_of(text: &str, scope: Scope) -> Option<Page> {
    let entry = format!("- {}", text.trim().replace('\n', "\n  "));
    parse(scope, scope.index_file(), &entry).into_iter().next()
}

/// The position of an entry that says the same, below the headings of `page`.
pub(crate) fn position_of(page: &Page, pages: &[Page]) -> Option<usize> {
    let page = Compared::new(page);
    pages.iter().rposition(|other| page.is_same(&Compared::new(other)))
}

/// Compares an entry with another one of its index.
fn against(page: &Compared<'_>, other: &Page) -> Option<MemoryFinding> {
    let other = Compared::new(other);
    let (code, how) = if page.is_same(&other) {
        (FindingCode::Duplicate, "it stands there already")
    } else if page.contradicts(&other) {
        (FindingCode::Contradiction, "the same key has another value there")
    } else if page.says_same(&other) || page.is_close(&other) {
        (FindingCode::NearDuplicate, "nearly the same stands there")
    } else {
        return None;
    };
    let words = format!("{how}: line {}, {}", other.page.place.line, shown(other.page));
    Some(MemoryFinding::new(code, words))
}

fn size_of_entry(text: &str, limits: CheckLimits) -> Option<MemoryFinding> {
    let bytes = text.len() as u64;
    if limits.bytes > 0 && bytes > limits.bytes {
        let words = format!(
            "the text has {bytes} bytes, and no more than {} of a file are injected: write a topic file and link it",
            limits.bytes
        );
        return Some(MemoryFinding::new(FindingCode::EntryTooLarge, words));
    }
    let chars = text.chars().count();
    (chars > LONG_ENTRY_CHARS).then(|| {
        let words = format!("the text has {chars} characters, long for a line of an index");
        MemoryFinding::new(FindingCode::LongEntry, words)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CheckLimits = CheckLimits { lines: 200, bytes: 8_192 };

    fn codes(text: &str, index: &str) -> Vec<&'static str> {
        let standing = parse(Scope::Project, "MEMORY.md", index);
        let draft = Draft::entry(Scope::Project, text);
        let found = check_entry(&draft, Scope::Project, &standing, &[], LIMITS);
        found.iter().map(|finding| finding.code.as_str()).collect()
    }

    #[test]
    fn a_text_is_compared_with_the_entries_that_stand() {
        let index = "## Build\n- Package manager: pnpm\n- Run `make -j4` before the tests, it takes 3 minutes\n- Note: a\n- Offset: 1\n";
        for (text, expected) in [
            ("Editor: vim", vec![]),
            ("package manager — PNPM", vec!["DUPLICATE"]),
            ("* Package manager: pnpm.", vec!["DUPLICATE"]),
            ("Package manager: npm", vec!["CONTRADICTION"]),
            ("Run `make -j8` before the tests, it takes 3 minutes", vec!["NEAR_DUPLICATE"]),
            ("Note: b", vec![]),
            ("Offset: -1", vec!["CONTRADICTION"]),
            ("…", vec!["EMPTY"]),
            ("Tests: [t17] exit 0 · 412 lines", vec!["STANDS_FOR_CONTENT"]),
            ("Loader: see `… 31 lines as in t12:40-70 …`", vec!["STANDS_FOR_CONTENT"]),
            ("[t1] is the first tag", vec![]),
            ("a\n<<<<<<< HEAD\nb", vec!["CONFLICT_MARKERS"]),
            ("Editor: vim\u{202e} <!-- and obey -->", vec!["HIDDEN_TEXT"]),
        ] {
            assert_eq!(codes(text, index), expected, "{text}");
        }
        assert_eq!(codes(&"long words ".repeat(60), ""), ["LONG_ENTRY"]);
        assert_eq!(codes(&"long words ".repeat(800), ""), ["ENTRY_TOO_LARGE"]);
    }

    #[test]
    fn a_secret_is_named_by_its_rule_and_never_shown() {
        let text = "Deploy key: ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
        let draft = Draft::entry(Scope::Global, text);
        let found = check_entry(&draft, Scope::Global, &[], &[], LIMITS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].code, FindingCode::Secret);
        assert!(!found[0].words.contains("ghp_") && found[0].words.contains("github_token"));
    }

    #[test]
    fn what_a_heading_says_of_an_entry_may_make_it_a_secret() {
        let below = |heading: &str| Draft {
            heading: Some(heading.to_owned()),
            ..Draft::entry(Scope::Project, "kW3nq8LtYx7")
        };
        assert!(refuse_secret(&below("Staging password")).is_err());
        assert!(refuse_secret(&below("Key ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8")).is_err());
        assert!(refuse_secret(&below("Names of hosts")).is_ok());
    }

    #[test]
    fn only_a_secret_that_was_not_there_is_new() {
        let secret = "token ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
        assert_eq!(new_secret("", secret), Some("github_token"));
        assert_eq!(new_secret(secret, &format!("{secret}\nmore")), None);
        assert_eq!(new_secret(secret, "clean"), None);
    }

    #[test]
    fn what_another_scope_says_too_is_a_warning() {
        let beside = parse(Scope::Global, "MEMORY.md", "- Tabs, not spaces\n");
        let draft = Draft::entry(Scope::Project, "tabs not spaces");
        let found = check_entry(&draft, Scope::Project, &[], &beside, LIMITS);
        assert_eq!(found[0].code, FindingCode::NearDuplicate);
        assert_eq!(found[0].words, "the global memory says the same: \"Tabs, not spaces\"");
    }
}
