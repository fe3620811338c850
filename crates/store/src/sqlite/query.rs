//! Metadata queries. A statement finds the versions that may fulfil a query, by its indexes, and
//! gives what the query asks of them; `store::query` decides which of them do. Values are bound, never
//! written into a statement.

use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Connection, Row, ToSql};
use serde_json::Value;

use super::failure::{Failure, Step};
use super::pack::Packs;
use super::read::{Point, VERSIONS, end_of_prefix};
use super::rows::{self, VERSION_COLUMNS, str_ref};
use super::statements::Statements;
use crate::query::{Chosen, FieldPaths, QueryField, QueryRoot, values_in};
use crate::{Comparison, Condition, Literal, Order, Query, Test, Version};
use base::object::{FieldPath, FieldStep, ObjectId, values_at};

/// The nicknames of `object AS o`, as JSON.
const NICKNAMES: &str = "(SELECT json_group_array(nickname) FROM
     (SELECT nickname FROM nickname WHERE object = o.object ORDER BY nickname))";

/// The properties derived from the text of `version AS v`, as JSON: from the relation of the kind
/// `Properties` (10).
const PROPERTIES: &str = "(SELECT r.data -> '$.written.properties' FROM relation AS r
     WHERE r.object = v.object AND r.part = -1 AND r.kind = 10
     AND r.from_tx <= v.tx_id AND (r.until_tx IS NULL OR r.until_tx > v.tx_id))";

pub(super) fn query(connection: &Connection, store_id: &str, query: &Query) -> Step<Vec<Version>> {
    query.check()?;
    // One snapshot: the versions are read once it is known which ones they are.
    let snapshot = &connection.unchecked_transaction()?;
    let Point { condition: visible, value: at } = Point::new(query.at);
    let mut narrowed =
        Narrowed { parameters: vec![(":at".to_owned(), at.into())], is_page: is_page(query) };
    let mut conditions = vec![format!(
        "v.tx_id = (SELECT max(tx_id) FROM version WHERE object = o.object AND tx_id <= {visible})"
    )];
    if let Some(condition) = &query.condition {
        conditions.extend(narrowed.by(condition)?);
    }
    // In the order of an index they come as they are wanted, and the first are enough.
    let order = match query.order.first() {
        None => Some("ORDER BY o.id"),
        Some(Order { field, descending: true }) if is_tx(field) => {
            Some("ORDER BY v.tx_id DESC, o.id")
        }
        Some(Order { field, .. }) if is_tx(field) => Some("ORDER BY v.tx_id, o.id"),
        Some(_) => None,
    };
    let asked = Asked::new(&query.fields(), snapshot)?;
    let sql = format!(
        "SELECT {}, v.version, v.tx_id, o.id {VERSIONS} WHERE {} {}",
        asked.columns(),
        conditions.join(" AND "),
        order.unwrap_or_default()
    );
    let mut chosen = Chosen::new(query);
    let mut last: Option<i64> = None;
    snapshot.each(&sql, &*narrowed.parameters(), |row| {
        let tx_id: i64 = row.get("tx_id")?;
        // Those of one transaction come in the order that is wanted only if it is the last criterion.
        let is_within = query.order.len() > 1 && last == Some(tx_id);
        if order.is_some() && chosen.is_full() && !is_within {
            return Ok(false);
        }
        let (version, id): (i64, String) = (row.get("version")?, row.get("id")?);
        chosen.consider(&ObjectId::new(id), version, &|path| asked.values(row, path))?;
        last = Some(tx_id);
        Ok(true)
    })?;
    let sql = format!("SELECT {VERSION_COLUMNS} {VERSIONS} WHERE v.version = ?1");
    let read =
        |version| snapshot.one(&sql, [version], |row| rows::version(row, store_id, &asked.packs));
    chosen.into_list().map(read).collect()
}

pub(super) fn has_field(connection: &Connection, path: &FieldPath) -> Step<bool> {
    let asked = Asked::new(&[path], connection)?;
    // Newest first: a field in current use is then found soon.
    let sql = format!("SELECT {} {VERSIONS} ORDER BY v.version DESC", asked.columns());
    let mut has = false;
    connection.each(&sql, [], |row| {
        has = !asked.values(row, path)?.is_empty();
        Ok(!has)
    })?;
    Ok(has)
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

fn is_tx(path: &FieldPath) -> bool {
    *path == FieldPath::key("tx_id")
}

/// Whether it goes on from a version to older ones, see [`Query::newest_first`].
fn is_page(query: &Query) -> bool {
    let bounds = |condition: &Condition| matches!(condition, Condition::Test(path, Test::Compare(Comparison::AtMost, _)) if is_tx(path));
    let by_tx = query.order.first().is_some_and(|order| order.descending && is_tx(&order.field));
    by_tx && matches!(&query.condition, Some(Condition::All(all)) if all.iter().any(bounds))
}

/// What the versions that may fulfil a query have in common, in conditions of SQL.
struct Narrowed {
    parameters: Vec<(String, SqlValue)>,
    /// Whether to walk from a version on: for each page by type, SQLite would rather sort all
    /// objects of the type.
    is_page: bool,
}

impl Narrowed {
    fn parameters(&self) -> Vec<(&str, &dyn ToSql)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value as &dyn ToSql)).collect()
    }

    fn is(&mut self, column: &str, sign: &str, value: impl Into<SqlValue>) -> String {
        let name = format!(":p{}", self.parameters.len());
        let condition = format!("{column} {sign} {name}");
        self.parameters.push((name, value.into()));
        condition
    }

    /// What indexes can answer of a condition; empty if nothing.
    fn by(&mut self, condition: &Condition) -> Step<Vec<String>> {
        Ok(match condition {
            Condition::All(all) => {
                all.iter().map(|one| self.by(one)).collect::<Step<Vec<_>>>()?.concat()
            }
            Condition::Any(any) => {
                let before = self.parameters.len();
                let each: Vec<_> = any.iter().map(|one| self.by(one)).collect::<Step<_>>()?;
                if each.is_empty() || each.iter().any(Vec::is_empty) {
                    // One of them may be true of any version.
                    self.parameters.truncate(before);
                    return Ok(Vec::new());
                }
                let each: Vec<_> = each.iter().map(|all| all.join(" AND ")).collect();
                vec![format!("({})", each.join(" OR "))]
            }
            Condition::Not(_) => Vec::new(),
            Condition::Test(path, test) => self.by_test(QueryField::of(path)?.root, test),
        })
    }

    fn by_test(&mut self, root: QueryRoot, test: &Test) -> Vec<String> {
        let is_text = matches!(root, QueryRoot::Id | QueryRoot::Kind);
        let column = match root {
            // Not by the index of types.
            QueryRoot::Kind if self.is_page => "+o.type",
            QueryRoot::Id | QueryRoot::Kind | QueryRoot::TxId | QueryRoot::SystemTime => {
                column(root)
            }
            _ => return Vec::new(),
        };
        match test {
            Test::Compare(comparison, literal) => {
                let value = match literal {
                    Literal::Text(given) | Literal::Time(_, given) if is_text => {
                        SqlValue::from(given.clone())
                    }
                    Literal::Time(time, _) if !is_text => SqlValue::from(time.0),
                    Literal::Number(number) if !is_text => match number.as_i64() {
                        Some(whole) => SqlValue::from(whole),
                        None => return Vec::new(),
                    },
                    _ => return Vec::new(),
                };
                let leaves_out_toolcalls = root == QueryRoot::Kind
                    && *comparison == Comparison::Equal
                    && value != SqlValue::from("toolcall".to_owned());
                let mut conditions = vec![self.is(column, comparison.into(), value)];
                // Explicit, so that SQLite may use the index without toolcalls.
                conditions.extend(leaves_out_toolcalls.then(|| "o.type <> 'toolcall'".to_owned()));
                conditions
            }
            Test::StartsWith(start) if is_text => {
                let mut conditions = vec![self.is(column, ">=", start.clone())];
                conditions.extend(end_of_prefix(start).map(|end| self.is(column, "<", end)));
                conditions
            }
            _ => Vec::new(),
        }
    }
}

/// What is asked of each version.
struct Asked<'c> {
    /// The payload first.
    roots: Vec<QueryRoot>,
    packs: Packs<'c>,
}

impl<'c> Asked<'c> {
    fn new(paths: &[&FieldPath], connection: &'c Connection) -> Step<Self> {
        let mut roots = vec![QueryRoot::Payload];
        for path in paths {
            let QueryField { root, .. } = QueryField::of(path)?;
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok(Self { roots, packs: Packs::new(connection) })
    }

    fn columns(&self) -> String {
        self.roots.iter().map(|root| column(*root)).collect::<Vec<_>>().join(", ")
    }

    /// The values at a path.
    fn values(&self, row: &Row<'_>, path: &FieldPath) -> Step<Vec<Value>> {
        let QueryField { root, mut steps } = QueryField::of(path)?;
        let fields = || rows::fields_text(str_ref(row, 0)?, &self.packs);
        let column = self.roots.iter().position(|known| *known == root).unwrap_or_default();
        let inside =
            |json: &str, steps: &[FieldStep]| values_in(json, steps).map_err(Failure::damaged);
        match root {
            QueryRoot::Payload => return inside(&fields()?, &steps),
            QueryRoot::Tags | QueryRoot::FrontMatter => {
                // The payload's field of this name, otherwise what the text says.
                if let Some(value) = inside(&fields()?, &path.steps()[..1])?.first() {
                    return Ok(values_at(value, &steps).into_iter().cloned().collect());
                }
                steps = path.steps().to_vec();
            }
            QueryRoot::Nickname => steps = vec![FieldStep::Any],
            _ => {}
        }
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Vec::new(),
            ValueRef::Integer(number) => vec![number.into()],
            _ if is_json(root) => inside(str_ref(row, column)?, &steps)?,
            _ => vec![str_ref(row, column)?.into()],
        })
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
        QueryRoot::Nickname => NICKNAMES,
        QueryRoot::Additional => "v.additional",
        QueryRoot::Payload => "v.fields",
        QueryRoot::Tags | QueryRoot::FrontMatter => PROPERTIES,
    }
}

/// Whether the column holds JSON.
fn is_json(root: QueryRoot) -> bool {
    use QueryRoot::{Forgotten, HasContent, Nickname};
    root.has_members() || matches!(root, HasContent | Forgotten | Nickname)
}
