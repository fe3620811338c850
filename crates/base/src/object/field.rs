//! Paths of values inside JSON: `args.command`, `tags[0]`, `file_refs[*]`, `"odd key".x`. Parses
//! and looks up; nothing else.

use std::fmt;
use std::iter::Peekable;
use std::str::{CharIndices, FromStr};

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Most steps of a path. Deeper JSON is not read either.
const MAX_STEPS: usize = 64;

/// Words of the query language. A path that begins with one must quote it.
const RESERVED: [&str; 14] = [
    "and",
    "or",
    "not",
    "in",
    "contains",
    "starts_with",
    "exists",
    "missing",
    "order",
    "by",
    "asc",
    "desc",
    "limit",
    "offset",
];

/// One step into JSON.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldStep {
    /// The member of an object.
    Key(String),
    /// The element of an array, from 0.
    Index(usize),
    /// Every element of an array.
    Any,
}

/// A path of steps, the first of them a key.
///
/// Text form: keys separated by dots, `[0]` for an element, `[*]` for any element. A key of
/// letters, digits, `_`, `-` and `$` that does not begin with a digit is written as it is. Any
/// other key is written as a JSON string, as is a word of the query language in first place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(Vec<FieldStep>);

/// Why a text is not a path: the byte offset, and what was expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misfit {
    pub offset: usize,
    pub expected: &'static str,
}

impl FieldPath {
    /// The path of a member of the outermost object.
    pub fn key(key: impl Into<String>) -> Self {
        Self(vec![FieldStep::Key(key.into())])
    }

    /// Appends a member of an object.
    #[must_use]
    pub fn member(mut self, key: impl Into<String>) -> Self {
        self.0.push(FieldStep::Key(key.into()));
        self
    }

    /// Appends an element of an array.
    #[must_use]
    pub fn element(mut self, index: usize) -> Self {
        self.0.push(FieldStep::Index(index));
        self
    }

    /// The steps.
    pub fn steps(&self) -> &[FieldStep] {
        &self.0
    }

    /// Whether it can have several values.
    pub fn is_plural(&self) -> bool {
        self.0.contains(&FieldStep::Any)
    }

    /// The values at this path, in order.
    pub fn values<'v>(&self, fields: &'v Map<String, Value>) -> Vec<&'v Value> {
        let Some((FieldStep::Key(key), rest)) = self.0.split_first() else { return Vec::new() };
        fields.get(key).map(|value| values_at(value, rest)).unwrap_or_default()
    }

    /// Reads the path at the start of `text`; returns it with the number of its bytes.
    pub fn read(text: &str) -> Result<(Self, usize), Misfit> {
        let mut reader = Reader { text, chars: text.char_indices().peekable() };
        let mut steps = vec![FieldStep::Key(reader.key()?)];
        while let Some(step) = reader.step()? {
            if steps.len() == MAX_STEPS {
                let expected = "a path of at most 64 steps";
                return Err(Misfit { offset: reader.offset(), expected });
            }
            steps.push(step);
        }
        Ok((Self(steps), reader.offset()))
    }
}

/// The values inside `value` that the steps lead to, in order.
pub fn values_at<'v>(value: &'v Value, steps: &[FieldStep]) -> Vec<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return vec![value] };
    let next = match (step, value) {
        (FieldStep::Key(key), Value::Object(members)) => members.get(key),
        (FieldStep::Index(index), Value::Array(elements)) => elements.get(*index),
        (FieldStep::Any, Value::Array(elements)) => {
            return elements.iter().flat_map(|element| values_at(element, rest)).collect();
        }
        _ => None,
    };
    next.map(|next| values_at(next, rest)).unwrap_or_default()
}

impl FromStr for FieldPath {
    type Err = Error;

    /// # Errors
    /// `INVALID_ARGUMENT` naming the column, from 1, and what was expected there.
    fn from_str(text: &str) -> Result<Self> {
        let problem = |misfit: Misfit| {
            let column = text[..misfit.offset].chars().count() + 1;
            Error::argument(
                "field",
                format!("`{text}`: expected {} at column {column}", misfit.expected),
            )
        };
        match Self::read(text) {
            Ok((path, length)) if length == text.len() => Ok(path),
            Ok((_, offset)) => Err(problem(Misfit { offset, expected: "`.`, `[` or the end" })),
            Err(misfit) => Err(problem(misfit)),
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                FieldStep::Index(index) => write!(formatter, "[{index}]")?,
                FieldStep::Any => formatter.write_str("[*]")?,
                FieldStep::Key(key) => {
                    if place > 0 {
                        formatter.write_str(".")?;
                    }
                    if is_plain(key) && !(place == 0 && is_reserved(key)) {
                        formatter.write_str(key)?;
                    } else {
                        write!(formatter, "{}", Value::from(key.as_str()))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether a word belongs to the query language; case does not matter.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(word))
}

fn starts_key(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn continues_key(c: char) -> bool {
    c.is_alphanumeric() || "_-$".contains(c)
}

fn is_plain(key: &str) -> bool {
    key.starts_with(starts_key) && key.chars().all(continues_key)
}

struct Reader<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
}

impl Reader<'_> {
    fn offset(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(offset, _)| *offset)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    fn step(&mut self) -> Result<Option<FieldStep>, Misfit> {
        if self.take('.') {
            return Ok(Some(FieldStep::Key(self.key()?)));
        }
        if self.take('[') {
            return Ok(Some(self.element()?));
        }
        Ok(None)
    }

    fn key(&mut self) -> Result<String, Misfit> {
        let start = self.offset();
        if self.take('"') {
            return self.quoted(start);
        }
        if self.chars.next_if(|(_, c)| starts_key(*c)).is_none() {
            return Err(Misfit { offset: start, expected: "the name of a field" });
        }
        while self.chars.next_if(|(_, c)| continues_key(*c)).is_some() {}
        let end = self.offset();
        Ok(self.text[start..end].to_owned())
    }

    fn quoted(&mut self, start: usize) -> Result<String, Misfit> {
        let misfit = Misfit { offset: start, expected: "a JSON string" };
        while let Some((_, c)) = self.chars.next() {
            if c == '\\' {
                self.chars.next();
            } else if c == '"' {
                let end = self.offset();
                return serde_json::from_str(&self.text[start..end]).map_err(|_| misfit);
            }
        }
        Err(misfit)
    }

    fn element(&mut self) -> Result<FieldStep, Misfit> {
        let start = self.offset();
        let misfit = Misfit { offset: start, expected: "a number or `*`, then `]`" };
        let step = if self.take('*') {
            FieldStep::Any
        } else {
            while self.chars.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
            let end = self.offset();
            FieldStep::Index(self.text[start..end].parse().map_err(|_| misfit)?)
        };
        if self.take(']') { Ok(step) } else { Err(misfit) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_members_and_elements() {
        let fields = json!({"args": {"command": "ls", "a.b": [1, {"x": 2}, {"x": 3}]}, "n": null});
        let fields = fields.as_object().unwrap();
        let values = |path: &str| {
            let path: FieldPath = path.parse().unwrap();
            path.values(fields).into_iter().cloned().collect::<Vec<_>>()
        };
        assert_eq!(values("args.command"), [json!("ls")]);
        assert_eq!(values(r#"args."a.b"[0]"#), [json!(1)]);
        assert_eq!(values(r#"args."a.b"[*].x"#), [json!(2), json!(3)]);
        assert_eq!(values("n"), [json!(null)]);
        for missing in ["other", "args.other", "args[0]", "args.command.x", "n.x"] {
            assert!(values(missing).is_empty(), "{missing}");
        }
    }

    #[test]
    fn an_error_names_the_column() {
        let message = |text: &str| text.parse::<FieldPath>().unwrap_err().to_string();
        insta::assert_snapshot!(message("é..b"), @"`field` `é..b`: expected the name of a field at column 3");
        insta::assert_snapshot!(message("a[x]"), @"`field` `a[x]`: expected a number or `*`, then `]` at column 3");
        insta::assert_snapshot!(message("a b"), @"`field` `a b`: expected `.`, `[` or the end at column 2");
    }

    fn step() -> impl Strategy<Value = FieldStep> {
        prop_oneof![
            ".{0,4}".prop_map(FieldStep::Key),
            prop::sample::select(RESERVED.to_vec()).prop_map(|word| FieldStep::Key(word.into())),
            any::<usize>().prop_map(FieldStep::Index),
            Just(FieldStep::Any),
        ]
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn every_path_reads_back_from_its_text(
            key in "\\PC{0,6}",
            mut rest in prop::collection::vec(step(), 0..5),
        ) {
            rest.insert(0, FieldStep::Key(key));
            let path = FieldPath(rest);
            prop_assert_eq!(path.to_string().parse::<FieldPath>().unwrap(), path);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[a.\\[\\]*0-9\"\\\\é ]{0,12}") {
            if let Ok(path) = text.parse::<FieldPath>() {
                prop_assert_eq!(path.to_string().parse::<FieldPath>().unwrap(), path);
            }
        }
    }
}
