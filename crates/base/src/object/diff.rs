//! What changed between two texts and between the fields of two versions. Pure; the same input
//! gives the same bytes on a machine of any speed.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use serde::Serialize;
use serde_json::{Map, Value};
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::group_diff_ops;
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

/// Unified diff of two texts by lines, without the two header lines that name files; empty if they
/// are equal. `\ No newline at end of file` follows a last line without one.
///
/// The number of lines bounds the work, not time, so the result does not depend on the machine:
/// beyond 200,000 lines in both texts together, everything between the equal start and end is one
/// change.
pub fn unified_diff(old: &str, new: &str, context_lines: usize) -> String {
    let (old, new) = (split(old), split(new));
    let is_long = old.len() + new.len() > MAX_LINES;
    let changes = if is_long { changed_middle(&old, &new) } else { list_diff(&old, &new) };
    hunks(changes, context_lines, &old, &new)
}

fn hunks(changes: Vec<DiffOp>, context_lines: usize, old: &[&str], new: &[&str]) -> String {
    let mut text = String::new();
    for hunk in group_diff_ops(changes, context_lines) {
        write_hunk(&mut text, &hunk, old, new);
    }
    text
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

/// Of numbers alone, and not by the name of an algorithm, so that one is compiled, once: it is large.
fn numbered_diff(old: &[usize], new: &[usize]) -> Vec<DiffOp> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_inner().into_ops()
}

/// Share of the characters that two words have in common, in their order: 0 to 1.
pub fn likeness(one: &str, other: &str) -> f32 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    similar::diff_ratio(&list_diff(&one, &other), one.len(), other.len())
}

/// Everything between the equal start and the equal end as one change.
fn changed_middle(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let tail = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = tail.take_while(|(one, other)| one == other).count();
    let (old_len, new_len) = (old.len() - start - end, new.len() - start - end);
    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let change = DiffOp::Replace { old_index: start, old_len, new_index: start, new_len };
    let after = equal(old.len() - end, new.len() - end, end);
    let parts = [(start, equal(0, 0, start)), (old_len + new_len, change), (end, after)];
    parts.into_iter().filter(|(len, _)| *len > 0).map(|(_, part)| part).collect()
}

/// Writes one hunk, as in the unified format of POSIX `diff -u`.
fn write_hunk(text: &mut String, hunk: &[DiffOp], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let range = |first: usize, end: usize| match end - first {
        // An empty range is numbered by the line before it.
        0 => format!("{first},0"),
        1 => (first + 1).to_string(),
        length => format!("{},{length}", first + 1),
    };
    let removed = range(first.old_range().start, last.old_range().end);
    let added = range(first.new_range().start, last.new_range().end);
    text.extend(["@@ -", &removed, " +", &added, " @@\n"]);
    for change in hunk {
        let (old, new) = (&old[change.old_range()], &new[change.new_range()]);
        let parts = match change.tag() {
            DiffTag::Equal => [(' ', old), (' ', &[])],
            _ => [('-', old), ('+', new)],
        };
        for (sign, line) in
            parts.iter().flat_map(|(sign, lines)| lines.iter().map(move |line| (sign, line)))
        {
            text.push(*sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
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
            let (old_lines, new_lines) = (split(&old), split(&new));
            let middle = changed_middle(&old_lines, &new_lines);
            let whole = hunks(middle, context, &old_lines, &new_lines);
            prop_assert_eq!(apply(&old, &whole), new);
        }

        #[test]
        fn a_difference_is_printed_as_the_library_prints_it(
            old in "(([abc]|ab|ba)?\n){0,140}[ab]?",
            new in "(([abc]|ab|ba)?\n){0,140}[ab]?",
            context in 0_usize..5,
        ) {
            let config = similar::TextDiff::configure().newline_terminated(true).clone();
            let (old_lines, new_lines) = (split(&old), split(&new));
            let theirs = config.diff_slices(&old_lines, &new_lines);
            let theirs = theirs.unified_diff().context_radius(context).to_string();
            prop_assert_eq!(unified_diff(&old, &new, context), theirs);
        }
    }
}
