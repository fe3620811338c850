//! Finds objects: by type, prefix, nickname and metadata, in Datalog. Must not read contents or
//! items, or write.

use std::collections::HashSet;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::client::{At, Tx};
use super::read::{document_column, text_column};
use super::{XtdbBackend, documents};
use base::error::Result;
use base::object::{FieldPath, FieldStep, Nickname, ObjectId, ObjectType, Origin, Room, TxId};
use store::query::{FieldPaths, QueryCandidate, QueryField, QueryRoot};
use store::{Comparison, Condition, Literal, Query, Test, Version};

/// Versions read at once if all must be examined.
const VERSIONS_AT_ONCE: usize = 500;

impl XtdbBackend {
    /// The IDs that a one-column query finds, in order.
    fn ids(&self, query: &str, args: &[Value], at: At) -> Result<Vec<ObjectId>> {
        let rows = self.client.query(query, args, at, &Room::for_answers())?;
        let objects = text_column(rows).filter(|id| !id.starts_with(documents::OWN));
        let mut ids: Vec<ObjectId> = objects.map(ObjectId::new).collect();
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// IDs of objects of a type, after one.
    pub(super) fn ids_of(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
    ) -> Result<Vec<ObjectId>> {
        let after = after.map_or("", ObjectId::as_str);
        let query = "{:find [e] :in [t a] :where [[e :type t] [e :identity_hash] [(> e a)]]}";
        self.ids(query, &[json!(kind), json!(after)], At::Latest)
    }

    /// The latest versions of all sessions that were not forgotten, by ID, in one request. Their transactions are those of
    /// the stores that they came from.
    pub(crate) fn sessions(&self) -> Result<Vec<Version>> {
        let room = Room::for_answers();
        let query = "{:find [(pull e [*])] :in [t] :where [[e :type t] [e :identity_hash]]}";
        let mut sessions = Vec::new();
        let kind = json!(ObjectType::Session);
        for document in document_column(self.client.query(query, &[kind], At::Latest, &room)?) {
            if documents::is_forgotten(&document) {
                continue;
            }
            let origin: Option<Origin> = documents::optional(&document, "origin")?;
            let id = ObjectId::new(documents::id_of(&document));
            sessions.extend(match origin {
                Some(Origin { tx_id, time, .. }) => {
                    let tx = Tx { id: tx_id.0, time };
                    Some(documents::version(&document, tx, &self.store_id, &room)?)
                }
                None => self.version(&id, At::Latest, &room)?,
            });
        }
        sessions.sort_by(|one, other| one.envelope.id.cmp(&other.envelope.id));
        Ok(sessions)
    }

    pub(super) fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>> {
        let query = "{:find [e] :in [p] :where [[e :identity_hash] [(>= e p)]]}";
        let mut ids = self.ids(query, &[json!(prefix)], At::Latest)?;
        ids.retain(|id| id.as_str().starts_with(prefix));
        ids.truncate(limit);
        Ok(ids)
    }

    pub(super) fn owner(&self, nickname: &Nickname) -> Result<Option<ObjectId>> {
        let named = self.client.latest(&documents::nickname_id(nickname))?;
        named.map(|document| documents::field(&document, "object")).transpose()
    }

    pub(super) fn nicknames_of(&self, id: &ObjectId) -> Result<Vec<Nickname>> {
        let query = "{:find [n] :in [o] :where [[x :object o] [x :nickname n]]}";
        let found = self.client.query(query, &[json!(id)], At::Latest, &Room::for_answers())?;
        let names = text_column(found).map(|name| Nickname::parse(&name));
        let mut names: Vec<Nickname> = names.collect::<Result<_>>()?;
        names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        Ok(names)
    }

    /// The marks of those versions that are here, see [`super::mark`].
    pub(crate) fn known(&self, versions: &[Version]) -> Result<HashSet<String>> {
        self.present(&versions.iter().map(super::mark).collect::<Vec<_>>())
    }

    /// The objects that a person chose to forget.
    pub(super) fn forgotten(&self, at: At) -> Result<Vec<ObjectId>> {
        self.ids("{:find [e] :where [[e :forgotten true] [e :identity_hash]]}", &[], at)
    }

    /// Datalog narrows the result by comparisons that mean the same there; the rest is evaluated
    /// here.
    pub(super) fn answer(&self, query: &Query) -> Result<Vec<Version>> {
        query.check()?;
        let Some(at) = self.at(query.at)? else { return Ok(Vec::new()) };
        let mut clauses = Clauses::default();
        if let Some(condition) = &query.condition {
            clauses.narrow(condition)?;
        }
        let ids = self.ids(&clauses.text(), &clauses.values, at)?;
        let fields = query.fields();
        let names = |root: QueryRoot| {
            fields.iter().any(|path| QueryField::of(path).is_ok_and(|it| it.root == root))
        };
        let (asks_nickname, asks_forgotten) =
            (names(QueryRoot::Nickname), names(QueryRoot::Forgotten));
        let forgotten = if asks_forgotten { self.forgotten(at)? } else { Vec::new() };
        let mut candidates = Vec::new();
        for version in self.versions(&ids, at)? {
            let id = &version.envelope.id;
            let nicknames = if asks_nickname { self.nicknames_of(id)? } else { Vec::new() };
            let is_forgotten = forgotten.contains(id);
            candidates.push(QueryCandidate { version, nicknames, is_forgotten });
        }
        query.choose(&candidates)
    }

    pub(super) fn has_value(&self, path: &FieldPath) -> Result<bool> {
        let asks_nickname = QueryField::of(path)?.root == QueryRoot::Nickname;
        let mut has = false;
        self.logged_in_parts(TxId(0), VERSIONS_AT_ONCE, &mut |logged| {
            for version in logged.versions {
                let id = &version.envelope.id;
                let nicknames = if asks_nickname { self.nicknames_of(id)? } else { Vec::new() };
                has |= QueryCandidate { version, nicknames, is_forgotten: false }.has(path)?;
                if has {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(has)
    }

    pub(super) fn paths(&self) -> Result<Vec<FieldPath>> {
        let mut paths = FieldPaths::default();
        self.logged_in_parts(TxId(0), VERSIONS_AT_ONCE, &mut |logged| {
            Ok(logged.versions.iter().try_for_each(|version| paths.add(&version.fields)))
        })?;
        Ok(paths.into_list())
    }
}

/// A Datalog query for objects that may fulfil a condition: it never misses one.
#[derive(Default)]
struct Clauses {
    clauses: Vec<String>,
    values: Vec<Value>,
}

impl Clauses {
    /// Adds the demands of a condition on every object; only equality with a text or a boolean,
    /// which mean the same there.
    fn narrow(&mut self, condition: &Condition) -> Result<()> {
        match condition {
            Condition::All(all) => all.iter().try_for_each(|condition| self.narrow(condition)),
            Condition::Test(path, Test::Compare(Comparison::Equal, literal)) => {
                let value = match literal {
                    Literal::Text(text) => json!(text),
                    Literal::Bool(value) => json!(value),
                    _ => return Ok(()),
                };
                let field = QueryField::of(path)?;
                let attribute = match (field.root, &field.steps[..]) {
                    (QueryRoot::Kind, _) => Some("type".to_owned()),
                    (QueryRoot::ContentHash, _) => Some("content_hash".to_owned()),
                    (QueryRoot::SourceHash, _) => Some("source_hash".to_owned()),
                    (QueryRoot::Payload, [FieldStep::Key(name)]) => documents::asked(name, &value),
                    _ => None,
                };
                if let Some(attribute) = attribute {
                    let name = format!("v{}", self.values.len());
                    self.clauses.push(format!("[e :{attribute} {name}]"));
                    self.values.push(value);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn text(&self) -> String {
        let names: Vec<String> = (0..self.values.len()).map(|at| format!("v{at}")).collect();
        let clauses = self.clauses.join(" ");
        format!("{{:find [e] :in [{}] :where [[e :identity_hash] {clauses}]}}", names.join(" "))
    }
}
