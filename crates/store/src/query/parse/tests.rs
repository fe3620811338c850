//! The tests of `parse.rs`.

use std::fmt;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn reads_as(text: &str) -> String {
    Query::parse(text).unwrap().to_string()
}

#[test]
fn a_query_reads_as_what_it_says() {
    for (text, read) in [
        ("", ""),
        ("  limit 3 ", "limit 3"),
        ("type=toolcall AND tool = bash", r#"type = "toolcall" and tool = "bash""#),
        ("a = 1 or b != -1.5e2 and not c < null", "a = 1 or (b != -150.0 and (not c < null))"),
        (
            "(a exists or b missing) and c ~ src/**/*.rs",
            r#"(a exists or (b missing)) and c ~ "src/**/*.rs""#,
        ),
        ("a in (x, 2, 'it\\'s \"so\"', true)", r#"a in ("x", 2, "it's \"so\"", true)"#),
        ("t >= 2026-11-21T10:00Z", "t >= 2026-11-21T10:00Z"),
        ("t >= '2026-11-21'", r#"t >= "2026-11-21""#),
        ("a.b[0].\"c d\" contains \"x y\"", r#"a.b[0]."c d" contains "x y""#),
        ("\"not\" starts_with é", r#""not" starts_with "é""#),
        ("limit 2 offset 4 order by a desc, b asc, c", "order by a desc, b, c limit 2 offset 4"),
    ] {
        assert_eq!(reads_as(text), read, "{text}");
    }
}

#[test]
fn an_error_names_the_column_and_what_was_expected() {
    let message = |text: &str| Query::parse(text).unwrap_err().to_string();
    let texts = [
        "tool",
        "tool = ",
        "é = 'x",
        "tool = bash status = ok",
        "(a = 1",
        "a in 1",
        "a = and",
        "order = 1",
        "a = 1 order tool",
        "limit x",
        "limit 1 limit 2",
        "a..b = 1",
        "a = '\\q'",
    ];
    let messages: Vec<_> = texts.iter().map(|text| message(text)).collect();
    insta::assert_snapshot!(messages.join("\n"), @r"
    `query` is not clear at column 5: expected `=`, `!=`, `<`, `<=`, `>`, `>=`, `~`, `contains`, `starts_with`, `in`, `exists` or `missing`
    `query` is not clear at column 8: expected a value
    `query` is not clear at column 5: expected a text that ends with its quote, found `'x`
    `query` is not clear at column 13: expected `and`, `or`, `order by`, `limit`, `offset` or the end, found `status`
    `query` is not clear at column 7: expected `and`, `or` or `)`
    `query` is not clear at column 6: expected `(`, found `1`
    `query` is not clear at column 5: expected a value (a text that is a word of the query language stands in quotes), found `and`
    `query` is not clear at column 7: expected `by`, found `=`
    `query` is not clear at column 13: expected `by`, found `tool`
    `query` is not clear at column 7: expected a number, found `x`
    `query` is not clear at column 9: expected `and`, `or`, `order by`, `limit`, `offset` or the end, found `limit`
    `query` is not clear at column 3: expected the name of a field, found `.b`
    `query` is not clear at column 5: expected a text with JSON's escapes, found `'\q'`
    ");
}

#[test]
fn deep_and_long_queries_are_refused() {
    for text in [
        "(".repeat(100_000),
        "not ".repeat(100_000),
        format!("a in ({}1)", "1,".repeat(1_000)),
        vec!["a = 1"; 201].join(" and "),
        "order by tags[*]".to_owned(),
    ] {
        assert_eq!(Query::parse(&text).unwrap_err().code(), "INVALID_ARGUMENT");
    }
    assert_eq!(Query::parse("id.x = 1").unwrap_err().code(), "UNKNOWN_FIELD");
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn no_text_makes_the_parser_panic_and_what_it_reads_reads_back(
        words in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    "a", "args.b", "tags[*]", "\"o d\"", "and", "or", "not", "(", ")", "=", "!=", "<", ">=", "~", "in",
                    "contains", "starts_with", "exists", "missing", "order by", "limit", "offset", "desc", ",", "1",
                    "-0.0", "1e400", "true", "null", "2026-11-21", "x*", "'", "'q \\' \"'", "\"\\u0000\"", "18446744073709551616",
                ]).prop_map(str::to_owned),
                "\\PC{0,3}",
            ],
            0..12,
        ),
        spaced in any::<bool>(),
    ) {
        let text = words.join(if spaced { " " } else { "" });
        if let Ok(query) = Query::parse(&text) {
            let shown = query.to_string();
            prop_assert_eq!(Query::parse(&shown).unwrap(), query, "{}", shown);
        }
    }
}

/// The text form; parses back to the same query.
impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.condition.iter().map(ToString::to_string).collect();
        if !self.order.is_empty() {
            let order = |order: &Order| {
                format!("{}{}", order.field, if order.descending { " desc" } else { "" })
            };
            let orders: Vec<_> = self.order.iter().map(order).collect();
            parts.push(format!("order by {}", orders.join(", ")));
        }
        parts.extend(self.limit.map(|limit| format!("limit {limit}")));
        if self.offset > 0 {
            parts.push(format!("offset {}", self.offset));
        }
        formatter.write_str(&parts.join(" "))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |conditions: &[Self], word: &str| {
            conditions.iter().map(inner).collect::<Vec<_>>().join(word)
        };
        match self {
            Self::All(all) => formatter.write_str(&joined(all, " and ")),
            Self::Any(any) => formatter.write_str(&joined(any, " or ")),
            Self::Not(inner) => match &**inner {
                Self::Test(path, Test::Exists) => write!(formatter, "{path} missing"),
                inner => write!(formatter, "not {}", self::inner(inner)),
            },
            Self::Test(path, test) => write!(formatter, "{path} {test}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(comparison, literal) => {
                write!(formatter, "{} {literal}", <&str>::from(comparison))
            }
            Self::Contains(literal) => write!(formatter, "contains {literal}"),
            Self::StartsWith(text) => write!(formatter, "starts_with {}", Value::from(&**text)),
            Self::Glob(pattern) => {
                write!(formatter, "~ {}", Value::from(&*pattern.pattern))
            }
            Self::In(literals) => {
                let shown: Vec<_> = literals.iter().map(ToString::to_string).collect();
                write!(formatter, "in ({})", shown.join(", "))
            }
            Self::Exists => formatter.write_str("exists"),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Number(value) => write!(formatter, "{value}"),
            Self::Text(text) => write!(formatter, "{}", Value::from(&**text)),
            Self::Time(_, text) => formatter.write_str(text),
        }
    }
}

/// The text form inside another condition.
fn inner(condition: &Condition) -> String {
    match condition {
        Condition::Test(..) => condition.to_string(),
        _ => format!("({condition})"),
    }
}
