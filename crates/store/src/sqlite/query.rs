//! Metadata queries in SQL. The statement finds versions and joins conditions. `store::query`
//! decides whether a value fits, through functions registered with every reading connection. Values
//! are bound, never written into a statement.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Connection, Result as SqlResult, ToSql, ffi};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::Step;
use super::pack::{self, Packs};
use super::read::{self, Point, VERSIONS, clip, end_of_prefix};
use super::rows;
use super::statements::Statements;
use crate::query::{FieldPaths, QueryField, QueryRoot, key_of, values_in};
use crate::{Comparison, Condition, Literal, Query, Test, Version};
use base::error::Error;
use base::object::{FieldPath, FieldStep};

/// Whether any of the values at a place fits: `fits(value, steps, test)`.
const FITS: &str = "palimpsest_fits";

/// Bytes that order the first value at a place, or NULL: `order_key(value, steps)`.
const ORDER_KEY: &str = "palimpsest_order_key";

/// Fields as JSON, from a row's fields and the pack that they may be in: `fields(fields, pack)`.
const FIELDS: &str = "palimpsest_fields";

/// A property of `version AS v`: the payload field of that name, or the value derived from the
/// text, from the relation of the kind `Properties` (10).
macro_rules! property {
    ($name:literal) => {
        concat!(
            "coalesce(palimpsest_fields(v.fields, (SELECT p.texts FROM pack AS p WHERE p.pack = \
             CAST(v.fields AS INTEGER) / 4096)) -> '$.",
            $name,
            "', (SELECT r.data -> '$.written.properties.",
            $name,
            "' FROM relation AS r WHERE r.object = v.object AND r.part = -1 AND r.kind = 10 \
             AND r.from_tx <= v.tx_id AND (r.until_tx IS NULL OR r.until_tx > v.tx_id)))"
        )
    };
}

/// The fields of `version AS v`.
const FIELDS_OF_V: &str = "palimpsest_fields(v.fields, (SELECT p.texts FROM pack AS p WHERE p.pack = \
     CAST(v.fields AS INTEGER) / 4096))";

/// Registers the functions that queries use.
pub(super) fn register(connection: &Connection) -> SqlResult<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function(FITS, 3, flags, |context| {
        let test = parsed::<Test>(context, 2)?;
        Ok(values(context)?.iter().any(|value| test.fits(value)))
    })?;
    connection.create_scalar_function(FIELDS, 2, flags, |context| {
        let stored = context.get_raw(0).as_str().map_err(|_| damaged())?.to_owned();
        match (rows::fields_place(&stored), context.get_raw(1)) {
            (None, _) => Ok(stored),
            (Some(place), ValueRef::Blob(frame)) => {
                pack::text(frame, place).map_err(|_| damaged())?.ok_or_else(damaged)
            }
            _ => Err(damaged()),
        }
    })?;
    connection.create_scalar_function(ORDER_KEY, 2, flags, |context| {
        Ok(values(context)?.first().map(key_of))
    })
}

pub(super) fn query(connection: &Connection, store_id: &str, query: &Query) -> Step<Vec<Version>> {
    query.check()?;
    let Point { condition: visible, value: at } = Point::new(query.at);
    let mut sql = Sql { is_page: is_page(query), ..Sql::default() };
    sql.parameters.push((":at".to_owned(), at.into()));
    sql.push(&format!(
        "WHERE v.tx_id =
         (SELECT max(tx_id) FROM version WHERE object = o.object AND tx_id <= {visible}) AND "
    ));
    sql.joined(query.condition.as_slice(), " AND ", "TRUE")?;
    sql.push(" ORDER BY ");
    for order in &query.order {
        sql.order_key(&QueryField::of(&order.field)?)?;
        sql.push(if order.descending { " DESC NULLS LAST, " } else { " ASC NULLS LAST, " });
    }
    sql.push("o.id LIMIT ");
    // Negative: no limit.
    sql.bind(query.limit.map_or(-1, clip));
    sql.push(" OFFSET ");
    sql.bind(clip(query.offset));
    read::versions(connection, store_id, &sql.text, &*sql.parameters())
}

pub(super) fn has_field(connection: &Connection, path: &FieldPath) -> Step<bool> {
    let mut sql = Sql::default();
    // Newest first: a field in current use is then found soon.
    sql.push(&format!("SELECT EXISTS (SELECT 1 {VERSIONS} WHERE "));
    sql.test(&QueryField::of(path)?, &Test::Exists)?;
    sql.push(" ORDER BY v.version DESC)");
    connection.one(&sql.text, &*sql.parameters(), |row| Ok(row.get(0)?))
}

pub(super) fn field_paths(connection: &Connection) -> Step<Vec<FieldPath>> {
    let packs = Packs::new(connection);
    let mut paths = FieldPaths::default();
    connection.each("SELECT fields FROM version ORDER BY version DESC", [], |row| {
        let fields = rows::fields(rows::str_ref(row, 0)?, &packs)?;
        Ok(paths.add(&fields).is_continue())
    })?;
    Ok(paths.into_list())
}

/// Whether it goes on from a version to older ones, see [`Query::newest_first`].
fn is_page(query: &Query) -> bool {
    let is_tx = |path: &FieldPath| *path == FieldPath::key("tx_id");
    let bounds = |condition: &Condition| matches!(condition, Condition::Test(path, Test::Compare(Comparison::AtMost, _)) if is_tx(path));
    let by_tx = query.order.first().is_some_and(|order| order.descending && is_tx(&order.field));
    by_tx && matches!(&query.condition, Some(Condition::All(all)) if all.iter().any(bounds))
}

/// A statement under construction.
#[derive(Default)]
struct Sql {
    text: String,
    parameters: Vec<(String, SqlValue)>,
    /// Whether to walk from a version on: for each page by type, SQLite would rather sort all
    /// objects of the type.
    is_page: bool,
}

impl Sql {
    fn parameters(&self) -> Vec<(&str, &dyn ToSql)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value as &dyn ToSql)).collect()
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bind(&mut self, value: impl Into<SqlValue>) {
        let name = format!(":p{}", self.parameters.len());
        self.text.push_str(&name);
        self.parameters.push((name, value.into()));
    }

    /// Never NULL, so that `NOT` inverts it.
    fn condition(&mut self, condition: &Condition) -> Step<()> {
        match condition {
            Condition::All(all) => self.joined(all, " AND ", "TRUE"),
            Condition::Any(any) => self.joined(any, " OR ", "FALSE"),
            Condition::Not(inner) => {
                self.push("NOT (");
                self.condition(inner)?;
                self.push(")");
                Ok(())
            }
            Condition::Test(path, test) => {
                let field = QueryField::of(path)?;
                if self.by_index(&field, test) { Ok(()) } else { self.test(&field, test) }
            }
        }
    }

    fn joined(&mut self, conditions: &[Condition], word: &str, none: &str) -> Step<()> {
        if conditions.is_empty() {
            self.push(none);
        }
        for (place, condition) in conditions.iter().enumerate() {
            self.push(if place > 0 { word } else { "" });
            self.push("(");
            self.condition(condition)?;
            self.push(")");
        }
        Ok(())
    }

    fn test(&mut self, field: &QueryField, test: &Test) -> Step<()> {
        if field.root == QueryRoot::Nickname {
            self.push("EXISTS (SELECT 1 FROM nickname AS n WHERE n.object = o.object AND ");
        }
        self.push(FITS);
        self.push("(");
        self.place(field, column(field.root))?;
        self.push(", ");
        self.bind(json(test)?);
        self.push(")");
        if field.root == QueryRoot::Nickname {
            self.push(")");
        }
        Ok(())
    }

    fn order_key(&mut self, field: &QueryField) -> Step<()> {
        if field.root == QueryRoot::TxId {
            // In the order of an index.
            self.push(column(field.root));
            return Ok(());
        }
        self.push(ORDER_KEY);
        self.push("(");
        let column = match field.root {
            QueryRoot::Nickname => {
                "(SELECT min(n.nickname) FROM nickname AS n WHERE n.object = o.object)"
            }
            root => column(root),
        };
        self.place(field, column)?;
        self.push(")");
        Ok(())
    }

    /// Where the values of a field are: a column, and the steps inside it if it holds JSON.
    fn place(&mut self, field: &QueryField, column: &str) -> Step<()> {
        self.push(column);
        self.push(", ");
        self.bind(is_json(field.root).then(|| json(&field.steps)).transpose()?);
        Ok(())
    }

    /// Adds a test in a form that an index can answer; false if there is no such form.
    fn by_index(&mut self, field: &QueryField, test: &Test) -> bool {
        let column = match field.root {
            // Not by the index of types.
            QueryRoot::Kind if self.is_page => "+o.type",
            root @ (QueryRoot::Id | QueryRoot::Kind | QueryRoot::TxId | QueryRoot::SystemTime) => {
                column(root)
            }
            _ => return false,
        };
        let is_text = matches!(field.root, QueryRoot::Id | QueryRoot::Kind);
        match test {
            Test::Compare(comparison, literal) => {
                let value = match literal {
                    Literal::Text(given) | Literal::Time(_, given) if is_text => {
                        SqlValue::from(given.clone())
                    }
                    Literal::Time(time, _) if !is_text => SqlValue::from(time.0),
                    Literal::Number(number) if !is_text => match number.as_i64() {
                        Some(whole) => SqlValue::from(whole),
                        None => return false,
                    },
                    _ => return false,
                };
                self.push(&format!("{column} {} ", <&str>::from(comparison)));
                let leaves_out_toolcalls = field.root == QueryRoot::Kind
                    && *comparison == Comparison::Equal
                    && value != SqlValue::from("toolcall".to_owned());
                self.bind(value);
                if leaves_out_toolcalls {
                    // Explicit, so that SQLite may use the index without toolcalls.
                    self.push(" AND o.type <> 'toolcall'");
                }
            }
            Test::StartsWith(start) if is_text => {
                self.push(column);
                self.push(" >= ");
                self.bind(start.clone());
                if let Some(end) = end_of_prefix(start) {
                    self.push(" AND ");
                    self.push(column);
                    self.push(" < ");
                    self.bind(end);
                }
            }
            _ => return false,
        }
        true
    }
}

/// The column of what a path begins in.
fn column(root: QueryRoot) -> &'static str {
    match root {
        QueryRoot::Id => "o.id",
        QueryRoot::Kind => "o.type",
        QueryRoot::Source => "o.source",
        QueryRoot::IdentityHash => "lower(hex(o.identity_hash))",
        QueryRoot::TxId => "v.tx_id",
        QueryRoot::SystemTime => "t.system_time",
        QueryRoot::OriginStore => {
            "coalesce(v.origin_store, (SELECT value FROM meta WHERE key = 'store_id'))"
        }
        QueryRoot::OriginTx => "coalesce(v.origin_tx, v.tx_id)",
        QueryRoot::OriginTime => "coalesce(v.origin_time, t.system_time)",
        QueryRoot::ContentHash => "lower(hex(v.content_hash))",
        QueryRoot::SourceHash => "lower(nullif(hex(v.source_hash), ''))",
        QueryRoot::HasContent => "iif(v.content IS NULL, 'false', 'true')",
        QueryRoot::ItemCount => "v.item_count",
        QueryRoot::Redacted => "v.redacted",
        QueryRoot::Forgotten => "iif(o.forgotten, 'true', 'false')",
        QueryRoot::Nickname => "n.nickname",
        QueryRoot::Additional => "v.additional",
        QueryRoot::Payload => FIELDS_OF_V,
        QueryRoot::Tags => property!("tags"),
        QueryRoot::FrontMatter => property!("front_matter"),
    }
}

/// Whether the column holds JSON.
fn is_json(root: QueryRoot) -> bool {
    root.has_members() || matches!(root, QueryRoot::HasContent | QueryRoot::Forgotten)
}

/// The values at the place that the first two arguments name.
fn values(context: &Context<'_>) -> SqlResult<Vec<Value>> {
    let steps = match context.get_raw(1) {
        ValueRef::Null => None,
        _ => Some(parsed::<Vec<FieldStep>>(context, 1)?),
    };
    let value = match (context.get_raw(0), steps) {
        (ValueRef::Null, _) => return Ok(Vec::new()),
        (ValueRef::Text(text), Some(steps)) => {
            let text = std::str::from_utf8(text).map_err(|_| damaged())?;
            return values_in(text, &steps).map_err(|_| damaged());
        }
        (ValueRef::Text(text), None) => {
            Value::from(std::str::from_utf8(text).map_err(|_| damaged())?)
        }
        (ValueRef::Integer(number), None) => Value::from(number),
        _ => return Err(damaged()),
    };
    Ok(vec![value])
}

/// An argument that is the same for all rows, parsed once.
fn parsed<T: DeserializeOwned + Send + Sync + 'static>(
    context: &Context<'_>,
    argument: std::ffi::c_int,
) -> SqlResult<std::sync::Arc<T>> {
    context.get_or_create_aux(argument, |value| -> Result<T, rusqlite::Error> {
        serde_json::from_str(value.as_str()?).map_err(|_| damaged())
    })
}

/// The error for a value that was not written in this form.
fn damaged() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None)
}

fn json(value: &(impl Serialize + ?Sized)) -> Step<String> {
    serde_json::to_string(value).map_err(|error| Error::internal(error.to_string()).into())
}
