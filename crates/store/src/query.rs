//! Metadata queries: their form and their meaning. No storage, no SQL.
//!
//! # Fields
//! - Of the envelope: `id`, `type`, `path` (the source's), `source.*`, `identity_hash`.
//! - Of the version: `tx_id`, `system_time`, `origin.store_id`, `origin.tx_id`, `origin.time`,
//!   `content_hash`, `source_hash`, `has_content`, `item_count`, `redacted.*`, `additional.NAME`
//!   (SHA-256 of an additional content).
//! - Of the object as it is now: `nickname`, `forgotten`.
//! - `tags` and `front_matter.KEY`: the payload's fields of these names, otherwise those of a
//!   Markdown file's text.
//! - Every other name is a payload field, by its path ([`FieldPath`]). `fields.NAME` always is one,
//!   even if the name is listed above.
//!
//! # Logic
//! A field has no value (it is missing), one, or several (`tags[*]`, `nickname`). A test is true if
//! any of the values matches. So every test of a missing field is false, even `!=`; only `missing`
//! is true. There is no third truth value: `not` turns false into true, so `not status = ok` finds
//! what `status != ok` finds, and also everything without a status.
//!
//! Values of different types are not equal and have no order. Numbers compare by value, exactly (`1
//! = 1.0`, `0 = -0.0`); texts by code points, case-sensitively. A time compares with numbers as
//! milliseconds since 1970, and with texts as it was written. `contains` looks for a part of a text
//! or an element of a list, and `=` holds for a list if it does for one of its elements.
//!
//! # Order
//! Null, booleans, numbers, texts, then lists and objects (all equal); objects without the field
//! come last in both directions. Ties are ordered by ID, ascending.

mod choose;
mod field;
mod fit;
mod glob;
mod parse;

use serde_json::Number;

pub(super) use self::choose::Chosen;
pub use self::choose::QueryCandidate;
pub use self::field::{FieldPaths, QueryField, QueryRoot, unknown};
pub(super) use self::fit::values_in;
pub use self::glob::Glob;
use base::error::{Error, Result};
use base::object::{AsOf, FieldPath, ObjectId, ObjectType, Timestamp, TxId};

/// Most tests in a query, far below SQLite's limits on an expression.
const MAX_TESTS: usize = 200;

/// Most levels of `not` and parentheses.
const MAX_DEPTH: usize = 32;

/// A query over metadata; contents and items are never read.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The condition on a version; `None` for all versions.
    pub condition: Option<Condition>,
    /// Order of the results; ties by ID.
    pub order: Vec<Order>,
    /// Most versions returned; `None`: all.
    pub limit: Option<u64>,
    /// Number of versions to skip at the start.
    pub offset: u64,
    /// The point in the store's history; each object has at most one version there.
    pub at: AsOf,
}

impl Default for Query {
    /// The latest version of every object, by ID.
    fn default() -> Self {
        Self { condition: None, order: Vec::new(), limit: None, offset: 0, at: AsOf::Latest }
    }
}

/// A condition on a version.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// All hold; true if there are none.
    All(Vec<Condition>),
    /// At least one holds; false if there are none.
    Any(Vec<Condition>),
    /// The inner condition does not hold.
    Not(Box<Condition>),
    /// A value of the field fits.
    Test(FieldPath, Test),
}

/// A test of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// It compares to a literal in this way.
    Compare(Comparison, Literal),
    /// It is a text that contains this text, or a list with this element.
    Contains(Literal),
    /// It is a text that begins with this.
    StartsWith(String),
    /// It is a text that matches a pattern as a whole.
    Glob(Glob),
    /// It equals one of these.
    In(Vec<Literal>),
    /// It exists; null counts.
    Exists,
}

/// How a value compares with a literal, with the sign of the text form and of SQL. A sign comes
/// before its own prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::EnumIter)]
pub enum Comparison {
    /// `=`
    #[strum(serialize = "=")]
    Equal,
    /// `!=`
    #[strum(serialize = "!=")]
    NotEqual,
    /// `<=`
    #[strum(serialize = "<=")]
    AtMost,
    /// `<`
    #[strum(serialize = "<")]
    Less,
    /// `>=`
    #[strum(serialize = ">=")]
    AtLeast,
    /// `>`
    #[strum(serialize = ">")]
    Greater,
}

/// A value to compare with.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A JSON number.
    Number(Number),
    /// A text.
    Text(String),
    /// A time as it was written, see [`Timestamp::parse`].
    Time(Timestamp, String),
}

/// One criterion of order.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The field; without `[*]`.
    pub field: FieldPath,
    /// Whether high values come first.
    pub descending: bool,
}

impl Query {
    /// Queries the latest versions that fulfil a condition, ordered by ID.
    pub fn matching(condition: Condition) -> Self {
        Self { condition: Some(condition), ..Self::default() }
    }

    /// Parses the text form: `type = toolcall and args.command contains "cargo test" order by
    /// system_time desc limit 20`.
    ///
    /// A test is a field, then `=`, `!=`, `<`, `<=`, `>`, `>=`, `contains`, `starts_with` or `~`
    /// (see [`Glob::new`]) with a value, or `in (a, b)`, or `exists`, or `missing`. Tests are
    /// combined by `not`, `and`, `or` (from strongest to weakest) and parentheses. A value is a
    /// JSON number, `true`, `false`, `null`, a date or time (ISO 8601), any other text without
    /// white space, comma or parenthesis, or a text in `"` or `'` with JSON's escapes, which always
    /// is a text. `order by FIELD [asc|desc], …`, `limit N` and `offset N` follow, each at most
    /// once. Keywords are case-insensitive.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming the column, from 1, and what was expected there; those of
    /// [`Self::check`].
    pub fn parse(text: &str) -> Result<Self> {
        let query = parse::query(text)?;
        query.check()?;
        Ok(query)
    }

    /// Restricts the query to objects of one type, and to at most `limit` versions.
    #[must_use]
    pub fn within(mut self, kind: Option<ObjectType>, limit: Option<u64>) -> Self {
        if let Some(kind) = kind {
            let is_kind = Condition::is_text(FieldPath::key("type"), kind.as_str());
            let both = [is_kind].into_iter().chain(self.condition);
            self.condition = Some(Condition::All(both.collect()));
        }
        self.limit = self.limit.into_iter().chain(limit).min();
        self
    }

    /// Puts the newest versions first, unless it has another order; `after` is the last version of
    /// the page before. What was written together was mostly stored together, so that a page of
    /// this order reads few places.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a page of a query that has another order or skips some.
    pub fn newest_first(mut self, after: Option<(TxId, &ObjectId)>) -> Result<Self> {
        let is_ordered = !self.order.is_empty();
        if !is_ordered {
            self.order.push(Order { field: FieldPath::key("tx_id"), descending: true });
        }
        let Some((tx_id, id)) = after else { return Ok(self) };
        if is_ordered || self.offset > 0 {
            return Err(Error::argument("after", "is only for queries without order and offset"));
        }
        let tx = |comparison| {
            let test = Test::Compare(comparison, Literal::Number(tx_id.0.into()));
            Condition::Test(FieldPath::key("tx_id"), test)
        };
        let behind = Test::Compare(Comparison::Greater, Literal::Text(id.as_str().to_owned()));
        let behind = Condition::Test(FieldPath::key("id"), behind);
        let follows = Condition::Any(vec![tx(Comparison::Less), behind]);
        let all = [tx(Comparison::AtMost), follows].into_iter().chain(self.condition);
        self.condition = Some(Condition::All(all.collect()));
        Ok(self)
    }

    /// Refuses what no backend can answer.
    ///
    /// # Errors
    /// `UNKNOWN_FIELD` for what the envelope or a version cannot have (`id.x`); `INVALID_ARGUMENT`
    /// beyond 200 tests or 32 levels, and for an order by several values (`tags[*]`).
    pub fn check(&self) -> Result<()> {
        let tests = self.condition.as_ref().map_or(Ok(0), |condition| condition.check(0))?;
        let wrong = |problem: String| Err(Error::argument("query", problem));
        if tests.max(self.order.len()) > MAX_TESTS {
            return wrong(format!("has more than {MAX_TESTS} tests"));
        }
        for Order { field, .. } in &self.order {
            QueryField::of(field)?;
            if field.is_plural() {
                return wrong(format!("is ordered by `{field}`, which can have several values"));
            }
        }
        Ok(())
    }

    /// Every field that the query names, including repetitions.
    pub fn fields(&self) -> Vec<&FieldPath> {
        let mut fields: Vec<_> = self.order.iter().map(|order| &order.field).collect();
        if let Some(condition) = &self.condition {
            condition.fields(&mut fields);
        }
        fields
    }
}

impl Condition {
    /// A field is this text.
    pub fn is_text(field: FieldPath, text: impl Into<String>) -> Self {
        Self::Test(field, Test::Compare(Comparison::Equal, Literal::Text(text.into())))
    }

    /// The number of tests.
    fn check(&self, depth: usize) -> Result<usize> {
        if depth > MAX_DEPTH {
            return Err(Error::argument("query", format!("has more than {MAX_DEPTH} levels")));
        }
        let mut tests = 1;
        match self {
            Self::All(inner) | Self::Any(inner) => {
                for condition in inner {
                    tests += condition.check(depth + 1)?;
                }
            }
            Self::Not(inner) => tests = inner.check(depth + 1)?,
            Self::Test(path, test) => {
                QueryField::of(path)?;
                if let Test::In(values) = test {
                    tests = values.len();
                }
            }
        }
        Ok(tests)
    }

    fn fields<'c>(&'c self, fields: &mut Vec<&'c FieldPath>) {
        match self {
            Self::All(inner) | Self::Any(inner) => {
                for condition in inner {
                    condition.fields(fields);
                }
            }
            Self::Not(inner) => inner.fields(fields),
            Self::Test(path, _) => fields.push(path),
        }
    }
}
