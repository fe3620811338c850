//! The metadata view: the fields that represent an object while its content is not in the window.
//! Pure; renders single lines, not lists.

use serde_json::{Map, Value, json};

use super::{Envelope, FieldPath, Nickname, ObjectType, quote};
use crate::error::Result;

/// The fields of an object's metadata line with their values, in order: `id`, `type`, then those of
/// its view.
///
/// The payload's field `view`, a list of names or paths of fields, decides which. If it is absent,
/// empty or malformed, the type decides: file `path`, `file_type`, `char_count`; toolcall `tool`,
/// `status`; chat `session_ref`, `turn_count`; chat segment `first_turn`, `last_turn`; none for
/// other types; then the nickname. A `view` may name `path`, `nickname`, any payload field and any
/// additional content. Fields that the object lacks are left out.
///
/// `path` is the source's; a caller that shows another one (a mount's) replaces it. `additional`
/// reads an additional content by name; it is called only for names in the view.
///
/// # Errors
/// Those of `additional`.
pub fn metadata_view(
    envelope: &Envelope,
    fields: &Map<String, Value>,
    nickname: Option<&Nickname>,
    additional: impl Fn(&str) -> Result<Option<String>>,
) -> Result<Vec<(String, Value)>> {
    let own = own_view(fields);
    let names = own.clone().unwrap_or_else(|| default_view(envelope.kind));
    let mut view =
        vec![("id".to_owned(), json!(envelope.id)), ("type".to_owned(), json!(envelope.kind))];
    for name in names {
        if view.iter().any(|(known, _)| known == name) {
            continue;
        }
        let value = match name {
            "path" => envelope.source.as_ref().and_then(|source| source.path().map(Value::from)),
            "nickname" => nickname.map(|nickname| json!(nickname)),
            _ => field(fields, name),
        };
        let value = match value {
            None if own.is_some() => additional(name)?.map(Value::from),
            value => value,
        };
        view.extend(value.map(|value| (name.to_owned(), value)));
    }
    if let (None, Some(nickname)) = (own, nickname) {
        view.push(("nickname".to_owned(), json!(nickname)));
    }
    Ok(view)
}

/// Renders a metadata line: `id=a type=file path=/a b.md short_summary="two
/// lines"`. One-line texts are written as they are, all other values as JSON, and all is
/// [`quote`]d.
pub fn metadata_line(view: &[(String, Value)]) -> String {
    let shown = |(name, value): &(String, Value)| match value {
        Value::String(text) if !text.contains(char::is_control) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    };
    view.iter().map(|field| quote::line(&shown(field)).into_owned()).collect::<Vec<_>>().join(" ")
}

fn own_view(fields: &Map<String, Value>) -> Option<Vec<&str>> {
    let names = fields.get("view")?.as_array().filter(|names| !names.is_empty())?;
    names.iter().map(Value::as_str).collect()
}

fn default_view(kind: ObjectType) -> Vec<&'static str> {
    match kind {
        ObjectType::File => vec!["path", "file_type", "char_count"],
        ObjectType::Toolcall => vec!["tool", "status"],
        ObjectType::Chat => vec!["session_ref", "turn_count"],
        ObjectType::ChatSegment => vec!["first_turn", "last_turn"],
        ObjectType::SystemPrompt | ObjectType::Session => Vec::new(),
    }
}

/// A field by its name, else by its path.
fn field(fields: &Map<String, Value>, name: &str) -> Option<Value> {
    if let Some(value) = fields.get(name) {
        return Some(value.clone());
    }
    let path: FieldPath = name.parse().ok()?;
    let values = path.values(fields);
    if path.is_plural() {
        return (!values.is_empty()).then(|| json!(values));
    }
    values.first().map(|value| (*value).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ObjectId, Source, file_fields};

    fn file() -> Envelope {
        let source = Source::Filesystem { filesystem_id: "fs".into(), path: "/a b.md".into() };
        Envelope::sourced(ObjectType::File, source).unwrap()
    }

    /// The line without its ID.
    fn line(envelope: &Envelope, fields: &Value, nickname: Option<&str>) -> String {
        let nickname = nickname.map(|name| Nickname::parse(name).unwrap());
        let additional = |name: &str| Ok((name == "long_summary").then(|| "two\nlines".to_owned()));
        let fields = fields.as_object().unwrap();
        let view = metadata_view(envelope, fields, nickname.as_ref(), additional).unwrap();
        metadata_line(&view).replace(envelope.id.as_str(), "ID")
    }

    fn unsourced(kind: ObjectType) -> Envelope {
        Envelope::unsourced(ObjectId::new("call_1"), kind).unwrap()
    }

    #[test]
    fn without_a_view_the_type_decides() {
        let fields = Value::Object(file_fields("/a b.md", Some("text")));
        assert_eq!(
            line(&file(), &fields, None),
            "id=ID type=file path=/a b.md file_type=md char_count=4"
        );
        assert_eq!(
            line(&file(), &fields, Some("plan")),
            "id=ID type=file path=/a b.md file_type=md char_count=4 nickname=plan"
        );
        let call = json!({"tool": "bash", "args_display": "ls", "status": "ok", "view": []});
        let call = line(&unsourced(ObjectType::Toolcall), &call, None);
        assert_eq!(call, "id=ID type=toolcall tool=bash status=ok");
        let chat = json!({"turn_count": 2, "session_ref": "session:s"});
        let chat = line(&unsourced(ObjectType::Chat), &chat, None);
        assert_eq!(chat, "id=ID type=chat session_ref=session:s turn_count=2");
        let session = line(&unsourced(ObjectType::Session), &json!({"harness": "pi"}), None);
        assert_eq!(session, "id=ID type=session");
    }

    #[test]
    fn a_view_chooses_fields_and_additional_contents() {
        let fields = json!({
            "view": ["short_summary", "long_summary", "args.command", "a.b", "tags[*]", "gone", "nickname", "path", "type"],
            "short_summary": "greets", "args": {"command": "ls -l"}, "a.b": true, "tags": ["x", "y"],
        });
        assert_eq!(
            line(&file(), &fields, Some("plan")),
            r#"id=ID type=file short_summary=greets long_summary="two\nlines" args.command=ls -l a.b=true tags[*]=["x","y"] nickname=plan path=/a b.md"#
        );
        assert_eq!(
            line(&file(), &json!({"view": ["char_count"], "char_count": 1}), Some("plan")),
            "id=ID type=file char_count=1"
        );
    }

    #[test]
    fn a_view_of_another_shape_counts_as_none() {
        for view in [json!("tool"), json!([1, "tool"]), json!(null)] {
            let fields = json!({"view": view, "tool": "bash", "status": "fail"});
            let shown = line(&unsourced(ObjectType::Toolcall), &fields, None);
            assert_eq!(shown, "id=ID type=toolcall tool=bash status=fail", "{view}");
        }
    }
}
