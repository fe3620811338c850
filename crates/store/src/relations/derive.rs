//! Derives the relations of a version or an item. Pure: looks at nothing else.
//!
//! References are recognised by their shape: `{id, content_hash, origin}`, `{object, version}` with
//! a hash for a version, and fields that name objects (`…_ref`, `…_refs`, `moved_from`,
//! `forked_from`). The arguments of a tool call are arbitrary JSON and never looked at.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Pin, Properties, Relation, RelationKind, RelationPlace, Written, named_key, slashed};
use base::markdown::{self, Document, Link, LinkKind, MarkdownField, TextPlace};
use base::object::item::tool_calls;
use base::object::{
    Envelope, FieldPath, FieldStep, Hash, ObjectId, ObjectType, Source, StaticReference,
};

/// Types of files that are read as Markdown.
const MARKDOWN_TYPES: [&str; 3] = ["md", "markdown", "mdx"];

/// Members that hold a tool call's arguments.
const ARGUMENTS: [&str; 2] = ["args", "arguments"];

/// Fields that name an object by its ID, besides those that end in `_ref`.
const NAMING: [&str; 2] = ["moved_from", "forked_from"];

/// The relations of a version, without its items: those of its fields in their order, then those of
/// its text.
pub(crate) fn of_version(
    envelope: &Envelope,
    fields: &Map<String, Value>,
    content: Option<&str>,
) -> Vec<Relation> {
    let mut found = Finder::default();
    for (name, value) in fields {
        found.member(name, value, &FieldPath::key(name.as_str()));
    }
    if let Some(path) = envelope.source.as_ref().and_then(Source::path)
        && fields.get("no_content").and_then(Value::as_str) != Some("deleted")
    {
        found.file(path);
    }
    if let Some(text) = content.filter(|_| is_markdown(envelope, fields)) {
        found.markdown(text);
    }
    found.relations
}

/// The relations of the item at a position of a document's list; none if it is not JSON. Events of
/// a session give none: the session's chat already shows what they are about, and a row for each
/// would double the disk space of relations.
pub(crate) fn of_item(kind: ObjectType, position: u64, text: &str) -> Vec<Relation> {
    if kind == ObjectType::Session {
        return Vec::new();
    }
    let Ok(item) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let mut found = Finder::default();
    let index = usize::try_from(position).unwrap_or(usize::MAX);
    let path = FieldPath::key("items").element(index);
    if kind == ObjectType::Chat {
        for (id, path) in tool_calls(&item["message"], &path.clone().member("message")) {
            found.add(RelationKind::Call, Written::Call { id: id.to_owned(), position }, &path);
        }
        found.said(&item["message"], &path.clone().member("message"));
    }
    found.value(&item, &path);
    found.relations
}

/// `None` where a document has neither tags nor front matter.
fn properties(document: &Document) -> Option<Properties> {
    let mut seen = HashSet::new();
    let new = document.tags.iter().filter(|tag| seen.insert(tag.name.as_str()));
    let tags: Vec<String> = new.map(|tag| tag.name.clone()).collect();
    let front_matter = document.front_matter.as_ref().map(|matter| matter.fields.clone());
    (!tags.is_empty() || front_matter.is_some()).then_some(Properties { tags, front_matter })
}

fn is_markdown(envelope: &Envelope, fields: &Map<String, Value>) -> bool {
    let file_type = fields.get("file_type").and_then(Value::as_str).unwrap_or_default();
    envelope.kind == ObjectType::File && is_markdown_type(file_type)
}

/// Whether files of a type, as [`base::object::file_type`] gives it, are read as Markdown.
pub fn is_markdown_type(file_type: &str) -> bool {
    MARKDOWN_TYPES.iter().any(|known| known.eq_ignore_ascii_case(file_type))
}

#[derive(Default)]
struct Finder {
    relations: Vec<Relation>,
}

impl Finder {
    fn member(&mut self, name: &str, value: &Value, path: &FieldPath) {
        if ARGUMENTS.contains(&name) {
            return;
        }
        let naming = NAMING.contains(&name) || name.ends_with("_ref");
        match value {
            Value::Array(elements) if name.ends_with("_refs") => {
                for (index, element) in elements.iter().enumerate() {
                    self.named(element, &path.clone().element(index));
                }
            }
            value if naming => self.named(value, path),
            value => self.value(value, path),
        }
    }

    /// A value that names an object: an ID, `{id}`, or a static reference.
    fn named(&mut self, value: &Value, path: &FieldPath) {
        let id = match value {
            Value::String(id) => Some(id.as_str()),
            Value::Object(members) if members.get("content_hash").is_none() => {
                members.get("id").and_then(Value::as_str)
            }
            _ => None,
        };
        let Some(id) = id.filter(|id| !id.is_empty()) else { return self.value(value, path) };
        let written = Written::Object { id: ObjectId::new(id), pin: None, lines: Vec::new() };
        self.add(RelationKind::Dynamic, written, path);
    }

    fn value(&mut self, value: &Value, path: &FieldPath) {
        match value {
            Value::Object(members) => {
                if let Some(written) = static_reference(members) {
                    self.add(RelationKind::Static, written, path);
                }
                for (name, value) in members {
                    self.member(name, value, &path.clone().member(name));
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.value(element, &path.clone().element(index));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, kind: RelationKind, written: Written, path: &FieldPath) {
        let field = match path.steps().first() {
            Some(FieldStep::Key(key)) => key.clone(),
            _ => String::new(),
        };
        let place = RelationPlace { field, path: path.to_string(), line: None, range: None };
        self.push(kind, written, place);
    }

    /// Records that a file exists, and what its path says about its vault.
    fn file(&mut self, path: &str) {
        let source = FieldPath::key("path");
        self.add(RelationKind::Path, Written::Name { name: path.to_owned() }, &source);
        let slashed = slashed(path);
        if let Some((vault, _)) = slashed.rsplit_once("/.obsidian/") {
            self.add(RelationKind::Vault, Written::Name { name: vault.to_owned() }, &source);
        }
    }

    fn markdown(&mut self, text: &str) {
        let document = markdown::parse(text);
        if let Some(properties) = properties(&document) {
            let path = FieldPath::key("properties");
            self.add(RelationKind::Properties, Written::Properties(properties), &path);
        }
        for link in document.links {
            let kind = match link.kind {
                LinkKind::Wikilink => RelationKind::Wikilink,
                LinkKind::Markdown => RelationKind::Markdown,
                LinkKind::External => RelationKind::External,
            };
            let (written, place) = parts_of(link);
            self.written(kind, written, place);
        }
        for tag in document.tags {
            self.written(RelationKind::Tag, Written::Name { name: tag.name }, tag.place);
        }
        for alias in document.aliases {
            self.written(RelationKind::Alias, Written::Name { name: alias.name }, alias.place);
        }
    }

    /// The wikilinks in what a person or the model said.
    fn said(&mut self, message: &Value, path: &FieldPath) {
        if !matches!(message["role"].as_str(), Some("user" | "assistant")) {
            return;
        }
        let content = path.clone().member("content");
        let blocks = message["content"].as_array().into_iter().flatten().enumerate();
        let of_blocks = blocks.filter_map(|(at, block)| {
            let text = block["text"].as_str().filter(|_| block["type"] == "text")?;
            Some((text, content.clone().element(at).member("text")))
        });
        let whole = message["content"].as_str().map(|text| (text, content.clone()));
        for (text, path) in whole.into_iter().chain(of_blocks) {
            if !text.contains("[[") {
                continue;
            }
            for link in markdown::parse(text).links {
                if link.kind == LinkKind::Wikilink {
                    let (written, place) = parts_of(link);
                    let (line, range) = (Some(place.line as u64), Some(place.range));
                    let (field, path) = ("items".to_owned(), path.to_string());
                    let place = RelationPlace { field, path, line, range };
                    self.push(RelationKind::Wikilink, written, place);
                }
            }
        }
    }

    /// Adds a relation; a wikilink that names an object, also by what it names.
    fn push(&mut self, kind: RelationKind, written: Written, place: RelationPlace) {
        let is_named =
            matches!(&written, Written::Link { target, .. } if named_key(target).is_some());
        let relation = Relation { kind, written, place };
        if is_named && kind == RelationKind::Wikilink {
            self.relations.push(Relation { kind: RelationKind::Named, ..relation.clone() });
        }
        self.relations.push(relation);
    }

    fn written(&mut self, kind: RelationKind, written: Written, place: TextPlace) {
        let field = match place.field {
            MarkdownField::Content => "content",
            MarkdownField::FrontMatter => "front_matter",
        };
        let place = RelationPlace {
            field: field.to_owned(),
            path: place.path,
            line: Some(place.line as u64),
            range: Some(place.range),
        };
        self.push(kind, written, place);
    }
}

fn parts_of(link: Link) -> (Written, TextPlace) {
    let Link { target, embed, headings, block, alias, place, .. } = link;
    (Written::Link { target, embed, headings, block, alias }, place)
}

/// Reads `{id, content_hash, origin}` or `{object | active, version, lines | range | ranges}`.
fn static_reference(members: &Map<String, Value>) -> Option<Written> {
    if members.contains_key("content_hash") {
        let whole = Value::Object(members.clone());
        let StaticReference { id, content_hash, origin } = serde_json::from_value(whole).ok()?;
        content_hash.to_bytes()?;
        let pin = Some(Pin { content_hash, origin: Some(origin) });
        return Some(Written::Object { id, pin, lines: Vec::new() });
    }
    let id = members.get("object").or_else(|| members.get("active"))?.as_str()?;
    let content_hash = Hash::from_stored(members.get("version")?.as_str()?);
    content_hash.to_bytes()?;
    let one = members.get("lines").or_else(|| members.get("range")).into_iter();
    let several = members.get("ranges").and_then(Value::as_array).into_iter().flatten();
    let lines = one
        .chain(several)
        .filter_map(|range| Some((range.get("first")?.as_u64()?, range.get("last")?.as_u64()?)));
    let pin = Some(Pin { content_hash, origin: None });
    Some(Written::Object { id: ObjectId::new(id), pin, lines: lines.collect() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use base::object::file_fields;

    /// `kind place line: what is written`.
    fn shown(relations: &[Relation]) -> Vec<String> {
        let show = |relation: &Relation| {
            let line = relation.place.line.map(|line| format!(":{line}")).unwrap_or_default();
            let place = relation.place.full_path();
            let written = match &relation.written {
                Written::Object { id, pin, lines } => {
                    let pin = if pin.is_some() { "!" } else { "" };
                    let lines: Vec<_> = lines.iter().map(|(a, b)| format!(" {a}-{b}")).collect();
                    format!("{id}{pin}{}", lines.concat())
                }
                Written::Call { id, position } => format!("{id} at {position}"),
                Written::Link { target, embed, .. } => {
                    format!("{}{target}", if *embed { "!" } else { "" })
                }
                Written::Name { name } => name.clone(),
                Written::Properties(properties) => json!(properties).to_string(),
            };
            format!("{} {place}{line}: {written}", relation.kind.as_str())
        };
        relations.iter().map(show).collect()
    }

    fn file(path: &str) -> Envelope {
        let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
        Envelope::sourced(ObjectType::File, source).unwrap()
    }

    #[test]
    fn a_markdown_file_yields_links_tags_and_aliases_with_places() {
        let text = "---\naliases: Other\nup: \"[[Home]]\"\n---\n# A\n[[b#c|d]] ![[e]]\n## B\n#tag [x](y.md) <https://z>\n";
        let fields = file_fields("/v/a.md", Some(text));
        let found = of_version(&file("/v/a.md"), &fields, Some(text));
        let expected = [
            "path path: /v/a.md",
            r#"properties properties: {"tags":["tag"],"front_matter":{"aliases":"Other","up":"[[Home]]"}}"#,
            "wikilink front_matter.up:3: Home",
            "wikilink content#A:6: b",
            "wikilink content#A:6: !e",
            "markdown content#A#B:8: y.md",
            "external content#A#B:8: https://z",
            "tag content#A#B:8: tag",
            "alias front_matter.aliases:2: Other",
        ];
        assert_eq!(shown(&found), expected);
        let plain = file_fields("/v/a.rs", Some(text));
        assert_eq!(
            shown(&of_version(&file("/v/a.rs"), &plain, Some(text))),
            ["path path: /v/a.rs"]
        );
    }

    #[test]
    fn deleted_files_are_absent_and_obsidian_files_show_vaults() {
        let mut fields = file_fields("/v/a.md", None);
        fields.insert("no_content".into(), json!("deleted"));
        assert_eq!(shown(&of_version(&file("/v/a.md"), &fields, None)), [""; 0]);
        let path = "/v/.obsidian/plugins/x.json";
        let found = of_version(&file(path), &file_fields(path, None), None);
        assert_eq!(shown(&found), [&format!("path path: {path}"), "vault path: /v"]);
    }

    #[test]
    fn fields_give_references_by_their_shape_and_name() {
        let hash = Hash::of("x");
        let pinned = json!({"id": "p", "content_hash": hash,
            "origin": {"store_id": "s", "tx_id": 1, "time": 2}, "lines": 3});
        let fields = json!({
            "chat_ref": "chat:s", "file_refs": ["f", {"id": "g"}, pinned, 7], "moved_from": "m",
            "args": {"x_ref": "no", "object": "no", "version": hash}, "deep": [{"a": {"b_ref": "d"}}],
            "object": "no", "version": "1.0", "empty_ref": "",
        });
        let envelope = Envelope::unsourced(ObjectId::new("t"), ObjectType::Toolcall).unwrap();
        let expected = [
            "dynamic chat_ref: chat:s",
            "dynamic file_refs[0]: f",
            "dynamic file_refs[1]: g",
            "static file_refs[2]: p!",
            "dynamic moved_from: m",
            "dynamic deep[0].a.b_ref: d",
        ];
        assert_eq!(shown(&of_version(&envelope, fields.as_object().unwrap(), None)), expected);
    }

    #[test]
    fn items_give_calls_and_pinned_lines_but_nothing_of_arguments() {
        let hash = Hash::of("x");
        let call = json!({"message": {"role": "assistant", "content": [{"type": "text"},
            {"type": "toolCall", "id": "c1", "arguments": {"object": "no", "version": hash}}]}});
        let result = json!({"message": {"role": "toolResult", "toolCallId": "c1", "content": null},
            "content": {"object": "f", "version": hash, "lines": {"first": 1, "last": 9}}});
        let chat =
            |position, item: &Value| shown(&of_item(ObjectType::Chat, position, &item.to_string()));
        assert_eq!(chat(3, &call), ["call items[3].message.content[1].id: c1 at 3"]);
        let expected =
            ["call items[4].message.toolCallId: c1 at 4", "static items[4].content: f! 1-9"];
        assert_eq!(chat(4, &result), expected);
        let event = json!({"event": "file", "object": "o", "version": hash}).to_string();
        assert_eq!(of_item(ObjectType::Session, 0, &event), []);
        assert_eq!(of_item(ObjectType::Chat, 0, "no json"), []);
    }
}
