//! Decides whether a value fits a test, and orders values. All backends use this.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::{Comparison, Literal, Test};
use base::object::FieldStep;

impl Test {
    /// Whether a value passes the test.
    pub fn fits(&self, value: &Value) -> bool {
        match self {
            Self::Compare(comparison, literal) => match comparison {
                Comparison::Equal => equals(value, literal),
                Comparison::NotEqual => !equals(value, literal),
                Comparison::Less => compare(value, literal).is_some_and(Ordering::is_lt),
                Comparison::AtMost => compare(value, literal).is_some_and(Ordering::is_le),
                Comparison::Greater => compare(value, literal).is_some_and(Ordering::is_gt),
                Comparison::AtLeast => compare(value, literal).is_some_and(Ordering::is_ge),
            },
            Self::Contains(literal) => match (value, literal) {
                (Value::Array(_), literal) => equals(value, literal),
                (Value::String(text), literal) => {
                    text_of(literal).is_some_and(|part| text.contains(part))
                }
                _ => false,
            },
            Self::StartsWith(start) => {
                value.as_str().is_some_and(|text| text.starts_with(&**start))
            }
            Self::Glob(pattern) => value.as_str().is_some_and(|text| pattern.fits(text)),
            Self::In(literals) => literals.iter().any(|literal| equals(value, literal)),
            Self::Exists => true,
        }
    }
}

/// Whether a value, or one of a list, is that of a literal.
fn equals(value: &Value, literal: &Literal) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(|element| equals(element, literal)),
        value => compare(value, literal) == Some(Ordering::Equal),
    }
}

fn text_of(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::Text(text) | Literal::Time(_, text) => Some(text),
        _ => None,
    }
}

/// Compares a value with a literal of its type. Booleans are equal or not; they have no order.
fn compare(value: &Value, literal: &Literal) -> Option<Ordering> {
    match (value, literal) {
        (Value::Null, Literal::Null) => Some(Ordering::Equal),
        (Value::Bool(one), Literal::Bool(other)) => (one == other).then_some(Ordering::Equal),
        (Value::Number(one), Literal::Number(other)) => Some(compare_numbers(one, other)),
        (Value::Number(one), Literal::Time(other, _)) => {
            Some(compare_numbers(one, &Number::from(other.0)))
        }
        (Value::String(one), literal) => text_of(literal).map(|other| one.as_str().cmp(other)),
        _ => None,
    }
}

/// A JSON number: a signed or unsigned 64-bit integer, or a double.
enum Amount {
    Whole(i128),
    Double(f64),
}

impl Amount {
    fn of(number: &Number) -> Self {
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        // `serde_json` parses every number as one of the three.
        whole.map_or_else(|| Self::Double(number.as_f64().unwrap_or_default()), Self::Whole)
    }
}

fn compare_numbers(one: &Number, other: &Number) -> Ordering {
    match (Amount::of(one), Amount::of(other)) {
        (Amount::Whole(one), Amount::Whole(other)) => one.cmp(&other),
        // JSON has no NaN.
        (Amount::Double(one), Amount::Double(other)) => {
            one.partial_cmp(&other).unwrap_or(Ordering::Equal)
        }
        (Amount::Whole(one), Amount::Double(other)) => compare_mixed(one, other),
        (Amount::Double(one), Amount::Whole(other)) => compare_mixed(other, one).reverse(),
    }
}

/// Compares exactly: a double cannot hold every 64-bit integer.
fn compare_mixed(whole: i128, double: f64) -> Ordering {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "beyond the range of i128 it saturates, and the order is right"
    )]
    let floor = double.floor() as i128;
    let fraction = if double.fract() == 0.0 { Ordering::Equal } else { Ordering::Less };
    whole.cmp(&floor).then(fraction)
}

/// The order of two values, see [`super`].
pub(crate) fn order_of(one: &Value, other: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) | Value::Object(_) => 4,
    };
    match (one, other) {
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        _ => rank(one).cmp(&rank(other)),
    }
}

/// The values in a JSON text that the steps lead to, in order. Only these are built.
///
/// # Errors
/// If the text is not JSON.
pub(crate) fn values_in(text: &str, steps: &[FieldStep]) -> serde_json::Result<Vec<Value>> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(vec![serde_json::from_str(text)?]);
    };
    let parts: Vec<&RawValue> = match step {
        FieldStep::Key(key) if text.starts_with('{') => {
            let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            members.remove(key).into_iter().collect()
        }
        FieldStep::Index(index) if text.starts_with('[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text)?;
            elements.into_iter().skip(*index).take(1).collect()
        }
        FieldStep::Any if text.starts_with('[') => serde_json::from_str(text)?,
        _ => serde_json::from_str(text).map(|_: IgnoredAny| Vec::new())?,
    };
    let mut found = Vec::new();
    for part in parts {
        found.extend(values_in(part.get(), rest)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use base::object::{FieldPath, values_at};

    fn number() -> impl Strategy<Value = Number> {
        let near_2_53 = -4_i64..4;
        prop_oneof![
            any::<i64>().prop_map(Number::from),
            any::<u64>().prop_map(Number::from),
            near_2_53.clone().prop_map(|by| Number::from((1_i64 << 53) + by)),
            near_2_53.prop_map(|by| Number::from(i64::MAX - 4 + by)),
            prop::num::f64::NORMAL.prop_map(|double| Number::from_f64(double).unwrap()),
            prop::sample::select(vec![
                0.0,
                -0.0,
                0.5,
                9_007_199_254_740_992.0,
                9.223_372_036_854_776e18
            ])
            .prop_map(|double| Number::from_f64(double).unwrap()),
            (-3_i64..3).prop_map(Number::from),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            number().prop_map(Value::Number),
            "[ab\"\\\\\u{0}é]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec(("[ab.\"]{0,2}", inner), 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn steps() -> impl Strategy<Value = Vec<FieldStep>> {
        let step = prop_oneof![
            "[ab.\"]{0,2}".prop_map(FieldStep::Key),
            (0_usize..3).prop_map(FieldStep::Index),
            Just(FieldStep::Any),
        ];
        prop::collection::vec(step, 0..4)
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn values_have_one_order(mut values in prop::collection::vec(value(), 3)) {
            values.sort_by(order_of);
            for (one, other) in [(0, 1), (1, 2), (0, 2)] {
                let order = order_of(&values[one], &values[other]);
                prop_assert!(order.is_le(), "{:?}", values);
                prop_assert_eq!(order_of(&values[other], &values[one]), order.reverse());
            }
        }

        #[test]
        fn numbers_have_one_order(mut numbers in prop::collection::vec(number(), 3)) {
            numbers.sort_by(compare_numbers);
            prop_assert!(compare_numbers(&numbers[0], &numbers[2]).is_le(), "{:?}", numbers);
        }

        #[test]
        fn a_json_text_gives_the_values_that_the_parsed_one_gives(value in value(), steps in steps()) {
            let plain: Vec<Value> = values_at(&value, &steps).into_iter().cloned().collect();
            prop_assert_eq!(values_in(&value.to_string(), &steps).unwrap(), plain);
        }
    }

    #[test]
    fn numbers_compare_by_value_and_exactly() {
        let number = |text: &str| serde_json::from_str::<Number>(text).unwrap();
        for (one, order, other) in [
            ("1", Ordering::Equal, "1.0"),
            ("0", Ordering::Equal, "-0.0"),
            ("9007199254740993", Ordering::Greater, "9007199254740992.0"),
            ("18446744073709551615", Ordering::Less, "1.8446744073709552e19"),
            ("9223372036854775807", Ordering::Less, "9223372036854775808"),
            ("-1", Ordering::Greater, "-1.5"),
            ("5", Ordering::Less, "1e300"),
            ("5", Ordering::Greater, "-1e300"),
        ] {
            assert_eq!(compare_numbers(&number(one), &number(other)), order, "{one} {other}");
        }
    }

    #[test]
    fn a_list_equals_what_one_of_its_elements_equals() {
        let tags = json!(["work", "urgent"]);
        let fits = |comparison, text: &str| {
            Test::Compare(comparison, Literal::Text(text.into())).fits(&tags)
        };
        assert!(fits(Comparison::Equal, "work") && !fits(Comparison::NotEqual, "work"));
        assert!(!fits(Comparison::Equal, "home") && fits(Comparison::NotEqual, "home"));
    }

    #[test]
    fn values_of_other_types_are_not_equal_and_have_no_order() {
        let values = [json!(null), json!(false), json!(0), json!("0"), json!([1]), json!({})];
        let literals = [
            Literal::Null,
            Literal::Bool(false),
            Literal::Number(0.into()),
            Literal::Text("0".into()),
        ];
        for (place, value) in values.iter().enumerate() {
            for (other, literal) in literals.iter().enumerate().filter(|(other, _)| *other != place)
            {
                let fits = |comparison| Test::Compare(comparison, literal.clone()).fits(value);
                assert!(fits(Comparison::NotEqual), "{place} {other}");
                for comparison in [Comparison::Equal, Comparison::Less, Comparison::AtLeast] {
                    assert!(!fits(comparison), "{place} {other} {comparison:?}");
                }
            }
        }
    }

    #[test]
    fn a_time_compares_with_numbers_and_with_texts() {
        let time = base::object::Timestamp::parse("1970-01-02").unwrap();
        let later = Test::Compare(Comparison::Greater, Literal::Time(time, "1970-01-02".into()));
        assert!(later.fits(&json!(86_400_001)) && !later.fits(&json!(86_400_000)));
        assert!(later.fits(&json!("1970-01-03")) && !later.fits(&json!("1970-01-02")));
        assert_eq!("tags[0]".parse::<FieldPath>().unwrap().steps().len(), 2);
    }
}
