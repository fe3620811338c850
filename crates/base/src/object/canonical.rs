//! Canonical JSON (RFC 8785), by a library.

use serde::Serialize;

use crate::error::{Error, Result};

/// Serialises a value as canonical JSON (RFC 8785): sorted keys, no white space, ECMAScript
/// numbers.
///
/// Numbers are doubles there: integers that no double holds are rounded, so hashes add their digits
/// (see [`super::Payload::content_hash`]).
///
/// # Errors
/// `INVALID_ARGUMENT` if the value holds a number that JSON cannot carry (NaN, infinity).
pub fn canonical_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json_canonicalizer::to_string(value)
        .map_err(|error| Error::argument("value", format!("is not canonical JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Number, Value, json};

    use super::*;

    /// A plain reimplementation of RFC 8785 section 3.2 to check the library against.
    fn model(value: &Value) -> String {
        match value {
            Value::Null | Value::Bool(_) => value.to_string(),
            Value::Number(number) => model_number(number.as_f64().unwrap()),
            Value::String(text) => model_string(text),
            Value::Array(elements) => {
                format!("[{}]", elements.iter().map(model).collect::<Vec<_>>().join(","))
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
                let member = |(key, value): (&String, &Value)| {
                    format!("{}:{}", model_string(key), model(value))
                };
                format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }

    fn model_string(text: &str) -> String {
        let escaped = text.chars().map(|c| match c {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\t' => "\\t".to_owned(),
            '\n' => "\\n".to_owned(),
            '\u{c}' => "\\f".to_owned(),
            '\r' => "\\r".to_owned(),
            c if c < ' ' => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        });
        format!("\"{}\"", escaped.collect::<String>())
    }

    /// `Number::toString` of ECMA-262: the fewest digits that read back; among these the nearest;
    /// on a tie, the even ones.
    fn model_number(number: f64) -> String {
        if number == 0.0 {
            return "0".to_owned();
        }
        let sign = if number < 0.0 { "-" } else { "" };
        let fewest = format!("{:e}", number.abs()).split('e').next().unwrap().len();
        let scientific = format!("{:.*e}", fewest.saturating_sub(2), number.abs());
        let (mantissa, exponent) = scientific.split_once('e').unwrap();
        let digits = mantissa.replace('.', "");
        let (length, point) =
            (i32::try_from(digits.len()).unwrap(), exponent.parse::<i32>().unwrap() + 1);
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap());
        let split = |at: i32| digits.split_at(usize::try_from(at).unwrap());
        let shown = match point {
            _ if length <= point && point <= 21 => format!("{digits}{}", zeros(point - length)),
            1..=21 => format!("{}.{}", split(point).0, split(point).1),
            -5..=0 => format!("0.{}{digits}", zeros(-point)),
            _ => {
                let (first, rest) = split(1);
                let dot = if rest.is_empty() { "" } else { "." };
                format!(
                    "{first}{dot}{rest}e{}{}",
                    if point > 0 { "+" } else { "-" },
                    (point - 1).abs()
                )
            }
        };
        format!("{sign}{shown}")
    }

    #[test]
    fn numbers_are_those_of_rfc_8785_appendix_b() {
        for (bits, shown) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let number = f64::from_bits(bits);
            assert_eq!(canonical_json(&number).unwrap(), shown);
            assert_eq!(model_number(number), shown, "the model");
        }
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(canonical_json(&number).unwrap_err().code(), "INVALID_ARGUMENT");
        }
    }

    #[test]
    fn keys_sort_by_utf_16_and_strings_escape_as_in_rfc_8785() {
        let value = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7});
        assert_eq!(
            canonical_json(&value).unwrap(),
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
        let text = "\u{20ac}$\u{f}\nA'B\"\\\\\"/\u{7f}";
        assert_eq!(
            canonical_json(&text).unwrap(),
            "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\u{7f}\""
        );
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<f64>().prop_filter_map("finite", Number::from_f64).prop_map(Value::Number),
            any::<String>().prop_map(Value::from),
            "[\u{0}-\u{20}\"\\\\\u{7f}\u{d7ff}\u{e000}\u{ffff}\u{10000}]{0,4}"
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop_oneof![any::<String>(), "[a\u{e000}\u{ffff}\u{10000}\u{10ffff}]{0,3}"];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn canonical_json_is_what_the_rfc_says_and_reads_back(value in value()) {
            let text = canonical_json(&value).unwrap();
            prop_assert_eq!(&text, &model(&value));
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical_json(&again).unwrap(), text);
        }

        #[test]
        fn every_double_is_written_as_ecmascript_writes_it(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let text = canonical_json(&number).unwrap();
            prop_assert_eq!(&text, &model_number(number));
            prop_assert_eq!((text.parse::<f64>().unwrap() + 0.0).to_bits(), (number + 0.0).to_bits());
        }
    }
}
