//! How a name is read that somebody typed: as it stands, and in the forms in which our lines, models
//! and people write names of a content or of a part of it: `[t1] bash`, `t7:1-10`, `src/a.rs#L10`.
//!
//! Parses only. Whoever knows which objects there are takes the first reading that names one, so
//! that a path which looks like one of these forms wins over the form.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::part::{AROUND, Part};
use super::{Handle, Name, VersionSelector};

/// Most places at which a name is divided from its lines: the last ones of it.
const MAX_PLACES: usize = 8;

/// One way to read a text as the name of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The name.
    pub name: Name,
    /// The lines that stand with it, as [`Part::parse`] reads them.
    pub lines: Option<String>,
}

/// What begins the lines after a name.
const DIVIDERS: &[char] = &[':', '#', ',', '(', '['];

/// `lines 5-9 of NAME`.
static LINES_OF: LazyLock<Regex> =
    LazyLock::new(|| form(r"(?is)^(lines?\s.*\d)\s+(?:of|in|from)\s+(\S.*)$"));
/// A line of ours, by its head: `[t31-t44] 6 steps: …`.
static HEAD: LazyLock<Regex> = LazyLock::new(|| form(r"(?i)^\[([tfs]\d+(?:-[tfs]?\d+)?)\]"));
/// A line of ours that stands for lines, by where these are: `… 31 lines as in f3:40-70 (t12) …`.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    form(r"^(?:…|([tfs]\d+) unchanged; lines? ([\d-]+)).*?(?:\b([tfs]\d+):([\d:-]*\d)|$)")
});
/// What divides the names of a list.
static COMMA: LazyLock<Regex> = LazyLock::new(|| form(r"\s*(?:[,;\n]|\s(?:and|&)\s)\s*"));
static WORD: LazyLock<Regex> = LazyLock::new(|| form(r"\S+"));
/// What stands around a handle in a sentence.
const BESIDE: &[char] = &['.', ':', '·', '!', '?', '@', '#', '-'];

/// Most commas in a name of a list, so that a long list takes no longer than its names do.
const MAX_COMMAS: usize = 8;

fn form(text: &str) -> Regex {
    Regex::new(text).expect("constants that tests compile")
}

impl Reading {
    /// The ways to read a text as one name, the most literal first.
    pub fn all(text: &str) -> Vec<Self> {
        let text = text.trim();
        let line = text.lines().next().unwrap_or_default();
        let mut found: Vec<(Name, Option<&str>)> = literal(text).map(|name| (name, None)).collect();
        let mut add = |name, lines| {
            let names = literal(name).chain(plain(name));
            found.extend(names.map(|name| (name, Some(lines))));
        };
        if let Some(place) = PLACE.captures(line) {
            for (name, lines) in [(1, 2), (3, 4)] {
                if let (Some(name), Some(lines)) = (place.get(name), place.get(lines)) {
                    add(name.as_str(), lines.as_str());
                }
            }
        }
        for (name, lines) in divided(line) {
            add(name, lines);
        }
        if let Some((_, [lines, name])) = LINES_OF.captures(line).map(|part| part.extract()) {
            add(name, lines);
        }
        found.extend(plain(line).map(|name| (name, None)));
        let mut readings: Vec<Self> = Vec::new();
        for (name, lines) in found.into_iter().filter(|(name, _)| !name.text.is_empty()) {
            let reading = Self { name, lines: lines.map(str::to_owned) };
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        readings
    }

    /// The names of a list, each with the lines behind it: `t7:1-10, t9`. `is_name`: whether a text
    /// names something, so that a name with a few commas stays whole.
    pub fn listed<E>(
        text: &str,
        mut is_name: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<Vec<&str>, E> {
        let pieces = pieces(text);
        let mut names = Vec::new();
        let mut next = 0;
        while let Some(first) = pieces.get(next) {
            let mut end = next;
            let longer = pieces.iter().enumerate().skip(next + 1).take(MAX_COMMAS).rev();
            for (longer, last) in longer {
                if is_name(&text[first.start..last.end])? {
                    end = longer;
                    break;
                }
            }
            names.push(&text[first.start..pieces[end].end]);
            next = end + 1;
        }
        Ok(names)
    }
}

/// Where the pieces of a list are. Lines belong to the name before them.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let ends = COMMA.find_iter(text).map(|comma| comma.range());
    for comma in ends.chain(std::iter::once(text.len()..text.len())) {
        let piece = start..comma.start;
        start = comma.end;
        match pieces.last_mut() {
            Some(name) if Part::parse(&text[piece.clone()]).is_some() => name.end = piece.end,
            _ if trimmed(&text[piece.clone()]).is_empty() => {}
            _ => pieces.push(piece),
        }
    }
    if pieces.len() > 1 {
        return pieces;
    }
    // `t1 t2`: blanks divide handles alone, because paths may hold them.
    let words: Vec<Range<usize>> = WORD.find_iter(text).map(|word| word.range()).collect();
    let is_handle = |word: &Range<usize>| {
        let head = text[word.clone()].split([':', '@']).next();
        head.and_then(handle).is_some()
    };
    if words.len() > 1 && words.iter().all(is_handle) { words } else { pieces }
}

/// A text divided into a name and the lines behind it, wherever these can be read; the shortest
/// lines first. In a line of ours, only lines that it names itself.
fn divided(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let head = HEAD.find(text).map_or(0, |head| head.end());
    let places = text
        .char_indices()
        .rev()
        .filter(|(at, found)| *at > 0 && (DIVIDERS.contains(found) || found.is_whitespace()));
    let divided = places.filter_map(move |(at, found)| {
        let (before, lines) = (text[..at].trim_end(), text[at + found.len_utf8()..].trim());
        let is_named = head == 0 || before.len() == head || before.ends_with('·');
        let name = before.trim_end_matches(|c: char| is_around(c) || BESIDE.contains(&c));
        (is_named && !name.is_empty() && Part::parse(lines).is_some()).then_some((name, lines))
    });
    divided.take(MAX_PLACES)
}

/// A name as it stands, and as that of a version.
fn literal(text: &str) -> impl Iterator<Item = Name> {
    let whole = Name { text: text.to_owned(), version: VersionSelector::Latest };
    std::iter::once(whole).chain(Name::parse(text).ok())
}

/// A name without what stands around it in a sentence, and a handle in its own form: `"T1"`, `t01`,
/// `[t1] bash`.
fn plain(text: &str) -> impl Iterator<Item = Name> {
    let head = HEAD.captures(text).and_then(|found| Some(found.get(1)?.as_str()));
    let bare = trimmed(text).trim_end_matches(|c: char| is_around(c) || BESIDE.contains(&c));
    head.into_iter().chain([bare]).filter_map(|name| {
        let name = Name::parse(name).ok()?;
        let text = handle(&name.text).map_or(name.text, |handle| handle.to_string());
        Some(Name { text, version: name.version })
    })
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(is_around)
}

fn is_around(found: char) -> bool {
    found.is_whitespace() || AROUND.contains(&found)
}

/// A handle as people write it: in upper case, with zeros or other signs before its number.
fn handle(text: &str) -> Option<Handle> {
    let text = trimmed(text).to_lowercase();
    let text = text.trim_start_matches(['#', '@']);
    let (kind, number) = (text.get(..1)?, text.get(1..)?);
    Handle::parse(&format!("{kind}{}", number.trim_start_matches(['-', '#', '0'])))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first reading whose name is one of these, as `NAME` or `NAME LINES`.
    fn read(text: &str, known: &[&str]) -> String {
        let found =
            Reading::all(text).into_iter().find(|reading| known.contains(&&*reading.name.text));
        let Some(Reading { name, lines }) = found else { return "nothing".to_owned() };
        let parts = lines.map(|lines| format!(" {:?}", Part::parse(&lines).unwrap()));
        format!("{}{}{}", name.text, name.version, parts.unwrap_or_default())
    }

    #[test]
    fn forms_that_our_lines_print_name_what_they_stand_for() {
        let known = ["t1", "t7", "t17", "f3", "s2", "t31-t44", "t12"];
        for (text, expected) in [
            ("t7:1-10", "t7 [Lines(1, 10)]"),
            ("(t7:2-385)", "t7 [Lines(2, 385)]"),
            ("f3@-1:5-9", "f3@-1 [Lines(5, 9)]"),
            ("f3@12", "f3@12"),
            ("t1:1:3000-4000", "t1 [Columns(1, 3000, Some(4000))]"),
            ("[t1] bash", "t1"),
            ("[t17] bash · lines 1-40 of 412", "t17 [Lines(1, 40)]"),
            ("[t12] f3 src/main.rs · lines 1-210", "t12 [Lines(1, 210)]"),
            ("[t17] exit 0 · 412 lines · last: \"lines 3-5\"", "t17"),
            ("[t19] ok · 1 image", "t19"),
            ("[f3] src/main.rs changed on disk after t12 (+4 -1):", "f3"),
            ("[t31-t44] s2 · 6 steps: read f3 src/main.rs, edit f3 (+12 -4)", "t31-t44"),
            ("[s2] turns 1-4 in full · 212 messages", "s2"),
            ("… 1,240 lines between (t17:81-1320) …", "t17 [Lines(81, 1320)]"),
            ("… 3,100 characters between (t17:5:201-3300) …", "t17 [Columns(5, 201, Some(3300))]"),
            ("… 31 lines as in f3:40-70 (t12), from \"fn main() {\" …", "f3 [Lines(40, 70)]"),
            (
                "f3 unchanged; lines 1-210 stand in the read result above (t12).",
                "f3 [Lines(1, 210)]",
            ),
        ] {
            let known: Vec<&str> = known.iter().copied().chain(["t19"]).collect();
            assert_eq!(read(text, &known), expected, "{text}");
        }
    }

    #[test]
    fn names_are_read_as_models_and_people_write_them() {
        let known =
            ["t7", "f3", "src/a.rs", "my file 2", r"C:\x\y", "turns 3-5", "a,b.txt", "notes"];
        for (text, expected) in [
            ("T7", "t7"),
            ("`t7`", "t7"),
            ("\"t7\"", "t7"),
            ("t07", "t7"),
            ("#t7", "t7"),
            ("t7.", "t7"),
            ("t7 lines 1-10", "t7 [Lines(1, 10)]"),
            ("t7, lines 1-10", "t7 [Lines(1, 10)]"),
            ("t7 (lines 1-10)", "t7 [Lines(1, 10)]"),
            ("t7[1-10]", "t7 [Lines(1, 10)]"),
            ("`t7`:1-10", "t7 [Lines(1, 10)]"),
            ("[t7]:1-10", "t7 [Lines(1, 10)]"),
            ("t7 1-10", "t7 [Lines(1, 10)]"),
            ("T7#L10-L20", "t7 [Lines(10, 20)]"),
            ("t7:390-", "t7 [From(390)]"),
            ("t7:-50", "t7 [Last(50)]"),
            ("t7:1-10,20-30", "t7 [Lines(1, 10), Lines(20, 30)]"),
            ("lines 5-9 of t7", "t7 [Lines(5, 9)]"),
            ("src/a.rs:10", "src/a.rs [Lines(10, 10)]"),
            ("src/a.rs:10:5", "src/a.rs [Place(10, 5)]"),
            ("src/a.rs:10:5:", "src/a.rs [Place(10, 5)]"),
            ("src/a.rs#L10-20", "src/a.rs [Lines(10, 20)]"),
            ("src/a.rs lines 10 to 20", "src/a.rs [Lines(10, 20)]"),
            ("src/a.rs:10–20", "src/a.rs [Lines(10, 20)]"),
            (r"C:\x\y:10-20", r"C:\x\y [Lines(10, 20)]"),
            ("my file 2 lines 1-10", "my file 2 [Lines(1, 10)]"),
            ("turns 3-5", "turns 3-5"),
            ("F3@2026-11-21T10:00:00Z", "f3@2026-11-21T10:00:00.000Z"),
            ("notes@-1#5", "notes@-1 [Lines(5, 5)]"),
            ("t99", "nothing"),
            ("", "nothing"),
        ] {
            assert_eq!(read(text, &known), expected, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_there_wins_over_a_form() {
        let both = ["t7", "t7:1-10", "f3@12", "f3", "a.rs:10", "a.rs", "[t1] bash", "t1"];
        for text in ["t7:1-10", "f3@12", "a.rs:10", "[t1] bash"] {
            assert_eq!(read(text, &both), text);
        }
    }

    #[test]
    fn lists_are_divided_at_what_is_no_part_of_a_name() {
        let known = ["a,b.txt", "salt and pepper.md"];
        let listed = |text| Reading::listed::<()>(text, |name| Ok(known.contains(&name))).unwrap();
        for (text, expected) in [
            ("t1, t2", &["t1", "t2"][..]),
            ("t7:1-10, t9", &["t7:1-10", "t9"]),
            ("t7:1-10, 20-30; t9", &["t7:1-10, 20-30", "t9"]),
            ("t1 and t2 & t3", &["t1", "t2", "t3"]),
            ("t1\nt2\n", &["t1", "t2"]),
            ("t1 t2:5", &["t1", "t2:5"]),
            ("a,b.txt, t1", &["a,b.txt", "t1"]),
            ("t1, salt and pepper.md", &["t1", "salt and pepper.md"]),
            ("my file", &["my file"]),
            ("", &[]),
        ] {
            assert_eq!(listed(text), expected, "{text}");
        }
    }

    #[test]
    fn a_long_list_asks_a_few_times_for_each_name() {
        let text = (0..500).map(|at| format!("a/{at}.txt")).collect::<Vec<_>>().join(", ");
        let mut asked = 0;
        let names = Reading::listed::<()>(&text, |name| {
            asked += 1;
            assert!(name.len() < 200, "{name}");
            Ok(false)
        });
        assert_eq!(names.unwrap().len(), 500);
        assert!(asked <= 500 * MAX_COMMAS, "{asked}");
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn no_text_makes_reading_a_name_panic(text in "[a-f0-9tTs@:,#. é…·\\[\\]()\n-]{0,24}") {
            for reading in Reading::all(&text) {
                prop_assert!(!reading.name.text.is_empty());
                prop_assert!(reading.lines.is_none_or(|lines| Part::parse(&lines).is_some()));
            }
            let _ = Reading::listed::<()>(&text, |_| Ok(false));
        }
    }
}
