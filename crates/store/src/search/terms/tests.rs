//! The tests of `terms.rs`.

use proptest::prelude::*;

use super::*;

fn of(text: &str, wanted: TermKind) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(text, |term, _, kind| {
        if kind == wanted {
            terms.push(term.to_owned());
        }
        ControlFlow::Continue(())
    });
    terms
}

fn parts(text: &str) -> String {
    of(text, TermKind::Part).join(" ")
}

#[test]
fn identifiers_give_their_parts() {
    for (text, expected) in [
        ("transformContext", "transform context"),
        ("tool_call_id TOOL_CALL_ID", "tool call id tool call id"),
        ("src/store/sqlite.rs:12", "src store sqlite rs 12"),
        ("HTTPServer2 HTTPServer2Handler", "http server 2 http server 2 handler"),
        ("utf8 v2 x86_64 i64 8dc0263", "utf 8 v2 x86 64 i64 8dc0263"),
        ("--no-verify $HOME/.env", "no verifi home env"),
        ("ÄrgerÜber", "arger uber"),
    ] {
        assert_eq!(parts(text), expected, "{text}");
    }
    assert_eq!(of("transformContext tool_call x", TermKind::Joined), ["transformcontext"]);
}

#[test]
fn words_are_folded_and_stemmed() {
    for (one, other) in [
        ("Größe", "GROSSE"),
        ("café", "cafe\u{301}"),
        ("ｆｕｌｌ ﬁle", "full file"),
        ("running", "runs"),
        ("İstanbul", "istanbul"),
        ("сло́во", "СЛОВО"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("don't it's we’ll", "don it we"),
    ] {
        assert_eq!(parts(one), parts(other), "{one} {other}");
    }
}

#[test]
fn scripts_without_spaces_give_pairs_and_the_last_character() {
    assert_eq!(parts("数据库和SQL索引"), "数据 据库 库和 和 sql 索引 引");
    assert_eq!(parts("検索エンジン"), "検索 索エ エン ンジ ジン ン");
    assert_eq!(parts("한국어 검색"), "한국 국어 어 검색 색");
    assert_eq!(parts("猫"), "猫");
}

#[test]
fn data_gives_no_terms_and_hashes_do() {
    let base64 =
        "aGVsbG8gd29ybGQhIFRoaXMgaXMgYSB0ZXN0IG9mIGJhc2U2NCBlbmNvZGluZw3Kf9XzQpL1Yt8Wb2".repeat(9);
    assert_eq!(parts(&format!("before {base64}== after")), "befor after");
    assert_eq!(parts(&"0f3a".repeat(100)), "");
    let hash = "8dc0263f".repeat(8);
    assert_eq!(parts(&hash), hash);
    assert_eq!(
        parts(&format!("a/{hash}/of/a/long/path/that/has/it/inside")).split(' ').nth(1),
        Some(&*hash)
    );
    let path =
        "a_long_folder_name/with-another/inside/and_one_more/until_it_is_longer_than_a_line.rs";
    assert!(parts(path).starts_with("a long folder name with anoth"));
    assert_eq!(parts(&"PK\u{3}\u{4}\u{FFFD}\u{FFFD}ab".repeat(50)), "");
}

#[test]
fn long_words_and_long_texts_are_cut() {
    assert_eq!(parts(&"x".repeat(10_000)), "x".repeat(MAX_TERM_CHARS));
    let mut terms = 0;
    each_term_of(&"a ".repeat(110), 100, |_, _, _| {
        terms += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(terms, 100);
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn terms_hold_only_what_the_index_keeps(text in "(?s).{0,60}|[a-zA-Z0-9_é日ｶﾞ\u{301} ]{0,60}") {
        each_term(&text, |term, at, _| {
            assert!(!term.is_empty() && text.get(at).is_some_and(|found| !found.is_empty()));
            assert!(
                term.chars().all(|c| !c.is_ascii() || c.is_ascii_lowercase() || c.is_ascii_digit()),
                "{term:?}"
            );
            ControlFlow::Continue(())
        });
    }

    #[test]
    fn the_words_of_a_text_are_those_of_its_lines(lines in prop::collection::vec("[a-zA-Zé日0-9_ ]{0,20}", 0..6)) {
        let apart: Vec<String> = lines.iter().flat_map(|line| of(line, TermKind::Part)).collect();
        prop_assert_eq!(of(&lines.join("\n"), TermKind::Part), apart);
    }
}
