//! The files named in a patch in the format of Codex's `apply_patch`, and what it makes of them.
//! Source: `codex-rs/apply-patch` in `openai/codex`.

use super::touch::{FileAccess, Touch};

/// What stands before the path of a file.
const HEADINGS: [(&str, FileAccess); 4] = [
    ("*** Add File: ", FileAccess::Write),
    ("*** Update File: ", FileAccess::Edit),
    (DELETE, FileAccess::Edit),
    (MOVE, FileAccess::Write),
];
/// What stands before the path of a file that is deleted.
const DELETE: &str = "*** Delete File: ";
/// What stands before a file's new path, right below its heading.
const MOVE: &str = "*** Move to: ";
/// Begins a hunk. A line to search for first may follow.
const HUNK: &str = "@@";
/// A mark after lines at the end of a file.
const END_OF_FILE: &str = "*** End of File";

/// The files of a patch, in order. A move takes one file away and writes another.
pub(super) fn files(patch: &str) -> Vec<Touch<'_>> {
    let mut found: Vec<Touch<'_>> = Vec::new();
    for line in patch.lines().map(trimmed) {
        let heading = HEADINGS
            .iter()
            .filter(|(heading, _)| *heading != MOVE || !found.is_empty())
            .find_map(|(heading, access)| Some((line.strip_prefix(heading)?, *access)));
        found.extend(heading.map(|(path, access)| Touch { path, access }));
    }
    found
}

/// A line as hosts look for a heading in it: JavaScript's blanks are ours and the byte order mark.
fn trimmed(line: &str) -> &str {
    line.trim_matches(|char: char| char.is_whitespace() || char == '\u{feff}')
}

/// What a patch makes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patched {
    /// It has this text.
    Text(String),
    /// It is deleted.
    Gone,
}

/// What a whole patch makes of one of its files, given its previous text. `None` if uncertain: the
/// file is moved there, or the text does not contain the patch's lines exactly.
pub(super) fn apply(whole: &str, path: &str, text: Option<&str>) -> Option<Patched> {
    let mut lines = whole.lines();
    let heading = lines.by_ref().find_map(|line| {
        let line = trimmed(line);
        HEADINGS.iter().find(|(heading, _)| line.strip_prefix(heading) == Some(path))
    })?;
    let is_moved = lines.clone().next().is_some_and(|line| trimmed(line).starts_with(MOVE));
    let body: Vec<&str> = lines
        .take_while(|line| !line.starts_with("*** ") || line.starts_with(END_OF_FILE))
        .filter(|line| !line.starts_with(END_OF_FILE))
        .collect();
    match *heading {
        (MOVE, _) => None,
        (DELETE, _) => Some(Patched::Gone),
        (_, FileAccess::Write) => {
            let added: Option<Vec<&str>> = body.iter().map(|line| line.strip_prefix('+')).collect();
            Some(Patched::Text(ended(&added?)))
        }
        _ if is_moved => Some(Patched::Gone),
        _ => changed(&body, text?).map(Patched::Text),
    }
}

/// A text with a file's hunks applied, each where its old lines first occur after the previous
/// hunk.
fn changed(body: &[&str], text: &str) -> Option<String> {
    let known: Vec<&str> = text.lines().collect();
    let mut made: Vec<&str> = Vec::new();
    let mut at = 0;
    let (first, hunks) = body.split_first()?;
    let mut head = first.strip_prefix(HUNK)?;
    for hunk in hunks.split_inclusive(|line| line.starts_with(HUNK)) {
        let next = hunk.last().and_then(|line| line.strip_prefix(HUNK));
        let hunk = if next.is_some() { &hunk[..hunk.len() - 1] } else { hunk };
        let without = |mark: char| {
            let kept = hunk.iter().filter(move |line| !line.starts_with(mark));
            kept.map(|line| line.get(1..).unwrap_or_default()).collect::<Vec<&str>>()
        };
        let (old, new) = (without('+'), without('-'));
        let mut from = at;
        if !head.trim().is_empty() {
            from += known[at..].iter().position(|line| line.trim() == head.trim())? + 1;
        }
        let place =
            from + known[from..].windows(old.len().max(1)).position(|lines| lines == old)?;
        made.extend(&known[at..place]);
        made.extend(new);
        at = place + old.len();
        head = next.unwrap_or_default();
    }
    made.extend(&known[at..]);
    Some(ended(&made))
}

/// Lines as a text that ends with a line feed.
fn ended(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

/// The lines that a patch adds.
pub(super) fn added_lines(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| line.strip_prefix('+'))
}

/// How many lines a patch adds and removes.
pub(super) fn added_removed(patch: &str) -> (u64, u64) {
    let count = |mark: char| patch.lines().filter(|line| line.starts_with(mark)).count() as u64;
    (count('+'), count('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n+more\n*** Add File: b c\n+x\n\
                         *** Update File: d\n*** Move to: e\n@@\n-y\n*** Delete File: f\n*** End Patch";

    #[test]
    fn the_files_of_a_patch_are_named() {
        let found: Vec<_> = files(PATCH).iter().map(|touch| (touch.path, touch.access)).collect();
        let expected = [
            ("src/a.rs", FileAccess::Edit),
            ("b c", FileAccess::Write),
            ("d", FileAccess::Edit),
            ("e", FileAccess::Write),
            ("f", FileAccess::Edit),
        ];
        assert_eq!(found, expected);
        assert_eq!(files("*** Move to: x\nno patch"), []);
    }

    #[test]
    fn blanks_around_a_heading_do_not_hide_its_file() {
        let patch = PATCH.replace("*** ", " \t\u{feff}*** ").replace('\n', " \r\n");
        assert_eq!(files(&patch), files(PATCH));
        assert_eq!(apply(&patch, "d", Some("y\n")), Some(Patched::Gone));
        let patch = "*** Begin Patch\n  *** Update File: a\n@@\n-x\n+y\n*** End Patch";
        assert_eq!(apply(patch, "a", Some("x\n")), Some(Patched::Text("y\n".to_owned())));
    }

    #[test]
    fn a_patch_is_applied_where_its_lines_stand_exactly() {
        let text = |text: &str| Some(Patched::Text(text.to_owned()));
        let of = |path: &str, before: Option<&str>| apply(PATCH, path, before);
        assert_eq!(of("src/a.rs", Some("x\nold\ny\n")), text("x\nnew\nmore\ny\n"));
        assert_eq!(of("src/a.rs", Some("x\n")), None, "the line is not there");
        assert_eq!(of("src/a.rs", None), None);
        assert_eq!(of("b c", None), text("x\n"));
        assert_eq!((of("d", Some("y\n")), of("e", None)), (Some(Patched::Gone), None), "moved");
        assert_eq!(of("f", Some("z\n")), Some(Patched::Gone));
        let hunks = "*** Update File: a\n@@ fn two() {\n-    1\n+    2\n@@\n }\n+end\n*** End of File\n*** End Patch";
        let before = "fn one() {\n    1\n}\nfn two() {\n    1\n}\n";
        let after = "fn one() {\n    1\n}\nfn two() {\n    2\n}\nend\n";
        assert_eq!(apply(hunks, "a", Some(before)), text(after));
        let inserts = "*** Update File: a\n@@\n+where\n*** End Patch";
        assert_eq!(apply(inserts, "a", Some("x\n")), None, "its place is not said");
        assert_eq!(apply("*** Update File: a\n*** End Patch", "a", Some("x\n")), None);
    }

    #[test]
    fn the_lines_of_a_patch_are_counted() {
        assert_eq!(added_removed(PATCH), (3, 2));
        assert_eq!(added_lines(PATCH).collect::<Vec<_>>(), ["new", "more", "x"]);
    }
}
