//! What XTDB prints, what it does not, and answers that are cut off or are not EDN.

use std::io::{BufReader, ErrorKind};

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Edn {
    read_all(text.as_bytes()).unwrap_or_else(|problem| panic!("`{text}`: {problem:?}"))
}

fn problem(text: &[u8]) -> String {
    match read_all(text) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => "cut off".to_owned(),
        Err(error) => error.to_string().split(" at byte ").next().unwrap().to_owned(),
        Ok(value) => panic!("{value:?}"),
    }
}

fn keyword(name: &str) -> Edn {
    Edn::Keyword(name.to_owned())
}

fn text(text: &str) -> Edn {
    Edn::Text(text.to_owned())
}

#[test]
fn each_kind_of_value_is_read() {
    let cases = [
        ("nil", Edn::Nil),
        ("true", Edn::Other("a boolean")),
        ("false", Edn::Other("a boolean")),
        ("-9223372036854775808", Edn::Integer(i64::MIN)),
        ("9223372036854775808", NUMBER),
        ("+7", Edn::Integer(7)),
        ("12N", NUMBER),
        ("1.5", NUMBER),
        ("1.0E-5", NUMBER),
        ("##Inf", NUMBER),
        ("##-Inf", NUMBER),
        ("1.5M", NUMBER),
        ("1/3", NUMBER),
        ("\\a", Edn::Other("a character")),
        ("\\newline", Edn::Other("a character")),
        ("\\u00e9", Edn::Other("a character")),
        ("\\é", Edn::Other("a character")),
        ("\\(", Edn::Other("a character")),
        ("\\\"", Edn::Other("a character")),
        ("\"a\\n\\\"\\\\ é\u{1}\\u0041\\ud83d\\ude00\"", text("a\n\"\\ é\u{1}A😀")),
        (":xt/id", keyword("xt/id")),
        (":ingester-failed?", keyword("ingester-failed?")),
        ("sym.bol/name", Edn::Other("a symbol")),
        ("-", Edn::Other("a symbol")),
        ("()", Edn::Other("a list")),
        ("[1 \"a\" nil]", Edn::Other("a vector")),
        ("#{1}", Edn::Other("a set")),
        ("{}", Edn::Map(Vec::new())),
        ("#inst \"2026-11-21T08:09:29.435-00:00\"", Edn::Instant(Timestamp(1_795_248_569_435))),
        ("#uuid \"0-1\"", Edn::Tagged("uuid".to_owned(), Box::new(text("0-1")))),
        ("#xtdb/id \"7f\"", Edn::Tagged("xtdb/id".to_owned(), Box::new(text("7f")))),
    ];
    for (printed, value) in cases {
        assert_eq!(read(printed), value, "{printed}");
    }
    assert_eq!(read("##NaN"), NUMBER);
    assert!(matches!(read("#error {:cause \"x\"}"), Edn::Tagged(tag, _) if tag == "error"));
}

#[test]
fn a_map_may_name_the_namespace_of_its_keys_once() {
    let printed = "#:xtdb.api{:tx-id 1, :_/bare 2, :xt/id 3, \"text\" 4}";
    let told = read(printed);
    assert_eq!(told.get("xtdb.api/tx-id"), Some(&Edn::Integer(1)));
    assert_eq!(told.get("bare"), Some(&Edn::Integer(2)));
    assert_eq!(told.get("xt/id"), Some(&Edn::Integer(3)));
    assert_eq!(told.get("tx-id"), None);
}

#[test]
fn json_keys_that_are_no_keywords_are_refused() {
    for key in ["a/", "", "a\\b", "/", "@type", "é"] {
        assert_eq!(read(&format!("{{:x 1, :{key} 2}}")).get(key), Some(&Edn::Integer(2)), "{key}");
    }
    for printed in [
        "{:with space 1, :xt/id \"k\"}",
        "{:a\nb 1, :c\nd 2}",
        "{:a b 1, :c d 2}",
        "{:x \"y}",
        "{:[ 1}",
    ] {
        problem(printed.as_bytes());
    }
}

#[test]
fn what_is_not_edn_is_refused() {
    for (text, what) in [
        (&b""[..], "cut off"),
        (b"(1 2", "cut off"),
        (b"{:a", "cut off"),
        (b"{:a 1,", "cut off"),
        (b"\"abc", "cut off"),
        (b"\"a\\", "cut off"),
        (b"#", "cut off"),
        (b"#inst", "cut off"),
        (b"1 2", "`2` after the end"),
        (b")", "`)` in place of a value"),
        (b"[1, 2]", "`,` in place of a value"),
        (b"[1}", "`}` in place of a value"),
        (b"{:a 1 :b 2}", "`:` in place of a comma"),
        (b"{:a}", "`}` in place of a value"),
        (b"\"\\q\"", "a bad text"),
        (b"\"\\uzzzz\"", "a bad text"),
        (b"\"\\ud83d.\"", "a bad text"),
        (b"#inst \"yesterday\"", "the time `yesterday`"),
        (b"#inst 5", "a number in place of a time"),
        (b"\"\xff\"", "a bad text"),
        (b"a\xff", "bytes that are not UTF-8"),
        (b"#_ 1", "`_` after `#`"),
        (b"<html>", "cut off"),
    ] {
        if text == b"<html>" {
            assert_eq!(read("<html>"), Edn::Other("a symbol"));
        } else {
            assert_eq!(problem(text), what, "{}", String::from_utf8_lossy(text));
        }
    }
}

#[test]
fn nesting_is_bounded_and_fits_a_small_stack() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let read = move |text: String| {
        let worker = std::thread::Builder::new().stack_size(512 << 10);
        worker.spawn(move || read_all(text.as_bytes()).is_ok()).unwrap()
    };
    assert!(read(nested(100)).join().unwrap());
    assert!(!read(nested(102)).join().unwrap());
    assert!(!read("[".repeat(1_000_000)).join().unwrap());
    assert!(!read("#a ".repeat(1_000_000)).join().unwrap());
    assert!(!read("{:a ".repeat(1_000_000)).join().unwrap());
}

#[test]
fn members_come_one_by_one() {
    let mut reader = Reader::new(&b" (1 {:a 2} [3]) \n"[..]);
    reader.enter().unwrap();
    assert_eq!(reader.member().unwrap(), Some(Edn::Integer(1)));
    assert!(matches!(reader.member().unwrap(), Some(Edn::Map(_))));
    assert_eq!(reader.member().unwrap(), Some(Edn::Other("a vector")));
    assert_eq!(reader.member().unwrap(), None);
    reader.end().unwrap();

    let mut cut = Reader::new(&b"(1 2"[..]);
    cut.enter().unwrap();
    assert_eq!(cut.member().unwrap(), Some(Edn::Integer(1)));
    // The number may go on behind the cut.
    assert!(matches!(cut.member(), Ok(Some(Edn::Integer(2)))));
    assert_eq!(cut.member().unwrap_err().kind(), ErrorKind::UnexpectedEof);

    let no_list = Reader::new(&b"{:a 1}"[..]).enter().unwrap_err();
    assert_eq!(no_list.kind(), ErrorKind::InvalidData);
}

const NUMBER: Edn = Edn::Other("a number");

/// A value of each kind that is read and dropped.
const OTHERS: [(&str, &str); 7] = [
    ("true", "a boolean"),
    ("-12.5M", "a number"),
    ("\\newline", "a character"),
    ("sym/bol", "a symbol"),
    ("(1 {:a \"b\"} [nil])", "a list"),
    ("[#inst \"2026-11-21T08:09:29.435-00:00\" #{1}]", "a vector"),
    ("#{1/3 12N ##Inf}", "a set"),
];

/// Prints as Clojure's `pr` does.
fn print(value: &Edn, into: &mut String) {
    match value {
        Edn::Nil => into.push_str("nil"),
        Edn::Integer(number) => into.push_str(&number.to_string()),
        Edn::Text(text) => {
            into.push('"');
            for char in text.chars() {
                match char {
                    '"' => into.push_str("\\\""),
                    '\\' => into.push_str("\\\\"),
                    '\n' => into.push_str("\\n"),
                    '\t' => into.push_str("\\t"),
                    '\r' => into.push_str("\\r"),
                    '\u{c}' => into.push_str("\\f"),
                    '\u{8}' => into.push_str("\\b"),
                    other => into.push(other),
                }
            }
            into.push('"');
        }
        Edn::Keyword(name) => into.extend([":", name]),
        Edn::Map(entries) => {
            into.push('{');
            for (place, (key, value)) in entries.iter().enumerate() {
                if place > 0 {
                    into.push_str(", ");
                }
                print(key, into);
                into.push(' ');
                print(value, into);
            }
            into.push('}');
        }
        Edn::Instant(time) => {
            let printed = time.to_string();
            let printed = printed.trim_end_matches('Z');
            let fraction = if printed.contains('.') { "" } else { ".000" };
            into.extend(["#inst \"", printed, fraction, "-00:00\""]);
        }
        Edn::Tagged(tag, value) => {
            into.extend(["#", tag, " "]);
            print(value, into);
        }
        Edn::Other(kind) => {
            into.extend(OTHERS.iter().filter(|(_, of)| of == kind).map(|(text, _)| *text));
        }
    }
}

fn leaf() -> impl Strategy<Value = Edn> {
    prop_oneof![
        Just(Edn::Nil),
        any::<i64>().prop_map(Edn::Integer),
        prop::sample::select(OTHERS.to_vec()).prop_map(|(_, kind)| Edn::Other(kind)),
        any::<String>().prop_map(Edn::Text),
        "[a-z.]{1,5}/[a-zA-Z?*!_-]{1,9}".prop_map(Edn::Keyword),
        "[a-zA-Z?*!é_-]{0,9}".prop_map(Edn::Keyword),
        (0..4_102_444_800_000_i64).prop_map(|ms| Edn::Instant(Timestamp(ms))),
    ]
}

fn value() -> impl Strategy<Value = Edn> {
    leaf().prop_recursive(6, 64, 6, |inner| {
        let entries = prop::collection::vec((inner.clone(), inner.clone()), 0..6);
        prop_oneof![
            entries.prop_map(Edn::Map),
            ("[a-hj-z]{1,4}(/[a-z]{1,4})?", inner.clone())
                .prop_map(|(tag, value)| Edn::Tagged(tag, Box::new(value))),
        ]
    })
}

fn printed(value: &Edn) -> String {
    let mut text = String::new();
    print(value, &mut text);
    text
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn what_was_printed_is_read_again(value in value()) {
        let text = printed(&value);
        prop_assert_eq!(read_all(text.as_bytes()).unwrap(), value, "{}", text);
    }

    #[test]
    fn the_pieces_in_which_it_comes_make_no_difference(value in value(), size in 1_usize..9) {
        let text = printed(&value);
        let mut reader = Reader::new(BufReader::with_capacity(size, text.as_bytes()));
        prop_assert_eq!(reader.form().unwrap(), value);
        reader.end().unwrap();
    }

    #[test]
    fn a_list_that_is_cut_anywhere_is_never_taken_for_a_whole_one(value in value(), at in any::<prop::sample::Index>()) {
        let text = format!("({})", printed(&value));
        let cut = &text.as_bytes()[..at.index(text.len())];
        prop_assert!(read_all(cut).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_all(&bytes);
    }

    #[test]
    fn no_text_of_its_own_signs_makes_it_panic(text in r#"[\[\](){}#:"\\,; _0-9eNMu/.+\-nil^@~é]{0,60}"#) {
        let _ = read_all(text.as_bytes());
    }
}
