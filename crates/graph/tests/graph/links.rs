//! Links, backlinks and expansions, on memory and SQLite.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet, VecDeque};

use base::object::{
    AsOf, DynamicReference, Envelope, Hash, Nickname, ObjectId, ObjectType, Payload, Reference,
    Source, TxId, file_fields,
};
use graph::{ContentPart, Direction, Expanded, Expansion, Graph, PlacePattern, Resolved, What};
use proptest::prelude::*;
use serde_json::{Value, json};
use store::{Expected, ForgetOptions, Query, RelationKind, Store, Version};

/// Runs a test on a fresh store of either kind.
fn on_each_store(test: impl Fn(&Store)) {
    test(&Store::open(":memory:").unwrap());
    let folder = tempfile::tempdir().unwrap();
    test(&Store::open(folder.path().join("store.sqlite").to_str().unwrap()).unwrap());
}

fn file(path: &str) -> Envelope {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    Envelope::sourced(ObjectType::File, source).unwrap()
}

fn put(store: &Store, envelope: Envelope, payload: &Payload) -> Version {
    let id = envelope.id.clone();
    let mut transaction = store.begin();
    transaction.put(envelope, payload.clone(), Expected::Any).unwrap();
    transaction.commit().unwrap();
    store.require(&id, AsOf::Latest).unwrap()
}

fn note(store: &Store, path: &str, text: &str) -> Version {
    let fields = file_fields(path, Some(text));
    let content = Some(text.to_owned());
    put(store, file(path), &Payload { content, fields, ..Payload::default() })
}

fn delete(store: &Store, path: &str) {
    let mut fields = file_fields(path, None);
    fields.insert("no_content".into(), json!("deleted"));
    put(store, file(path), &Payload { fields, ..Payload::default() });
}

fn toolcall(store: &Store, id: &str, fields: &Value, text: &str) -> Version {
    let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap();
    let fields = fields.as_object().unwrap().clone();
    put(store, envelope, &Payload { content: Some(text.into()), fields, ..Payload::default() })
}

fn chat(store: &Store, items: &[Value]) -> ObjectId {
    let envelope = Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap();
    let id = envelope.id.clone();
    let add = items.iter().map(ToString::to_string).collect();
    let mut transaction = store.begin();
    transaction.splice(envelope, Payload::default(), 0, add, Expected::Absent).unwrap();
    transaction.commit().unwrap();
    id
}

/// `/v` is a vault, `/git/repo` a repository.
fn exists(_: &str, path: &str) -> bool {
    matches!(path, "/v/.obsidian" | "/git/repo/.git")
}

fn graph(store: &Store, at: AsOf) -> Graph<'_> {
    Graph::open(store, at, &exists).unwrap()
}

/// `line: state path (candidates)`.
fn shown(relations: &[Resolved]) -> Vec<String> {
    let show = |resolved: &Resolved| {
        let target = &resolved.target;
        let place = match resolved.relation.place.line {
            Some(line) => line.to_string(),
            None => resolved.relation.place.path.clone(),
        };
        let named = target.path.clone().or(target.id.as_ref().map(ToString::to_string));
        let candidates = target.candidates.iter().map(|candidate| format!(" ({})", candidate.path));
        let named = named.map(|named| format!(" {named}")).unwrap_or_default();
        format!("{place}: {}{named}{}", <&str>::from(target.state), candidates.collect::<String>())
    };
    relations.iter().map(show).collect()
}

fn links(store: &Store, id: &ObjectId, at: AsOf) -> Vec<String> {
    shown(&graph(store, at).links(id).unwrap())
}

/// Paths or IDs of the objects that link to one, with their lines.
fn backlinks(store: &Store, id: &ObjectId, at: AsOf) -> Vec<String> {
    let show = |resolved: &Resolved| {
        let version = store.require(&resolved.from, at).unwrap();
        let path =
            version.envelope.source.as_ref().and_then(|source| source.path().map(str::to_owned));
        let from = path.unwrap_or_else(|| resolved.from.to_string());
        let place = &resolved.relation.place;
        format!("{from} {}", place.line.map_or(place.path.clone(), |line| line.to_string()))
    };
    let mut shown: Vec<_> =
        graph(store, at).backlinks(id, None).unwrap().iter().map(show).collect();
    shown.sort();
    shown
}

#[test]
fn links_lead_to_the_files_of_their_vault() {
    on_each_store(|store| {
        note(store, "/v/sub/b.md", "x");
        note(store, "/other/c.md", "x");
        let pixels = Payload { fields: file_fields("/v/img/p.png", None), ..Payload::default() };
        put(store, file("/v/img/p.png"), &pixels);
        let text =
            "[[B]] ![[p.png]]\n[x](sub/b.md)\n[[c]] [[/sub/b#h|i]]\n<https://a.b>\n#tag [[#h]]";
        let a = note(store, "/v/a.md", text);
        let expected = [
            "1: found /v/sub/b.md",
            "1: found /v/img/p.png",
            "2: found /v/sub/b.md",
            "3: unresolved",
            "3: found /v/sub/b.md",
            "4: none",
            "5: found /v/a.md",
            "5: none",
        ];
        assert_eq!(links(store, &a.envelope.id, AsOf::Latest), expected);
        let of = |path| backlinks(store, &file(path).id, AsOf::Latest);
        assert_eq!(of("/v/sub/b.md"), ["/v/a.md 1", "/v/a.md 2", "/v/a.md 3"]);
        assert_eq!(of("/v/a.md"), ["/v/a.md 5"]);
        assert_eq!(of("/other/c.md"), [""; 0]);
    });
}

#[test]
fn the_root_is_the_vault_or_repository_or_own_folder() {
    on_each_store(|store| {
        for path in ["/git/repo/docs/t.md", "/git/t.md", "/free/t.md", "/free/sub/u.md"] {
            note(store, path, "x");
        }
        let repository = note(store, "/git/repo/a/x.md", "[[t]]");
        assert_eq!(
            links(store, &repository.envelope.id, AsOf::Latest),
            ["1: found /git/repo/docs/t.md"]
        );
        let beside = note(store, "/free/x.md", "[[t]] [[u]]");
        let expected = ["1: found /free/t.md", "1: found /free/sub/u.md"];
        assert_eq!(links(store, &beside.envelope.id, AsOf::Latest), expected);
        let below = note(store, "/free/sub/x.md", "[[t]]");
        assert_eq!(links(store, &below.envelope.id, AsOf::Latest), ["1: unresolved"]);
        // The store's own files of Obsidian show the vault where the folder cannot be looked at.
        note(store, "/free/.obsidian/app.json", "{}");
        assert_eq!(links(store, &below.envelope.id, AsOf::Latest), ["1: found /free/t.md"]);
    });
}

#[test]
fn ambiguous_links_name_candidates_and_unresolved_ones_aliases() {
    on_each_store(|store| {
        note(store, "/v/one/n.md", "---\naliases: [Nick]\n---\n");
        note(store, "/v/two/n.md", "x");
        let a = note(store, "/v/a.md", "[[n]]\n[[nick]]");
        let expected = ["1: found /v/one/n.md (/v/two/n.md)", "2: unresolved (/v/one/n.md)"];
        assert_eq!(links(store, &a.envelope.id, AsOf::Latest), expected);
        assert_eq!(backlinks(store, &file("/v/two/n.md").id, AsOf::Latest), [""; 0]);
    });
}

#[test]
fn wikilinks_name_objects_as_models_and_people_do() {
    on_each_store(|store| {
        let (first, second) = (note(store, "/v/b.md", "one"), note(store, "/v/b.md", "# H\ntwo"));
        let chat = chat(store, &[json!({ "message": { "role": "user", "content": "x" } })]);
        let fields = json!({ "chat_ref": chat, "provider_call_id": "call_0" });
        let call = toolcall(store, "0198c7b2-aaaa-7000-8000-000000000001", &fields, "out");
        let mut transaction = store.begin();
        let nickname = Nickname::parse("entry").unwrap();
        transaction.name(nickname, Some(call.envelope.id.clone()));
        transaction.commit().unwrap();
        let id = first.envelope.id.as_str();
        let text = format!(
            "[[{id}]] [[{}]] [[{}@{}#H]] [[b@-1]]\n[[entry]] [[{}:1-1]] [[b:2-2]]\n[[nothing]] [[b@9999]]",
            &id[..12],
            &id[..8],
            first.tx_id.0,
            call.envelope.id,
        );
        let a = note(store, "/v/a.md", &text);
        let links = graph(store, AsOf::Latest).links(&a.envelope.id).unwrap();
        let versions: Vec<_> = links.iter().map(|link| link.target.tx_id).collect();
        let (one, two) = (Some(first.tx_id), Some(second.tx_id));
        let said = Some(call.tx_id);
        assert_eq!(versions, [two, two, one, one, said, said, two, None, two]);
        assert_eq!(<&str>::from(links[7].target.state), "unresolved");
        let parts: Vec<_> =
            links.iter().map(|link| ContentPart::of(&link.relation.written)).collect();
        assert_eq!(parts[5], Some(ContentPart::Lines(vec![(1, 1)])));
        assert_eq!(parts[2], ContentPart::parse("H"));
        let back = |id| backlinks(store, id, AsOf::Latest);
        assert_eq!(back(&call.envelope.id), ["/v/a.md 2", "/v/a.md 2"]);
        assert_eq!(back(&first.envelope.id).len(), 6, "{:?}", back(&first.envelope.id));
        let roots = vec![Reference::Dynamic(DynamicReference { id: a.envelope.id.clone() })];
        let wanted = Expansion { roots, what: What::Content, ..Expansion::default() };
        let nodes = graph(store, AsOf::Latest).expand(&wanted).unwrap().nodes;
        let contents: Vec<_> = nodes.iter().skip(1).map(|node| node.content.as_deref()).collect();
        let all = Some("# H\ntwo");
        assert_eq!(contents, [all, None, Some("one"), Some("out"), Some("out"), Some("two"), None]);
    });
}

#[test]
fn a_handle_is_what_it_meant_to_the_session_that_wrote_it() {
    on_each_store(|store| {
        let said = json!({ "message": { "role": "assistant", "content": [
            { "type": "text", "text": "see [[t1]] and `[[t2]]`, then [[later.md]]" }
        ] } });
        let chat = chat(store, &[said]);
        put_session_of(store, &chat);
        let call = toolcall(store, "x", &json!({ "chat_ref": chat }), "out");
        let write = |id: &str, text: &str| {
            let file = file("/v/a.md").id;
            let args = json!({ "path": "a.md", "content": text });
            toolcall(store, id, &json!({ "chat_ref": chat, "args": args, "file_refs": [file] }), "")
        };
        let a = note(store, "/v/a.md", "[[t1]] [[t9]]");
        let last = Cell::new(TxId(0));
        let meant = |session: &ObjectId, name: &str, at: AsOf| {
            assert_eq!(session.as_str(), "session:s");
            // A path leads to what the session met later, too.
            Ok(match (name, at) {
                ("t1", _) => vec![ObjectId::new("x")],
                ("later.md", AsOf::Tx(at)) if at >= last.get() => vec![ObjectId::new("x")],
                _ => Vec::new(),
            })
        };
        let graph = || graph(store, AsOf::Latest).with_sessions(&meant);
        let of = |id| shown(&graph().links(id).unwrap());
        assert_eq!(of(&a.envelope.id), ["1: unresolved", "1: unresolved"], "nobody wrote it");
        write("w1", "about [[t1]] and [[t9]]");
        assert_eq!(of(&a.envelope.id), ["1: found x", "1: unresolved"]);
        last.set(note(store, "/v/later.md", "x").tx_id);
        let found = graph().links(&chat).unwrap();
        let links: Vec<_> =
            found.iter().filter(|link| link.relation.place.line.is_some()).collect();
        assert_eq!(links.len(), 2, "code is not a link");
        for link in links {
            assert_eq!(link.target.id, Some(call.envelope.id.clone()));
        }
        let back = graph().backlinks(&call.envelope.id, None).unwrap();
        let from: Vec<&str> = back.iter().map(|link| link.from.as_str()).collect();
        assert_eq!(from.len(), 2, "{from:?}");
        let other = |_: &ObjectId, _: &str, at: AsOf| Ok(vec![ObjectId::new(format!("o{at}"))]);
        write("w2", "[[t1]] again");
        let open = Graph::open(store, AsOf::Latest, &exists).unwrap().with_sessions(&other);
        let target = open.links(&a.envelope.id).unwrap().remove(0).target;
        assert_eq!((<&str>::from(target.state), target.candidates.len()), ("ambiguous", 2));
    });
}

/// A chat that names its session.
fn put_session_of(store: &Store, chat: &ObjectId) {
    let version = store.require(chat, AsOf::Latest).unwrap();
    let fields = json!({ "session_ref": "session:s" }).as_object().unwrap().clone();
    let mut transaction = store.begin();
    let payload = Payload { fields, ..Payload::default() };
    transaction
        .splice(version.envelope, payload, 1, Vec::new(), Expected::Latest(version.tx_id))
        .unwrap();
    transaction.commit().unwrap();
}

#[test]
fn links_as_of_a_time_are_those_among_the_files_of_that_time() {
    on_each_store(|store| {
        let a = note(store, "/v/a.md", "[[b]]");
        let b = note(store, "/v/sub/b.md", "x");
        let nearer = note(store, "/v/b.md", "x");
        delete(store, "/v/b.md");
        delete(store, "/v/sub/b.md");
        let a2 = note(store, "/v/a.md", "\n[[c]]");
        let of = |at: TxId| links(store, &a.envelope.id, AsOf::Tx(at));
        assert_eq!(of(a.tx_id), ["1: unresolved"]);
        assert_eq!(of(b.tx_id), ["1: found /v/sub/b.md"]);
        assert_eq!(of(nearer.tx_id), ["1: found /v/b.md (/v/sub/b.md)"]);
        assert_eq!(of(TxId(nearer.tx_id.0 + 1)), ["1: found /v/sub/b.md"]);
        assert_eq!(of(a2.tx_id), ["2: unresolved"]);
        let to = |at: TxId| backlinks(store, &b.envelope.id, AsOf::Tx(at));
        assert_eq!(to(a.tx_id), [""; 0]);
        assert_eq!(to(b.tx_id), ["/v/a.md 1"]);
        assert_eq!(to(nearer.tx_id), [""; 0]);
        assert_eq!(to(a2.tx_id), [""; 0]);
        let before = graph(store, AsOf::Tx(TxId(0))).links(&a.envelope.id).unwrap_err();
        assert_eq!(before.code(), "NOT_FOUND");
    });
}

#[test]
fn backlinks_of_a_heading_or_block_are_the_links_to_it() {
    on_each_store(|store| {
        let b = note(store, "/v/b.md", "# One\ntext ^x\n## Two: it\n[[#One]]\n");
        note(store, "/v/a.md", "[[b]]\n[[b#one]]\n[[b#One#Two it]]\n[[b#^X]]\n[[b#None]]");
        let to = |part: &str| {
            let part = ContentPart::parse(part).unwrap();
            graph(store, AsOf::Latest).backlinks(&b.envelope.id, Some(&part))
        };
        let lines = |part: &str| -> Vec<u64> {
            let mut lines: Vec<_> =
                to(part).unwrap().iter().filter_map(|found| found.relation.place.line).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(lines("one"), [2, 4]);
        assert_eq!(lines("Two it"), [3]);
        assert_eq!(lines("^x"), [4]);
        assert_eq!(to("None").unwrap_err().code(), "INVALID_ARGUMENT");
    });
}

#[test]
fn a_chat_leads_to_its_tool_calls_even_where_ids_repeat() {
    on_each_store(|store| {
        let of = |position: u64| json!({"chat_ref": "chat:s", "position": position});
        let mut again = of(4);
        again["provider_call_id"] = json!("call_0");
        toolcall(store, "call_0", &of(1), "first");
        toolcall(store, "uuid", &again, "second");
        toolcall(store, "call_1", &json!({"chat_ref": "chat:other", "position": 4}), "other chat");
        let call = |ids: &[&str]| {
            let calls = ids.iter().map(|id| json!({"type": "toolCall", "id": id, "arguments": {}}));
            json!({"message": {"role": "assistant", "content": calls.collect::<Vec<_>>()}})
        };
        let result = |id: &str| json!({"message": {"role": "toolResult", "toolCallId": id}});
        let items = [
            call(&["call_0"]),
            result("call_0"),
            json!({}),
            call(&["call_0", "call_1"]),
            result("call_0"),
        ];
        let id = chat(store, &items);
        let expected = [
            "items[0].message.content[0].id: found call_0",
            "items[1].message.toolCallId: found call_0",
            "items[3].message.content[0].id: found uuid",
            "items[4].message.toolCallId: found uuid",
        ];
        assert_eq!(links(store, &id, AsOf::Latest), expected);
        let to = |call: &str| backlinks(store, &ObjectId::new(call), AsOf::Latest);
        assert_eq!(
            to("uuid"),
            ["chat:s items[3].message.content[0].id", "chat:s items[4].message.toolCallId"]
        );
        assert_eq!(to("call_1"), [""; 0]);
        let calls = Expansion {
            roots: vec![dynamic(&id)],
            kinds: vec![RelationKind::Call],
            types: vec![ObjectType::Toolcall],
            what: What::Content,
            ..Expansion::default()
        };
        let expanded = graph(store, AsOf::Latest).expand(&calls).unwrap();
        let contents: Vec<_> = expanded.nodes.iter().map(|node| node.content.as_deref()).collect();
        assert_eq!(contents, [Some("first"), Some("second")]);
    });
}

fn dynamic(id: &ObjectId) -> Reference {
    Reference::Dynamic(DynamicReference { id: id.clone() })
}

/// `depth id@tx state: content` of each node.
fn nodes(expanded: &Expanded) -> Vec<String> {
    let show = |node: &graph::GraphNode| {
        let id = node.id.as_ref().map(ToString::to_string).unwrap_or_default();
        let tx = node.tx_id.map(|tx| format!("@{tx}")).unwrap_or_default();
        let content = node.content.as_ref().map(|text| format!(": {text:?}")).unwrap_or_default();
        format!("{} {id}{tx} {}{content}", node.depth, <&str>::from(node.state))
    };
    expanded.nodes.iter().map(show).collect()
}

#[test]
fn a_pinned_reference_gives_its_version_others_the_latest() {
    on_each_store(|store| {
        let first = toolcall(store, "t", &json!({}), "old");
        let second = toolcall(store, "t", &json!({}), "new");
        let mut wrong = serde_json::to_value(Store::static_reference(&first)).unwrap();
        wrong["content_hash"] = json!(Hash::of("other"));
        let refs = json!([
            "t",
            Store::static_reference(&first),
            {"object": "t", "version": first.content_hash, "lines": {"first": 1, "last": 1}},
            wrong,
            {"object": "t", "version": Hash::of("never")},
            "gone",
        ]);
        let from = toolcall(store, "from", &json!({ "x_refs": refs }), "");
        let expansion = Expansion {
            roots: vec![dynamic(&from.envelope.id)],
            what: What::Content,
            ..Expansion::default()
        };
        let expanded = graph(store, AsOf::Latest).expand(&expansion).unwrap();
        let (one, two, three) = (first.tx_id, second.tx_id, from.tx_id);
        let expected = [
            format!("0 from@{three} found: \"\""),
            format!("1 t@{two} found: \"new\""),
            format!("1 t@{one} found: \"old\""),
            format!("1 t@{one} found: \"old\""),
            "1 t mismatch".to_owned(),
            "1 t missing".to_owned(),
            "1 gone missing".to_owned(),
        ];
        assert_eq!(nodes(&expanded), expected);
        assert_eq!(expanded.nodes[3].part, Some(ContentPart::Lines(vec![(1, 1)])));
        // A root may be pinned too; the dynamic reference in it follows the time asked about.
        let at_first = Expansion {
            roots: vec![
                Reference::Static(Store::static_reference(&from)),
                dynamic(&first.envelope.id),
            ],
            depth: 0,
            ..Expansion::default()
        };
        let expanded = graph(store, AsOf::Tx(one)).expand(&at_first).unwrap();
        assert_eq!(nodes(&expanded), [format!("0 from@{three} found"), format!("0 t@{one} found")]);
    });
}

#[test]
fn embeds_give_their_part_and_missing_ones_are_listed() {
    on_each_store(|store| {
        let b = note(store, "/v/b.md", "# H\nin\n# I\nout ^k\n");
        let a = note(store, "/v/a.md", "![[b#h]] ![[b#^k]] ![[b#j]] [[c]] [[b]] [[a]]");
        let expansion = Expansion {
            roots: vec![dynamic(&a.envelope.id)],
            what: What::Content,
            types: vec![],
            depth: 3,
            ..Expansion::default()
        };
        let expanded = graph(store, AsOf::Latest).expand(&expansion).unwrap();
        let (a, b) = (a.envelope.id, b.envelope.id);
        let shown: Vec<String> = nodes(&expanded)
            .iter()
            .map(|line| line.replace(a.as_str(), "a").replace(b.as_str(), "b"))
            .collect();
        let expected = [
            "0 a@2 found: \"![[b#h]] ![[b#^k]] ![[b#j]] [[c]] [[b]] [[a]]\"",
            "1 b@1 found: \"# H\\nin\"",
            "1 b@1 found: \"out ^k\"",
            "1 b@1 no_part",
            "1  unresolved",
            "1 b@1 found: \"# H\\nin\\n# I\\nout ^k\\n\"",
        ];
        assert_eq!(shown, expected);
    });
}

#[test]
fn fields_places_limit_and_budget_select() {
    on_each_store(|store| {
        toolcall(store, "a", &json!({"tool": "bash", "args": {"command": "ls"}}), "aaaa");
        toolcall(store, "b", &json!({"tool": "read"}), "bbbbbbbb");
        toolcall(store, "c", &json!({"tool": "grep"}), "cc");
        let fields = json!({"first_ref": "a", "more_refs": ["b", "c"]});
        let root = toolcall(store, "root", &fields, "").envelope.id;
        let expand = |change: &dyn Fn(&mut Expansion)| {
            let mut expansion = Expansion { roots: vec![dynamic(&root)], ..Expansion::default() };
            change(&mut expansion);
            graph(store, AsOf::Latest).expand(&expansion).unwrap()
        };
        let ids = |expanded: &Expanded| -> Vec<String> {
            expanded
                .nodes
                .iter()
                .filter_map(|node| node.id.as_ref())
                .map(ToString::to_string)
                .collect()
        };
        let place = |text: &str| vec![PlacePattern::parse(text).unwrap()];
        let some = expand(&|expansion| expansion.fields = place("more_refs[*]"));
        assert_eq!(ids(&some), ["root", "b", "c"]);
        assert_eq!(some.nodes[1].metadata[2], ("tool".to_owned(), json!("read")));
        assert_eq!(some.nodes[1].content, None);
        let limited = expand(&|expansion| expansion.limit = 2);
        assert_eq!((ids(&limited), limited.more), (vec!["root".into(), "a".into()], true));
        let all = expand(&|expansion| expansion.limit = 4);
        assert!(!all.more);
        let budget = expand(&|expansion| {
            expansion.what = What::Content;
            expansion.budget_chars = Some(6);
        });
        let contents: Vec<_> = budget
            .nodes
            .iter()
            .map(|node| (node.content.as_deref(), node.left_out_chars))
            .collect();
        assert_eq!(
            contents,
            [(Some(""), None), (Some("aaaa"), None), (None, Some(8)), (Some("cc"), None)]
        );
        let named = expand(&|expansion| {
            let path = |text: &str| text.parse().unwrap();
            expansion.what =
                What::Fields(vec![path("args.command"), path("content"), path("none")]);
        });
        let expected =
            [("args.command".to_owned(), json!("ls")), ("content".to_owned(), json!("aaaa"))];
        assert_eq!(named.nodes[1].fields, expected);
        let back = expand(&|expansion| {
            expansion.roots = vec![dynamic(&ObjectId::new("c"))];
            expansion.direction = Direction::Back;
        });
        assert_eq!(ids(&back), ["c", "root"]);
    });
}

#[test]
fn tags_and_front_matter_are_queried_like_fields() {
    on_each_store(|store| {
        let text = "---\nstatus: open\ntags: [one]\nlist: [{a: 1}]\n---\n#two/deep text #one\n";
        let first = note(store, "/v/a.md", text);
        note(store, "/v/b.md", "none");
        toolcall(
            store,
            "t",
            &json!({"tags": ["one", "own"], "front_matter": {"status": 5}}),
            "#no",
        );
        note(store, "/v/a.md", "#three");
        let find = |query: &str, at: AsOf| -> Vec<String> {
            let query = Query { at, ..Query::parse(query).unwrap() };
            let found = store.query(&query).unwrap().into_iter();
            let name = |Version { envelope, .. }: Version| {
                let path = envelope.source.as_ref().and_then(Source::path);
                path.unwrap_or(envelope.id.as_str()).to_owned()
            };
            let mut found: Vec<_> = found.map(name).collect();
            found.sort();
            found
        };
        let then = AsOf::Tx(TxId(first.tx_id.0 + 2));
        assert_eq!(find("tags contains one", then), ["/v/a.md", "t"]);
        assert_eq!(find("tags[*] starts_with \"two/\"", then), ["/v/a.md"]);
        assert_eq!(find("front_matter.status = open", then), ["/v/a.md"]);
        assert_eq!(find("front_matter.status = 5", then), ["t"]);
        assert_eq!(find("front_matter.list[0].a = 1", then), ["/v/a.md"]);
        assert_eq!(find("front_matter missing", then), ["/v/b.md"]);
        assert_eq!(find("tags contains one", AsOf::Latest), ["t"]);
        assert_eq!(find("tags contains three", AsOf::Latest), ["/v/a.md"]);
        assert_eq!(find("tags missing", AsOf::Latest), ["/v/b.md"]);
        let unknown = store.query(&Query::parse("front_matter.satus = open").unwrap()).unwrap_err();
        assert_eq!(unknown.code(), "UNKNOWN_FIELD");
    });
}

#[test]
fn what_is_forgotten_leaves_no_relation_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let a = note(&store, "/v/a.md", "[[codename-quokka]]\n#quokka-tag").envelope.id;
    let t = toolcall(&store, "t", &json!({"file_refs": [a]}), "").envelope.id;
    assert_eq!(links(&store, &a, AsOf::Latest).len(), 2);
    let held = || {
        let log = path.with_file_name("store.sqlite-wal");
        let files = [&path, &log].map(|file| std::fs::read(file).unwrap_or_default());
        String::from_utf8_lossy(&files.concat()).contains("codename-quokka")
    };
    assert!(held());
    let options = ForgetOptions { dry_run: false, ..ForgetOptions::default() };
    store.forget(&a, options).unwrap();
    assert!(!held());
    assert_eq!(links(&store, &a, AsOf::Latest), [""; 0]);
    assert_eq!(
        links(&store, &t, AsOf::Latest),
        ["file_refs[0]: forgotten ".to_owned() + a.as_str()]
    );
}

/// References of random objects: for each version of each object, the objects to which it refers,
/// and which version (counted from the object's first) it pins.
type History = Vec<(usize, Vec<(usize, Option<usize>)>)>;

/// A reference as written.
#[derive(Debug, Clone, Copy)]
enum Meant {
    Latest,
    Version(usize),
    /// A version that never existed.
    Never(usize),
}

/// The versions of each object, with what they refer to.
type Versions = BTreeMap<usize, Vec<(TxId, Vec<(usize, Meant)>)>>;

fn history() -> impl Strategy<Value = History> {
    let reference = (0_usize..5, prop::option::of(0_usize..3));
    prop::collection::vec((0_usize..5, prop::collection::vec(reference, 0..4)), 1..12)
}

fn object(number: usize) -> ObjectId {
    ObjectId::new(format!("o{number}"))
}

fn written(store: &Store, history: &History) -> Versions {
    let mut versions = Versions::new();
    let mut hashes: BTreeMap<usize, Vec<Hash>> = BTreeMap::new();
    for (number, refs) in history {
        let (mut values, mut meant) = (Vec::new(), Vec::new());
        for (to, pin) in refs {
            let there = pin.and_then(|pin| hashes.get(to)?.get(pin));
            let (value, what) = match (pin, there) {
                (None, _) => (json!(object(*to)), Meant::Latest),
                (Some(pin), Some(hash)) => {
                    (json!({"object": object(*to), "version": hash}), Meant::Version(*pin))
                }
                (Some(pin), None) => {
                    let hash = Hash::of(format!("{pin}"));
                    (json!({"object": object(*to), "version": hash}), Meant::Never(*pin))
                }
            };
            values.push(value);
            meant.push((*to, what));
        }
        let place = hashes.entry(*number).or_default();
        let fields = json!({"x_refs": values, "n": place.len()});
        let version = toolcall(store, object(*number).as_str(), &fields, "");
        place.push(version.content_hash);
        versions.entry(*number).or_default().push((version.tx_id, meant));
    }
    versions
}

/// The same walk on plain maps: `depth id@tx state` in order.
fn model(versions: &Versions, root: usize, depth: u32, direction: Direction) -> Vec<String> {
    let latest = |id: usize| versions.get(&id).map(|all| all.len() - 1);
    let mut queue = VecDeque::from([(0, root, latest(root), None)]);
    let (mut seen, mut followed, mut out) = (HashSet::new(), HashSet::new(), Vec::new());
    while let Some((at, id, place, never)) = queue.pop_front() {
        if !seen.insert((id, place, never)) {
            continue;
        }
        let found = place.map(|place| &versions[&id][place]);
        let tx = found.map(|(tx, _)| format!("@{tx}")).unwrap_or_default();
        let state = if found.is_some() { "found" } else { "missing" };
        out.push(format!("{at} o{id}{tx} {state}"));
        if at == depth || !followed.insert((id, place)) {
            continue;
        }
        if direction != Direction::Back {
            for (to, meant) in found.map(|(_, refs)| refs.as_slice()).unwrap_or_default() {
                let (place, never) = match meant {
                    Meant::Latest => (latest(*to), None),
                    Meant::Version(place) => (Some(*place), None),
                    Meant::Never(pin) => (None, Some(*pin)),
                };
                queue.push_back((at + 1, *to, place, never));
            }
        }
        if direction != Direction::Forward {
            for (from, all) in versions {
                let refs = &all[all.len() - 1].1;
                if refs.iter().any(|(to, _)| *to == id) {
                    queue.push_back((at + 1, *from, latest(*from), None));
                }
            }
        }
    }
    out
}

proptest! {
    #![proptest_config(testing::cases::config(16, 1))]

    #[test]
    fn an_expansion_equals_that_of_a_plain_model(
        history in history(),
        root in 0_usize..5,
        depth in 0_u32..5,
        direction in prop::sample::select(vec![Direction::Forward, Direction::Back, Direction::Both]),
    ) {
        on_each_store(|store| {
            let versions = written(store, &history);
            let roots = vec![dynamic(&object(root))];
            let expansion = Expansion { roots, depth, direction, ..Expansion::default() };
            let expanded = graph(store, AsOf::Latest).expand(&expansion).unwrap();
            assert_eq!(nodes(&expanded), model(&versions, root, depth, direction));
        });
    }
}
