//! The tests of `forms.rs`.

use proptest::prelude::*;

use super::*;
use testing::hostile;

fn handle(text: &str) -> Handle {
    Handle::parse(text).unwrap()
}

fn range(first: u64, last: u64) -> LineRange {
    LineRange { first, last }
}

#[test]
fn fold_lines_are_distinguished_from_a_persons_words() {
    let line = |steps| {
        let calls = (handle("t31"), handle("t44"));
        fold_line(calls, handle("s2"), steps, &["read f3".into()])
    };
    for (text, expected) in [
        (line(6), true),
        (format!("{}\n{}", line(1), line(1_240)), true),
        (format!("{}\nplease", line(6)), false),
        ("[t1] 6 steps: a".into(), false),
        ("[t1] t2 · 6 steps: a · b".into(), true),
        ("[t1] ls · 6 steps: a".into(), false),
        ("[t1] ok · 6 lines".into(), false),
        (String::new(), false),
    ] {
        assert_eq!(is_folded(&text), expected, "{text}");
    }
}

#[test]
fn line_forms_are_those_of_the_design() {
    let mut tests = crate::bash_result("a");
    (tests.lines, tests.last) = (412, "test result: ok. 96 passed".into());
    let mut picture = crate::bash_result("c");
    (picture.exit, picture.images) = (None, 1);
    let mut screens = picture.clone();
    (screens.lines, screens.last, screens.images) = (2, "saved".into(), 3);
    let mut failed = crate::bash_result("b");
    (failed.exit, failed.ok) = (None, false);
    let moved = ("src/a.rs", "src/b.rs", None);
    let forms = [
        output_line(handle("t17"), &tests),
        output_line(handle("t18"), &failed),
        output_line(handle("t19"), &picture),
        output_line(handle("t20"), &screens),
        showing_line(Some(handle("t12")), handle("f3"), "src/main.rs", &[range(1, 210)]),
        showing_line(None, handle("f3"), "src/main.rs", &[range(1, 9), range(40, 40)]),
        standing_line(handle("f3"), range(1, 210), "read", Some(handle("t12"))),
        standing_line(handle("f3"), range(7, 7), "activate", None),
        between_line(handle("t17"), range(81, 1320), None),
        between_line(handle("t17"), range(81, 1320), Some(1_400)),
        as_in_line(handle("t12"), range(40, 70), None, None),
        as_in_line(handle("t12"), range(40, 70), None, Some("running 31 tests")),
        as_in_line(handle("f3"), range(40, 70), Some(handle("t12")), Some(&"é".repeat(99))),
        columns_between(Some(handle("t17")), Columns { line: 5, first: 201, last: 3_300 }),
        changed_line(handle("f3"), "src/main.rs", Some(handle("t12")), false, (4, 1)),
        changed_line(handle("f3"), "src/main.rs", Some(handle("t12")), true, (4, 1)),
        more_changes_line(handle("f3"), 31),
        kept_line(handle("f3"), "src/main.rs", GONE, Some(handle("t12"))),
        kept_line(handle("f3"), "src/main.rs", NO_TEXT, Some(handle("t12"))),
        textless_line(handle("f3"), "a.bin", "it is binary, 1,240 bytes"),
        back_line(handle("f3"), "src/main.rs", ON_DISK, Some(handle("t12"))),
        moved_line(handle("f3"), "src/a.rs", "src/b.rs", None),
        moved_changed_line(handle("f3"), moved, Some(handle("t12")), (4, 1)),
        kept_line(handle("f3"), "src/main.rs", OUT_OF_REACH, Some(handle("t12"))),
        back_line(handle("f3"), "src/main.rs", WITHIN_REACH, Some(handle("t12"))),
        nearest_line(handle("f3"), "src/main.rs", range(35, 49), "oldText"),
        places_line(handle("f3"), "src/main.rs", "edits[1].oldText", &[range(9, 9)], 12),
        fold_line(
            (handle("t31"), handle("t44")),
            handle("s2"),
            6,
            &["read f3 f9".into(), "edit f3 (+12 -4)".into(), "cargo test ok".into()],
        ),
        fold_line((handle("t31"), handle("t31")), handle("s3"), 1, &["cargo test ok".into()]),
        run_line(handle("t31"), handle("t44"), 6),
        run_line(handle("t31"), handle("t31"), 0),
        compacted_line(handle("s2"), (1, 4), 1_212),
        segment_line(handle("s2"), (0, 1), &[range(40, 80)]),
        speaker_line("user", Some(3)),
        speaker_line("thinking", None),
        call_line(Some(handle("t31")), "bash"),
        outline_line(handle("s2"), (1, 4), 9_412),
        outline_part(range(40, 312), "turn 3", "Please rename the config"),
        outline_part(range(7, 7), &steps_phrase((3, 5)), ""),
        activated_line(handle("t17"), "bash", &[range(1, 40)], 1_412),
    ];
    insta::assert_snapshot!(forms.join("\n"), @r#"
    [t17] exit 0 · 412 lines · last: "test result: ok. 96 passed"
    [t18] failed · 1 line
    [t19] ok · 1 image
    [t20] ok · 2 lines · 3 images · last: "saved"
    [t12] f3 src/main.rs · lines 1-210
    [f3] src/main.rs · lines 1-9, 40
    f3 unchanged; lines 1-210 stand in the read result above (t12).
    f3 unchanged; line 7 stands in the activate result above.
    … 1,240 lines between (t17:81-1320) …
    … 1,240 lines between (t17:81-1320 of 1,400) …
    … 31 lines as in t12:40-70 …
    … 31 lines as in t12:40-70, from "running 31 tests" …
    … 31 lines as in f3:40-70 (t12), from "éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…" …
    … 3,100 characters between (t17:5:201-3300) …
    [f3] src/main.rs changed on disk after t12 (+4 -1)
    [f3] src/main.rs changed on disk after t12, by another session (+4 -1)
    … 31 more changed lines in f3 …
    [f3] src/main.rs is no longer on disk; its text of t12 is kept as f3.
    [f3] src/main.rs changed on disk and holds no text now; its text of t12 is kept as f3.
    [f3] a.bin · no text: it is binary, 1,240 bytes
    [f3] src/main.rs is on disk again, as it was in t12.
    [f3] src/a.rs is now src/b.rs
    [f3] src/a.rs is now src/b.rs, and changed after t12 (+4 -1)
    [f3] src/main.rs is out of reach for now; its text of t12 is kept as f3.
    [f3] src/main.rs is within reach again, as it was in t12.
    [f3] src/main.rs · lines 35-49, nearest to oldText:
    [f3] src/main.rs · edits[1].oldText stands 12 times: line 9, …
    [t31-t44] s2 · 6 steps: read f3 f9, edit f3 (+12 -4), cargo test ok
    [t31] s3 · 1 step: cargo test ok
    [t31-t44] 6 steps:
    [t31] names no calls of this conversation.
    [s2] turns 1-4 in full · 1,212 messages
    [s2] turn 1 · lines 40-80
    user, turn 3:
    thinking:
    [t31] bash
    [s2] turns 1-4 · 9,412 lines:
    lines 40-312 · turn 3: "Please rename the config"
    line 7 · steps 3-5
    [t17] bash · lines 1-40 of 1,412
    "#);
}

#[test]
fn lines_on_files_without_a_difference_are_those_of_the_design() {
    let forms = [
        all_changed_line(&[(handle("f3"), "a.rs".into()), (handle("f4"), "b.rs".into())], 3),
        bytes_changed_line(handle("f3"), "a.png", Some(handle("t12")), 18_240),
        bytes_gone_line(handle("f3"), "a.png"),
        bytes_back_line(handle("f3"), "a.png", 1),
        again_line((handle("f9"), "src/a.rs"), (handle("f3"), "src/b.rs")),
    ];
    insta::assert_snapshot!(forms.join("\n"), @"
    [f3] a.rs, f4 b.rs and 3 more files changed on disk
    [f3] a.png changed on disk after t12 (18,240 bytes)
    [f3] a.png is no longer on disk.
    [f3] a.png is on disk again (1 byte).
    [f9] src/a.rs is on disk again, beside f3 src/b.rs.
    ");
}

/// Every form that quotes something, with this in each of the places.
fn quoting(text: &str) -> Vec<String> {
    let (f, t, s) = (handle("f3"), handle("t12"), handle("s2"));
    let mut fact = crate::bash_result("a");
    fact.last = text.into();
    let fields = [(text.to_owned(), Value::from(text)), ("n".into(), serde_json::json!([text]))];
    let nickname = Nickname::parse(text).or_else(|_| Nickname::parse("plain")).ok();
    vec![
        output_line(t, &fact),
        showing_line(Some(t), f, text, &[range(1, 2)]),
        label(nickname.as_ref(), &fields),
        standing_line(f, range(1, 2), text, Some(t)),
        as_in_line(f, range(1, 2), Some(t), Some(text)),
        changed_line(f, text, Some(t), true, (1, 1)),
        all_changed_line(&[(f, text.into()), (f, text.into())], 3),
        bytes_changed_line(f, text, Some(t), 1),
        bytes_gone_line(f, text),
        bytes_back_line(f, text, 1),
        again_line((f, text), (f, text)),
        kept_line(f, text, GONE, Some(t)),
        kept_line(f, text, NO_TEXT, Some(t)),
        textless_line(f, text, "it is binary"),
        back_line(f, text, ON_DISK, Some(t)),
        moved_line(f, text, text, Some(handle("f5"))),
        moved_changed_line(f, (text, text, None), Some(t), (1, 1)),
        kept_line(f, text, OUT_OF_REACH, Some(t)),
        back_line(f, text, WITHIN_REACH, Some(t)),
        nearest_line(f, text, range(1, 2), "oldText"),
        places_line(f, text, "oldText", &[range(1, 2)], 2),
        speaker_line(text, Some(3)),
        call_line(Some(t), text),
        outline_part(range(1, 2), "turn 3", text),
        fold_line((t, t), s, 1, &[]),
    ]
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn what_a_line_quotes_begins_no_line_and_forges_no_mark(text in hostile::texts()) {
        for (plain, quoting) in quoting("plain").iter().zip(quoting(&text)) {
            prop_assert_eq!(hostile::forged(plain, &quoting), None);
        }
    }
}
