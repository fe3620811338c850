//! Finds lines of ours that stand for content in texts that are about to be written. Models copy
//! what they see, and such a line has replaced the content in a file before. Pure text.

use std::sync::LazyLock;

use regex::Regex;

/// Lines of the forms in `forms.rs` that stand in place of content.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let between = r"between \([tfs]\d+:[\d-]+( of [\d,]+)?\) ";
    let as_in = r#"as in [tf]\d+:[\d-]+( \(t\d+\))?(, from "[^\n]*")? "#;
    pattern(&[
        r"^\[[tfs]\d+(-[tfs]\d+)?\] .*$",
        &format!(r"^… [\d,]+ \w+ ({between}|{as_in})?…$"),
        r"^… [\d,]+ more changed lines? in f\d+ …$",
        r"^[tfs]\d+ unchanged; line.*$",
    ])
});

/// The form that stands inside a line for a part of it.
static CUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(&[r"… [\d,]+ characters? (between \([tfs]\d+:\d+(:\d+-\d+)?\) )?…"]));

/// What nobody but us writes, anywhere in a line.
static CERTAIN: LazyLock<Regex> = LazyLock::new(|| {
    let head = r"\[[tfs]\d+(?:-[tfs]\d+)?\] ";
    pattern(&[
        &format!(r"{head}(?:exit -?\d+|ok|failed) · (?:[\d,]+ of )?[\d,]+ (?:line|image)"),
        &format!(r"{head}[^\n]{{1,300}}? · lines? \d"),
        &format!(r"{head}(?:s\d+ · )?[\d,]+ steps?: "),
        &format!(r"{head}turns? \d[\d-]* (?:in full|· [\d,]+ lines?:)"),
        &format!(r"{head}[^\n]{{1,300}}? changed on disk"),
        r"… [\d,]+ (?:lines?|characters?) (?:between|as in) \(?[tfs]\d+:",
        r"… [\d,]+ more changed lines? in f\d+ …",
        r"[tfs]\d+ unchanged; lines? \d",
    ])
});

/// Where the part of a line begins that may be cut or paraphrased.
const ENDS_OF_CORE: [&str; 5] = [" · last: \"", ", from \"", " step: ", " steps: ", " · named "];

fn pattern(alternatives: &[&str]) -> Regex {
    Regex::new(&alternatives.join("|")).expect("constants that tests compile")
}

/// The parts of a text of ours that stand for content: whole lines, and marks inside lines that
/// stand for a part.
pub fn stand_ins(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.lines().map(str::trim).filter(|line| FORMS.is_match(line));
    whole.chain(CUT.find_iter(text).map(|found| found.as_str()))
}

/// The first part of any text that certainly is a line of ours, or the beginning of one.
pub fn first_stand_in(text: &str) -> Option<&str> {
    CERTAIN.find(text).map(|found| found.as_str())
}

/// Whether a text may hold a line of ours. Quick, and rarely wrong.
pub fn may_hold_stand_in(text: &str) -> bool {
    static MAY: LazyLock<Regex> =
        LazyLock::new(|| pattern(&[r"\[[tfs]\d", r"…|\\u2026", r"[tfs]\d+ unchanged; line"]));
    MAY.is_match(text)
}

/// A text in a form in which a line of ours is found however it is quoted: in strings of JSON and of
/// programming languages, in here documents, behind a comment sign.
pub fn unquoted(text: &str) -> String {
    static SPELT: LazyLock<Regex> = LazyLock::new(|| pattern(&[r"\\+u\{?([0-9a-fA-F]{4})\}?"]));
    let letter = |found: &regex::Captures<'_>| {
        let number = u32::from_str_radix(&found[1], 16).ok();
        number.and_then(char::from_u32).map(String::from).unwrap_or_default()
    };
    let text = SPELT.replace_all(text, letter);
    let mut unquoted = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !matches!(letter, '\\' | '"' | '\'' | '`')) {
        let letter = if letter.is_whitespace() { ' ' } else { letter };
        if letter != ' ' || !unquoted.ends_with(' ') {
            unquoted.push(letter);
        }
    }
    unquoted
}

/// By what a line of ours is known, [`unquoted`].
pub fn core_of(line: &str) -> String {
    let ends = ENDS_OF_CORE.iter().filter_map(|end| line.find(end));
    unquoted(&line[..ends.min().unwrap_or(line.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms;
    use base::object::Handle;
    use session::{Columns, Cut, LineRange};

    #[test]
    fn every_form_that_stands_for_content_is_known_and_code_is_not() {
        let handle = |name| Handle::parse(name).unwrap();
        let range = LineRange { first: 81, last: 1_320 };
        let lines = [
            forms::output_line(handle("t17"), &crate::bash_result("a")),
            forms::named_output_line(handle("t1"), &crate::bash_result("a"), Some("@a.md")),
            forms::showing_line(Some(handle("t12")), handle("f3"), "src/main.rs", &[range]),
            forms::standing_line(handle("f3"), range, "read", Some(handle("t12"))),
            forms::standing_in_note_line(handle("f3"), range),
            forms::between_line(handle("t17"), range, None),
            forms::between_line(handle("t17"), range, Some(1_400)),
            forms::as_in_line(handle("t12"), range, None, None),
            forms::as_in_line(handle("f3"), range, Some(handle("t12")), None),
            forms::as_in_line(handle("t12"), range, None, Some("say \"hi\"")),
            forms::as_in_line(handle("f3"), range, Some(handle("t12")), Some("fn main() {")),
            forms::fold_line(
                (handle("t31"), handle("t44")),
                handle("s2"),
                6,
                &["read f3".to_owned()],
            ),
            forms::compacted_line(handle("s2"), (1, 4), 212),
            forms::segment_line(handle("s2"), (3, 3), &[range]),
            forms::moved_line(handle("f3"), "src/a.rs", "src/b.rs", None),
            forms::moved_changed_line(handle("f3"), ("a", "b", None), Some(handle("t12")), (4, 1)),
            forms::kept_line(handle("f3"), "src/main.rs", forms::OUT_OF_REACH, Some(handle("t12"))),
            forms::back_line(handle("f3"), "src/main.rs", forms::WITHIN_REACH, None),
            forms::all_changed_line(&[(handle("f3"), "a".into()), (handle("f4"), "b".into())], 3),
            forms::bytes_changed_line(handle("f3"), "a.png", Some(handle("t12")), 18_240),
            forms::bytes_gone_line(handle("f3"), "a.png"),
            forms::bytes_back_line(handle("f3"), "a.png", 18_240),
            forms::again_line((handle("f9"), "src/a.rs"), (handle("f3"), "src/b.rs")),
            forms::links_line((handle("f3"), "notes.md"), &[(handle("f4"), "a.md")]),
            forms::gap_line(1_240),
            forms::more_changes_line(handle("f3"), 31),
            forms::more_changes_line(handle("f3"), 1),
            forms::nearest_line(handle("f3"), "src/main.rs", range, "oldText"),
            forms::places_line(handle("f3"), "src/main.rs", "edits[1].oldText", &[range], 2),
        ];
        for line in lines {
            assert_eq!(stand_ins(&format!(" {line}\n")).collect::<Vec<_>>(), [line]);
        }
        let columns = Columns { line: 81, first: 201, last: 3_300 };
        for cut in [
            forms::columns_between(Some(handle("f3")), columns),
            forms::columns_between(None, columns),
        ] {
            assert_eq!(stand_ins(&format!("let x = {cut} + 1;")).collect::<Vec<_>>(), [cut]);
        }
        for line in ["let x = [t1];", "[t] x", "// … 3 lines", "t1 = 5", "[f3]"] {
            assert!(!FORMS.is_match(line), "{line}");
        }
    }

    #[test]
    fn a_line_of_ours_is_found_however_it_is_quoted() {
        let mut fact = crate::bash_result("a");
        fact.last = "say \"hi\" to C:\\x".into();
        let line = forms::output_line(Handle::parse("t17").unwrap(), &fact);
        let json = serde_json::json!({ "out": line }).to_string();
        let twice = serde_json::json!(json).to_string();
        let ascii: String = line.encode_utf16().fold(String::new(), |text, unit| {
            match char::from_u32(unit.into()).filter(char::is_ascii) {
                Some(letter) => text + &letter.to_string(),
                None => text + &format!("\\u{unit:04x}"),
            }
        });
        for text in [
            line.clone(),
            format!("// {line}"),
            format!(" * - {line}"),
            json,
            twice,
            ascii,
            format!("cat > a <<'E'\n{line}\nE"),
            format!("echo '{line}'"),
            line.replace(' ', "  "),
            "see [t17] exit 0 · 1 line, and so on".to_owned(),
        ] {
            assert!(
                may_hold_stand_in(&text) && unquoted(&text).contains(&core_of(&line)),
                "{text}"
            );
            assert!(first_stand_in(&unquoted(&text)).is_some(), "{text}");
        }
        assert!(!unquoted("[t7] exit 0 · 1 line").contains(&core_of(&line)));
    }

    #[test]
    fn each_form_in_place_of_content_is_certain() {
        let handle = |name| Handle::parse(name).unwrap();
        let range = LineRange { first: 81, last: 1_320 };
        let mut part = crate::bash_result("a");
        let shown = Some(LineRange { first: 1, last: 774 });
        part.cut = Some(Cut { lines: 20_000, shown, ..Cut::default() });
        let mut image = crate::bash_result("");
        (image.lines, image.images) = (0, 1);
        for line in [
            forms::output_line(handle("t17"), &crate::bash_result("a")),
            forms::output_line(handle("t17"), &part),
            forms::output_line(handle("t17"), &image),
            forms::showing_line(Some(handle("t12")), handle("f3"), "src/main.rs", &[range]),
            forms::standing_line(handle("s3"), range, "activate", Some(handle("t12"))),
            forms::standing_in_note_line(handle("f3"), LineRange { first: 7, last: 7 }),
            forms::between_line(handle("s3"), range, Some(1_400)),
            forms::as_in_line(handle("t12"), range, None, Some("fn main() {")),
            forms::fold_line((handle("t1"), handle("t4")), handle("s2"), 6, &["read f3".into()]),
            forms::compacted_line(handle("s2"), (1, 4), 212),
            forms::segment_line(handle("s2"), (1, 1), &[range]),
            forms::outline_line(handle("s2"), (1, 4), 1_200),
            forms::columns_between(Some(handle("s3")), Columns { line: 81, first: 1, last: 3_300 }),
            forms::more_changes_line(handle("f3"), 1),
        ] {
            let written = unquoted(&format!("// {line}"));
            assert!(first_stand_in(&written).is_some(), "{line}");
        }
    }

    #[test]
    fn what_others_write_is_certainly_no_line_of_ours() {
        for text in [
            "[t1] is the first tag",
            "let x = a[t1] · 5;",
            "[f3] footnote: see lines 3-9",
            "… 3 lines",
            "… and 1,240 lines between them …",
            "f3 unchanged",
            "[s1] turns on the light",
            "- [ ] ok · 3 lines",
        ] {
            assert_eq!(first_stand_in(text), None, "{text}");
        }
    }
}
