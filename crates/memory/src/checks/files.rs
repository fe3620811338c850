//! Checks a whole memory file, when it is read and after a tool wrote it. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::compare::{Compared, shown};
use super::hidden::hidden_in;
use crate::finding::{FindingCode, MemoryFinding};
use crate::load::unfinished_merge;
use crate::page::{Page, each_said};
use crate::parse::{parse, without_marker};
use crate::scope::Scope;
use base::markdown;
use config::MemorySettings;
use redact::redact_note;

/// Most findings of one kind about one file.
const MOST_ALIKE: usize = 5;

/// The limits on what is injected of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckLimits {
    /// `maxInjectLines`.
    pub lines: u64,
    /// `maxInjectBytes`.
    pub bytes: u64,
}

impl CheckLimits {
    /// The limits from the settings.
    pub fn of(settings: &MemorySettings) -> Self {
        Self { lines: settings.max_inject_lines, bytes: settings.max_inject_bytes }
    }
}

/// Checks a whole file: secrets, size, and index entries that duplicate or contradict each other.
/// [`crate::load`] warns of damage.
///
/// `file`: its path in the scope's folder. At most 5 findings of a kind.
pub fn check_file(scope: Scope, file: &str, text: &str, limits: CheckLimits) -> Vec<MemoryFinding> {
    let mut found = secrets(text);
    let pages = parse(scope, file, text);
    found.extend(hidden(&pages, |_| true));
    if file == scope.index_file() {
        found.extend(size(text, limits));
        found.extend(entries(&pages, |_| true));
    }
    at_most(found)
}

/// Like [`check_file`], for what a call wrote, and with the damage that it left; without secrets,
/// which are refused before the call runs.
///
/// `written`: the texts that it put into the file.
pub fn check_new_lines(
    scope: Scope,
    file: &str,
    text: &str,
    written: &[&str],
    limits: CheckLimits,
) -> Vec<MemoryFinding> {
    let lines: HashSet<&str> = written
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let mut found = damage(text);
    let pages = parse(scope, file, text);
    let is_new = |page: &Page| page.text.lines().any(|line| lines.contains(line.trim()));
    found.extend(hidden(&pages, is_new));
    if file == scope.index_file() {
        found.extend(size(text, limits));
        found.extend(entries(&pages, is_new));
    }
    at_most(found)
}

fn damage(text: &str) -> Vec<MemoryFinding> {
    let mut found = Vec::new();
    if let Some((line, words)) = unfinished_merge(text) {
        found.push(line_of(MemoryFinding::new(FindingCode::ConflictMarkers, words), line));
    }
    // Front matter stands at the beginning, so a text without it need not be parsed for it.
    if text.trim_start_matches('\u{feff}').starts_with("---") {
        let front = markdown::parse(text).front_matter;
        if let Some(problem) = front.and_then(|front| front.problem) {
            let words = format!("the front matter cannot be read: {}", problem.message);
            found.push(line_of(MemoryFinding::new(FindingCode::FrontMatter, words), problem.line));
        }
    }
    found
}

/// The lines that seem to hold a secret, each with the rule that found it.
fn secrets(text: &str) -> Vec<MemoryFinding> {
    let (lines, rules) = secret_lines(text);
    let found = lines.into_iter().map(|line| {
        let words = format!(
            "the line looks like it holds a secret ({}), so the model does not get its entry: take it out, and change the secret if others may have seen it",
            rules.join(", ")
        );
        line_of(MemoryFinding::new(FindingCode::Secret, words), line)
    });
    found.collect()
}

/// The lines of a text that look like they hold a secret, from 1, and the rules that found them.
pub(crate) fn secret_lines(text: &str) -> (BTreeSet<usize>, Vec<&'static str>) {
    let redacted = redact_note(text);
    let Some(without) = redacted.text else { return Default::default() };
    let changed =
        text.lines().zip(without.lines()).zip(1..).filter(|((one, other), _)| one != other);
    (changed.map(|(_, line)| line).collect(), redacted.counts.into_keys().collect())
}

/// Pages whose text hides something, each told once.
fn hidden(pages: &[Page], is_new: impl Fn(&Page) -> bool) -> Vec<MemoryFinding> {
    let found = pages.iter().filter(|page| is_new(page)).filter_map(|page| {
        let (line, words) = hidden_in(&page.text)?;
        let line = page.place.line as usize + line;
        Some(line_of(MemoryFinding::new(FindingCode::HiddenText, words), line))
    });
    found.collect()
}

fn size(text: &str, limits: CheckLimits) -> Option<MemoryFinding> {
    let (lines, bytes) = (text.lines().count() as u64, text.len() as u64);
    (lines > limits.lines || bytes > limits.bytes).then(|| {
        let words = format!(
            "the file has {lines} lines and {bytes} bytes, of which at most {} and {} are injected: move details into topic files",
            limits.lines, limits.bytes
        );
        MemoryFinding::new(FindingCode::AboveCaps, words)
    })
}

/// Entries that duplicate or contradict an earlier one; each pair once, reported at the new entry.
fn entries(pages: &[Page], is_new: impl Fn(&Page) -> bool) -> Vec<MemoryFinding> {
    let mut found = Vec::new();
    let mut by_said: HashMap<(&[String], Vec<String>), &Page> = HashMap::new();
    let mut by_key: HashMap<String, Vec<Compared<'_>>> = HashMap::new();
    for page in pages {
        let said = page.announced(usize::MAX) + &without_marker(&page.text);
        let said: Vec<String> = each_said(&said).collect();
        if said.is_empty() {
            continue;
        }
        let first = by_said.entry((&page.place.headings, said)).or_insert(page);
        if !std::ptr::eq(*first, page) {
            found.extend(pair(page, first, &is_new, FindingCode::Duplicate));
            continue;
        }
        let Some(key) = page.folded_key() else { continue };
        let (same_key, page) = (by_key.entry(key).or_default(), Compared::new(page));
        if let Some(other) = same_key.iter().find(|other| page.contradicts(other)) {
            found.extend(pair(page.page, other.page, &is_new, FindingCode::Contradiction));
        }
        if same_key.len() < MOST_ALIKE {
            same_key.push(page);
        }
    }
    found
}

fn pair(
    later: &Page,
    earlier: &Page,
    is_new: &impl Fn(&Page) -> bool,
    code: FindingCode,
) -> Option<MemoryFinding> {
    let (at, other) = if is_new(later) { (later, earlier) } else { (earlier, later) };
    let how = match code {
        FindingCode::Duplicate => "says the same as",
        _ => "gives its key another value than",
    };
    is_new(at).then(|| {
        let words = format!("the entry {how} line {}: {}", other.place.line, shown(other));
        line_of(MemoryFinding::new(code, words), at.place.line as usize)
    })
}

fn line_of(finding: MemoryFinding, line: usize) -> MemoryFinding {
    MemoryFinding { line: Some(line), ..finding }
}

/// The first findings of each kind, and the number of further ones.
fn at_most(found: Vec<MemoryFinding>) -> Vec<MemoryFinding> {
    let mut counts: BTreeMap<FindingCode, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for finding in found {
        let count = counts.entry(finding.code).or_default();
        *count += 1;
        if *count <= MOST_ALIKE {
            kept.push(finding);
        }
    }
    for (code, count) in counts {
        if let Some(last) =
            kept.iter_mut().rfind(|one| one.code == code).filter(|_| count > MOST_ALIKE)
        {
            last.words = format!("{}, and {} more like it", last.words, count - MOST_ALIKE);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CheckLimits = CheckLimits { lines: 200, bytes: 8_192 };

    fn seen(found: &[MemoryFinding]) -> Vec<(&'static str, Option<usize>)> {
        found.iter().map(|finding| (finding.code.as_str(), finding.line)).collect()
    }

    #[test]
    fn a_file_is_checked_for_secrets_and_conflicting_entries() {
        let text = "---\na: [\n---\n- CI: green\n<<<<<<< HEAD\n- CI: red\n=======\n>>>>>>> x\n- key ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n- one\n- One!\n";
        let found = seen(&check_file(Scope::Project, "MEMORY.md", text, LIMITS));
        let codes: Vec<&str> = found.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, ["SECRET", "CONTRADICTION", "DUPLICATE"], "{found:?}");
        assert_eq!((found[0].1, found[2].1), (Some(9), Some(11)));
        let left = seen(&check_new_lines(Scope::Project, "a.md", text, &[], LIMITS));
        assert_eq!(left, [("CONFLICT_MARKERS", Some(5)), ("FRONT_MATTER", Some(2))]);
    }

    #[test]
    fn a_file_above_the_caps_is_told_with_its_size() {
        let text = "- an entry of some words\n".repeat(201);
        let found = check_file(Scope::Global, "MEMORY.md", &text, LIMITS);
        assert_eq!(found[0].code, FindingCode::AboveCaps);
        assert!(found[0].words.starts_with("the file has 201 lines and 5025 bytes"), "{found:?}");
        assert_eq!(seen(&found)[1].0, "DUPLICATE");
        assert_eq!(found.len(), 6);
        assert!(found[5].words.ends_with("and 195 more like it"), "{}", found[5].words);
    }

    #[test]
    fn of_what_a_call_wrote_only_its_own_entries_are_told() {
        let text = "- a: 1\n- a: 2\n- b: 1\n- b: 2\n";
        let found = check_new_lines(Scope::Project, "MEMORY.md", text, &["- b: 2\n"], LIMITS);
        assert_eq!(seen(&found), [("CONTRADICTION", Some(4))]);
        let moved = check_new_lines(Scope::Project, "MEMORY.md", text, &["- a: 1"], LIMITS);
        assert_eq!(seen(&moved), [("CONTRADICTION", Some(1))]);
        assert_eq!(check_new_lines(Scope::Project, "a.md", text, &["- b: 2"], LIMITS), []);
    }
}
