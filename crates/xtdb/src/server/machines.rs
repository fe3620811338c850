//! The documents by which machines that share know each other. Must not decide when one is written.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{At, Document, TxOp};
use super::{XtdbBackend, documents};
use base::error::Result;
use base::object::{Room, Timestamp, TxId};

/// Characters of a name that are taken; anybody who shares writes what they like.
const NAME_CHARS: usize = 255;

/// A machine that shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its host name.
    pub machine: String,
    /// Who works there; `None` if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// What a machine said of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Introduced {
    /// The ID of its store.
    pub(crate) store_id: String,
    pub(crate) machine: Machine,
    /// The last transaction that it had taken.
    pub(crate) pulled: TxId,
}

impl Introduced {
    fn document(&self) -> Document {
        let Self { store_id, machine: Machine { machine, author }, pulled } = self;
        let fields =
            [("machine", json!(machine)), ("pulled", json!(pulled)), ("author", json!(author))];
        documents::machine(store_id, fields)
    }

    /// What a document says; `None` for every other document.
    pub(super) fn read(document: &Document) -> Option<Self> {
        let store_id = documents::machine_of(document)?;
        let text =
            |name: &str| Some(document.get(name)?.as_str()?.chars().take(NAME_CHARS).collect());
        Some(Self {
            store_id: store_id.to_owned(),
            machine: Machine { machine: text("machine")?, author: text("author") },
            pulled: TxId(document.get("pulled")?.as_i64()?),
        })
    }
}

impl XtdbBackend {
    /// Says who writes here.
    pub(crate) fn introduce(&self, machine: &Machine, pulled: TxId) -> Result<()> {
        let store_id = self.writer_id.clone();
        let said = Introduced { store_id, machine: machine.clone(), pulled };
        self.change(&[TxOp::Put(said.document())])
    }

    /// All machines that said who they are, with the time when each last wrote anything, to the
    /// second.
    pub(crate) fn machines(&self) -> Result<Vec<(Introduced, Timestamp)>> {
        let query = "{:find [(pull d [*]) t] :in [[k ...]] \
                     :where [[d :type k] [(get-start-valid-time d) t]]}";
        let kinds = json!([documents::MACHINE, documents::WRITER]);
        let (mut said, mut wrote) = (Vec::new(), HashMap::new());
        for row in self.client.query(query, &[kinds], At::Latest, &Room::for_answers())? {
            let [Value::Object(document), Value::String(time)] = &row[..] else { continue };
            let time = Timestamp::parse(time).unwrap_or_default();
            if let Some(one) = Introduced::read(document) {
                said.push((one, time));
            } else if let Some(store_id) = documents::writer_of(document) {
                wrote.insert(store_id.to_owned(), time);
            }
        }
        for (one, seen) in &mut said {
            *seen = wrote.get(&one.store_id).copied().unwrap_or(*seen).max(*seen);
        }
        said.sort_by(|(one, _), (other, _)| one.store_id.cmp(&other.store_id));
        Ok(said)
    }
}
