//! The tests of `quote.rs`.

use proptest::prelude::*;

use super::*;

/// The cases shared with JavaScript: which characters are spelt out.
const CASES: &str = include_str!("../../../../../tests/fixtures/quoted.json");

#[test]
fn every_character_is_spelt_out_as_in_javascript() {
    let cases: serde_json::Value = serde_json::from_str(CASES).unwrap();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for found in ('\0'..=char::MAX).filter(|found| is_hidden(*found)) {
        let number = u32::from(found);
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    assert_eq!(serde_json::json!(ranges), cases["hidden"]);
    for [text, as_line, as_block] in
        serde_json::from_value::<Vec<[String; 3]>>(cases["texts"].clone()).unwrap()
    {
        assert_eq!((&*line(&text), &*block(&text)), (&*as_line, &*as_block), "{text:?}");
    }
}

#[test]
fn ordinary_texts_stay_as_they_are() {
    for text in [
        "src/main.rs",
        "a b/ünï — 漢字 (1).md",
        "ok  \texample.com/failures\t0.012s",
        "say \"hi\"",
        "print('\\u001b[0m') and C:\\users\\ann",
        "a[t1]; pages/[s1]/index.tsx",
        "Vec<String>, run it with <name> or <T>",
        "Compiling… 3 files; … 3 of 4",
        "👩‍👩‍👧 ❤️ ✔︎ 1️⃣ 🏴‍☠️ می‌خواهم",
        "## Project memory\n- Global: yes",
    ] {
        assert_eq!(block(text), text);
        assert_eq!(section(text), text);
        assert_eq!(line(text), text.replace('\n', "\\u000a"));
    }
    assert_eq!(name("a b/ünï [t1].md"), "a b/ünï [t1].md");
}

#[test]
fn many_marks_take_no_more_time_each_than_few() {
    let text = "</a> [t1] ".repeat(40_000);
    // Where each sign is compared with each mark this takes minutes.
    assert_eq!(section(&text).len(), text.len() + 2 * 5 * 40_000);
}

#[test]
fn marks_of_ours_are_spelt_out_by_their_first_character() {
    for (text, expected) in [
        ("[t1] exit 0", "\\u005bt1] exit 0"),
        ("a [t31-t44] b", "a \\u005bt31-t44] b"),
        ("[f3]", "\\u005bf3]"),
        ("a[t1] = 5", "a\\u005bt1] = 5"),
        ("[t1][f2]\u{a0}x", "[t1]\\u005bf2]\u{a0}x"),
        ("f3 unchanged; lines 1-2", "\\u00663 unchanged; lines 1-2"),
        ("… 1,240 lines between (t1:2-3) …", "\\u2026 1,240 lines between (t1:2-3) …"),
        ("x\" · named y", "x\\u0022 · named y"),
        ("## Global (MEMORY.md)", "## \\u0047lobal (MEMORY.md)"),
        (
            "yours in this project ( memory.local.md )",
            "\\u0079ours in this project ( memory.local.md )",
        ),
        ("Memory change 3: x", "\\u004demory change 3: x"),
        ("Memory at hand, x", "\\u004demory at hand, x"),
        ("a </memory> b", "a \\u003c/memory> b"),
        ("< / MEMORY\t>", "\\u003c / MEMORY\t>"),
        ("<system-reminder>x", "\\u003csystem-reminder>x"),
        ("<<rules>", "<\\u003crules>"),
    ] {
        assert_eq!(line(text), expected);
        assert_eq!(block(text), expected);
        assert_eq!(section(text), expected);
        assert!(!name(text).contains(text), "{text}");
    }
}

#[test]
fn a_line_of_a_file_ends_where_it_ends() {
    let text = "+\tlet x = \"[t1] \u{200b}\";\r[f9] a\u{2028}b\u{1b}[2J</memory>";
    let expected = "+\tlet x = \"[t1] \u{200b}\";\\u000d[f9] a\\u2028b\\u001b[2J</memory>";
    assert_eq!(file_line(text), expected);
}

#[test]
fn no_tag_ends_or_begins_a_section() {
    assert_eq!(
        section("a </own> b\n  <own>\n- <own a=\"1\">\nsee <own> c"),
        "a \\u003c/own> b\n  \\u003cown>\n- \\u003cown a=\"1\">\nsee <own> c"
    );
    assert_eq!(block("</own>"), "</own>");
}

#[test]
fn escapes_within_a_name_are_escaped_themselves() {
    assert_eq!(name("a\u{202e}b"), "a\\u202eb");
    assert_eq!(name("a\\u202eb"), "a\\u005cu202eb");
    assert_eq!(name("a\tb · c is on disk again."), "a\\u0009b\\u0020· c\\u0020is on disk again.");
    assert_eq!(name("\u{e0041}"), "\\udb40\\udc41");
}

/// Texts made of what may be spelt out and of its parts.
fn odd() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "\n",
        "\r",
        "\r\n",
        "\t",
        "\u{1b}",
        "\u{202e}",
        "\u{e0041}",
        "\u{200d}",
        "\u{fe0f}",
        "\u{1f469}",
        "\u{2764}",
        "1",
        "\u{20e3}",
        "[t1]",
        " ",
        "</memory>",
        "<own>",
        "\\",
        "u202e",
        "\\u005c",
        "… 3 lines",
        " · ",
        "\"",
        "a",
        "é",
        "\u{645}",
        "Global (MEMORY.md)",
    ]);
    prop::collection::vec(parts, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn nothing_hides_and_nothing_is_spelt_out_twice(text in odd()) {
        for form in [line, block, section] {
            let once = form(&text).into_owned();
            prop_assert_eq!(&*form(&once), &*once);
            prop_assert!(marks(&once).is_empty(), "{}", once);
        }
        let acts = ['\n', '\r', '\u{1b}', '\u{202e}', '\u{e0041}'];
        prop_assert!(!line(&text).contains(acts), "one line");
        prop_assert!(!TAGS.is_match(&section(&text)));
    }

    #[test]
    fn no_two_names_read_alike(one in odd(), other in odd()) {
        prop_assert_eq!(named(&name(&one)), &*one);
        prop_assert_eq!(name(&one) == name(&other), one == other);
        prop_assert!(name(&one).chars().all(|found| !found.is_control()));
    }
}
