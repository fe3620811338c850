//! What changed between two texts and between the fields of two versions. Pure; the same input
//! gives the same bytes on a machine of any speed.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use serde::Serialize;
use serde_json::{Map, Value};
use similar::{Algorithm, TextDiff, capture_diff_slices};
pub use similar::{DiffOp, DiffTag};

/// Most lines of both texts together to compare line by line. In longer texts, the changed middle
/// is one change.
const MAX_LINES: usize = 200_000;

/// A field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Its name.
    pub name: String,
    /// Its value before; `None` if it was absent.
    pub before: Option<Value>,
    /// Its value after; `None` if it is absent.
    pub after: Option<Value>,
}

/// The fields that differ, by name.
pub fn changed_fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<FieldChange> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let field = |name: &String| {
        let (before, after) = (old.get(name).cloned(), new.get(name).cloned());
        (before != after).then(|| FieldChange { name: name.clone(), before, after })
    };
    names.into_iter().filter_map(field).collect()
}

/// Unified diff of two texts, split on `
/// `, without the two header lines that name files; empty if they are equal. `\ No newline at end
/// of file` follows a last line without one.
///
/// The number of lines bounds the work, not time, so the result does not depend on the machine:
/// beyond 200,000 lines in both texts together, everything between the equal start and end is one
/// change.
pub fn unified_diff(old: &str, new: &str, context_lines: usize) -> String {
    let (old, new) = (split(old), split(new));
    if old.len() + new.len() > MAX_LINES {
        return whole_change(&old, &new, context_lines);
    }
    let mut config = TextDiff::configure();
    config.newline_terminated(true);
    let diff = config.diff_slices(&old, &new);
    diff.unified_diff().context_radius(context_lines).to_string()
}

/// How one list becomes another, by Myers' algorithm.
pub fn list_diff<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let numbered: Vec<usize> = old
        .iter()
        .chain(new)
        .map(|item| {
            let next = numbers.len();
            *numbers.entry(item).or_insert(next)
        })
        .collect();
    let (old, new) = numbered.split_at(old.len());
    numbered_diff(old, new)
}

/// Of numbers alone, so that the algorithm is compiled once: it is large.
fn numbered_diff(old: &[usize], new: &[usize]) -> Vec<DiffOp> {
    capture_diff_slices(Algorithm::Myers, old, new)
}

/// Share of the characters that two words have in common, in their order: 0 to 1.
pub fn likeness(one: &str, other: &str) -> f32 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    similar::diff_ratio(&list_diff(&one, &other), one.len(), other.len())
}

/// One hunk: the equal lines at both ends as context, everything between as removed and added.
fn whole_change(old: &[&str], new: &[&str], context_lines: usize) -> String {
    let same = |one: &[&str], other: &[&str]| -> usize {
        one.iter().zip(other).take_while(|(one, other)| one == other).count()
    };
    let start = same(old, new);
    let tail = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = tail.take_while(|(one, other)| one == other).count();
    if start == old.len() && start == new.len() {
        return String::new();
    }
    let before = start.saturating_sub(context_lines)..start;
    let (removed, added) = (start..old.len() - end, start..new.len() - end);
    let after = removed.end..(removed.end + context_lines).min(old.len());
    let range = |changed: &std::ops::Range<usize>| {
        let length = before.len() + changed.len() + after.len();
        // An empty range is numbered by the line before it.
        let first = if length == 0 { before.start } else { before.start + 1 };
        if length == 1 { first.to_string() } else { format!("{first},{length}") }
    };
    let mut text = format!("@@ -{} +{} @@\n", range(&removed), range(&added));
    let parts = [
        (' ', &old[before.clone()]),
        ('-', &old[removed.clone()]),
        ('+', &new[added.clone()]),
        (' ', &old[after.clone()]),
    ];
    for (sign, lines) in parts {
        for line in lines {
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_differ_as_patch_wants_them() {
        insta::assert_snapshot!(unified_diff("a\nb\nc\nd\ne", "a\nb\nC\nd\ne\n", 1), @r"
        @@ -2,4 +2,4 @@
         b
        -c
        +C
         d
        -e
        \ No newline at end of file
        +e
        ");
        assert_eq!(unified_diff("same\n", "same\n", 3), "");
        assert_eq!(unified_diff("a\rb\n", "a\rc\n", 3), "@@ -1 +1 @@\n-a\rb\n+a\rc\n");
    }

    #[test]
    fn the_fields_that_differ_have_both_values() {
        let fields = |fields: Value| fields.as_object().unwrap().clone();
        let old = fields(json!({"a": 1, "gone": null, "same": [1]}));
        let new = fields(json!({"a": 1.5, "new": "x", "same": [1]}));
        let changed = changed_fields(&old, &new);
        let changed: Vec<_> =
            changed.iter().map(|change| (&*change.name, &change.before, &change.after)).collect();
        assert_eq!(
            changed,
            [
                ("a", &Some(json!(1)), &Some(json!(1.5))),
                ("gone", &Some(json!(null)), &None),
                ("new", &None, &Some(json!("x"))),
            ]
        );
    }

    #[test]
    fn huge_texts_show_their_middle_as_one_change() {
        let lines = |middle: &str| format!("a\n{}b\n", middle.repeat(MAX_LINES));
        let diff = unified_diff(&lines("x\n"), &lines("y\n"), 3);
        assert!(diff.starts_with("@@ -1,200002 +1,200002 @@\n a\n-x\n-x\n"), "{}", &diff[..60]);
        assert!(diff.ends_with("+y\n+y\n b\n"));
        assert_eq!(unified_diff(&lines("x\n"), &lines("x\n"), 3), "");
    }

    /// Applies hunks as `patch` does, without searching.
    fn apply(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut text, mut next) = (String::new(), 0);
        let lines: Vec<&str> = diff.split_inclusive('\n').collect();
        for (place, line) in lines.iter().enumerate() {
            let ends = lines.get(place + 1).is_some_and(|line| line.starts_with('\\'));
            let body = if ends { line[1..].trim_end_matches('\n') } else { &line[1..] };
            match &line[..1] {
                "@" => {
                    let range = line.split(['-', ' ']).nth(2).unwrap();
                    let (first, length) = range.split_once(',').unwrap_or((range, "1"));
                    let first = first.parse::<usize>().unwrap();
                    let start = if length == "0" { first } else { first - 1 };
                    text.extend(old[next..start].iter().copied());
                    next = start;
                }
                "+" => text.push_str(body),
                "-" | " " => {
                    assert_eq!(old[next], body);
                    text.push_str(if line.starts_with(' ') { body } else { "" });
                    next += 1;
                }
                _ => {}
            }
        }
        text.extend(old[next..].iter().copied());
        text
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn a_difference_leads_from_one_text_to_the_other(
            old in "([ab]?\n){0,8}[ab]?",
            new in "([ab]?\n){0,8}[ab]?",
            context in 0_usize..3,
        ) {
            prop_assert_eq!(apply(&old, &unified_diff(&old, &new, context)), &*new);
            let whole = whole_change(&split(&old), &split(&new), context);
            prop_assert_eq!(apply(&old, &whole), new);
        }
    }
}
