//! What changed between two payloads of an object. Pure; the same input gives the same bytes, however fast the machine is.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use similar::TextDiff;

use super::{Hash, Payload};

/// Most lines of both texts together that are compared line by line. In longer texts the changed middle is shown as
/// one change.
const MAX_LINES: usize = 200_000;

/// What changed between two payloads.
#[derive(Debug, Clone, PartialEq)]
pub struct PayloadDiff {
    /// The content.
    pub content: ContentDiff,
    /// Fields that differ, by name.
    pub fields: Vec<FieldChange>,
    /// Additional contents that differ, by name.
    pub additional: Vec<AdditionalChange>,
    /// Hashes of the raw source bytes, if they differ. For a file without text this is the only visible change.
    pub source_hash: Option<(Option<Hash>, Option<Hash>)>,
}

/// What changed in a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentDiff {
    /// Nothing.
    Same,
    /// A unified diff without its two header lines, see [`unified_diff`].
    Changed(String),
    /// It was null (deleted, binary, metadata only) and is now a text; the number of its lines.
    Appeared(u64),
    /// It was a text and is now null; the number of lines it had.
    Vanished(u64),
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// Its name.
    pub name: String,
    /// Its value before; `None` if it was absent.
    pub old: Option<Value>,
    /// Its value after; `None` if it is absent.
    pub new: Option<Value>,
}

/// An additional content that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdditionalChange {
    /// Its name.
    pub name: String,
    /// SHA-256 before; `None` if it was absent.
    pub old: Option<Hash>,
    /// SHA-256 after; `None` if it is absent.
    pub new: Option<Hash>,
    /// The change line by line; an absent text counts as empty.
    pub diff: String,
}

/// Compares two payloads. `context_lines`: unchanged lines around each change.
pub fn diff_payloads(old: &Payload, new: &Payload, context_lines: usize) -> PayloadDiff {
    let content = match (&old.content, &new.content) {
        (None, None) => ContentDiff::Same,
        (None, Some(text)) => ContentDiff::Appeared(count_lines(text)),
        (Some(text), None) => ContentDiff::Vanished(count_lines(text)),
        (Some(one), Some(other)) if one == other => ContentDiff::Same,
        (Some(one), Some(other)) => ContentDiff::Changed(unified_diff(one, other, context_lines)),
    };
    let texts: BTreeSet<&String> = old.additional.keys().chain(new.additional.keys()).collect();
    let text = |name: &String| {
        let (old, new) = (old.additional.get(name), new.additional.get(name));
        let part = |text: Option<&String>| text.map(String::as_str).unwrap_or_default().to_owned();
        let change = || AdditionalChange {
            name: name.clone(),
            old: old.map(Hash::of),
            new: new.map(Hash::of),
            diff: unified_diff(&part(old), &part(new), context_lines),
        };
        (old != new).then(change)
    };
    PayloadDiff {
        content,
        fields: changed_fields(&old.fields, &new.fields),
        additional: texts.into_iter().filter_map(text).collect(),
        source_hash: (old.source_hash != new.source_hash)
            .then(|| (old.source_hash.clone(), new.source_hash.clone())),
    }
}

/// The fields that differ, by name.
pub fn changed_fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<FieldChange> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let field = |name: &String| {
        let (old, new) = (old.get(name), new.get(name));
        let change = || FieldChange { name: name.clone(), old: old.cloned(), new: new.cloned() };
        (old != new).then(change)
    };
    names.into_iter().filter_map(field).collect()
}

/// Unified diff of two texts, split on `\n`, without the two header lines that name files; empty if they are equal.
/// `\ No newline at end of file` follows a last line without one.
///
/// The work is bounded by the number of lines, not by time, so the result does not depend on the machine: beyond
/// 200,000 lines in both texts, everything between the equal start and the equal end is one change.
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

fn count_lines(text: &str) -> u64 {
    text.split_inclusive('\n').count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn payload(content: Option<&str>, fields: Value) -> Payload {
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        Payload { content: content.map(str::to_owned), fields, ..Payload::default() }
    }

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
    fn a_diff_names_fields_and_additional_contents() {
        let mut old = payload(Some("one\ntwo\n"), json!({"a": 1, "gone": null, "same": [1]}));
        let mut new = payload(None, json!({"a": 1.5, "new": "x", "same": [1]}));
        old.additional.insert("short".into(), "s\n".into());
        new.additional.insert("long".into(), "l".into());
        new.source_hash = Some(Hash::of("raw"));
        let diff = diff_payloads(&old, &new, 3);
        assert_eq!(diff.content, ContentDiff::Vanished(2));
        let fields: Vec<_> =
            diff.fields.iter().map(|change| (&*change.name, &change.old, &change.new)).collect();
        assert_eq!(
            fields,
            [
                ("a", &Some(json!(1)), &Some(json!(1.5))),
                ("gone", &Some(json!(null)), &None),
                ("new", &None, &Some(json!("x"))),
            ]
        );
        assert_eq!(diff.additional[0].diff, "@@ -0,0 +1 @@\n+l\n\\ No newline at end of file\n");
        assert_eq!(
            (&diff.additional[1].old, &diff.additional[1].new),
            (&Some(Hash::of("s\n")), &None)
        );
        assert_eq!(diff.source_hash, Some((None, Some(Hash::of("raw")))));
        assert_eq!(diff_payloads(&new, &old, 3).content, ContentDiff::Appeared(2));
        let none = PayloadDiff {
            content: ContentDiff::Same,
            fields: vec![],
            additional: vec![],
            source_hash: None,
        };
        assert_eq!(diff_payloads(&old, &old, 3), none);
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
