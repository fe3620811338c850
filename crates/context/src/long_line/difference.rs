//! The long lines of a unified diff, shown around what changed in them. Pure text.

use std::ops::Range;

use super::{around, ends, shown};
use base::object::Handle;
use session::{Columns, LINE_CHARS};

/// The lines of a unified diff of a file. Of a long line, what surrounds its change is shown; what
/// lies between is named in the new text, and only counted in the old one, which is no longer there.
pub fn difference(unified: &str, file: Handle) -> Vec<String> {
    let lines: Vec<&str> = unified.lines().collect();
    let mut cut = Vec::with_capacity(lines.len());
    let (mut next, mut number) = (0, 0);
    while next < lines.len() {
        let line = lines[next];
        if let Some(first) = first_new_line(line) {
            number = first;
            cut.push(line.to_owned());
            next += 1;
        } else if let Some(same) = line.strip_prefix(' ') {
            let columns = ends(same, number, LINE_CHARS);
            cut.push(format!(" {}", shown(same, &columns, Some(file), number)));
            (next, number) = (next + 1, number + 1);
        } else {
            let is_change = |line: &&&str| !line.starts_with(' ') && first_new_line(line).is_none();
            let change = lines[next..].iter().take_while(is_change).count().max(1);
            number = push_change(&mut cut, &lines[next..next + change], file, number);
            next += change;
        }
    }
    cut
}

/// Adds removed and added lines; returns the number of the next line of the new text.
fn push_change(cut: &mut Vec<String>, lines: &[&str], file: Handle, mut number: u64) -> u64 {
    let of = |sign: char| lines.iter().filter_map(move |line| line.strip_prefix(sign));
    let (removed, added): (Vec<&str>, Vec<&str>) = (of('-').collect(), of('+').collect());
    let (mut olds, mut news) = (0, 0);
    for line in lines {
        if let Some(old) = line.strip_prefix('-') {
            let columns = changed(old, added.get(olds).copied(), 1);
            cut.push(format!("-{}", shown(old, &columns, None, 1)));
            olds += 1;
        } else if let Some(new) = line.strip_prefix('+') {
            let columns = changed(new, removed.get(news).copied(), number);
            cut.push(format!("+{}", shown(new, &columns, Some(file), number)));
            (news, number) = (news + 1, number + 1);
        } else {
            cut.push((*line).to_owned());
        }
    }
    number
}

/// The columns around what differs from another line, or the ends if there is none.
fn changed(line: &str, other: Option<&str>, number: u64) -> Vec<Columns> {
    match other {
        Some(other) => around(line, number, LINE_CHARS, [differing(line, other)]),
        None => ends(line, number, LINE_CHARS),
    }
}

/// The part of a line that lies between what it has in common with another one.
fn differing(line: &str, other: &str) -> Range<usize> {
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
    };
    let start = same(&mut line.chars().zip(other.chars()));
    let (rest, of_other) = (&line[start..], &other[start..]);
    let end = same(&mut rest.chars().rev().zip(of_other.chars().rev()));
    start..line.len() - end
}

/// The number of the first new line of a hunk, by its heading: `@@ -1,2 +3,4 @@`.
fn first_new_line(line: &str) -> Option<u64> {
    let place = line.strip_prefix("@@ -")?.split_once(" +")?.1;
    place.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use base::object::unified_diff;

    fn cut(old: &str, new: &str) -> Vec<String> {
        difference(&unified_diff(old, new, 2), Handle::parse("f3").unwrap())
    }

    #[test]
    fn a_change_in_a_long_line_is_shown_with_what_surrounds_it() {
        let words: Vec<String> = (0..2_000).map(|n| format!("k{n:04}")).collect();
        let old = format!("first\n{}\nlast\n", words.join(","));
        let new = old.replace("k1000", "changed");
        let lines = cut(&old, &new);
        let [head, first, before, after, last] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((&**head, &**first, &**last), ("@@ -1,3 +1,3 @@", " first", " last"));
        assert!(before.starts_with("-… 5,8") && before.contains(" characters … "), "{before}");
        assert!(before.contains("k0999,k1000,k1001"), "{before}");
        assert!(after.starts_with("+… 5,8"), "{after}");
        assert!(after.contains(" characters between (f3:2:1-58"), "{after}");
        assert!(after.contains("k0999,changed,k1001"), "{after}");
        assert!(before.chars().count() < 450 && after.chars().count() < 450);
        // What is new or gone as a whole is shown by its ends, as are the lines around.
        let long = "x".repeat(5_000);
        let lines = cut(&format!("{long}\na\n"), &format!("{long}\n{long}\n"));
        assert!(lines.iter().all(|line| line.chars().count() < 500), "{lines:?}");
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn short_lines_stay_as_they_are(
            old in prop::collection::vec("[ab@+ -]{0,9}", 0..12),
            new in prop::collection::vec("[ab@+ -]{0,9}", 0..12),
        ) {
            let unified = unified_diff(&old.join("\n"), &new.join("\n"), 2);
            let lines: Vec<&str> = unified.lines().collect();
            prop_assert_eq!(difference(&unified, Handle::parse("f3").unwrap()), lines);
        }

        #[test]
        fn no_characters_make_a_long_change_panic(old in "[aé☂]{300,900}", new in "[aé☂]{300,900}") {
            let _ = cut(&old, &new);
        }
    }
}
