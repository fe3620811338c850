//! What a search finds: one body per rule, run on every backend with an index.

use base::object::{AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, Source, file_fields};
use serde_json::{Value, json};
use store::{Expected, FoundIn, SearchHit, SearchQuery, SearchResults, Store};

/// Runs a rule on a fresh store of every backend.
fn on_each_backend(rule: impl Fn(&Store)) {
    rule(&Store::open(":memory:").unwrap());
    let folder = tempfile::tempdir().unwrap();
    rule(&Store::open(folder.path().join("store.sqlite").to_str().unwrap()).unwrap());
}

fn file(path: &str) -> Envelope {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    Envelope::sourced(ObjectType::File, source).unwrap()
}

fn put(store: &Store, envelope: Envelope, content: Option<&str>, fields: &Value) -> ObjectId {
    let id = envelope.id.clone();
    let payload = Payload {
        content: content.map(str::to_owned),
        fields: fields.as_object().unwrap().clone(),
        ..Payload::default()
    };
    let mut transaction = store.begin();
    transaction.put(envelope, payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
    id
}

fn put_file(store: &Store, path: &str, text: &str) -> ObjectId {
    put(store, file(path), Some(text), &Value::Object(file_fields(path, Some(text))))
}

fn put_toolcall(store: &Store, id: &str, session: &str, command: &str, output: &str) -> ObjectId {
    let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap();
    let fields = json!({
        "tool": "bash", "args": { "command": command }, "chat_ref": format!("chat:{session}"),
    });
    put(store, envelope, Some(output), &fields)
}

/// Makes the items of a document the first `keep` and those given.
fn splice(store: &Store, envelope: Envelope, keep: u64, items: &[Value]) {
    let latest = store.get(&envelope.id, AsOf::Latest).unwrap();
    let expected = latest.map_or(Expected::Absent, |version| Expected::Latest(version.tx_id));
    let items = items.iter().map(ToString::to_string).collect();
    let mut transaction = store.begin();
    transaction.splice(envelope, Payload::default(), keep, items, expected).unwrap();
    transaction.commit().unwrap();
}

fn chat(session: &str) -> Envelope {
    Envelope::unsourced(ObjectId::chat(session), ObjectType::Chat).unwrap()
}

fn message(role: &str, text: &str) -> Value {
    json!({ "turn": 1, "step": 0, "message": {
        "role": role, "content": [{ "type": "text", "text": text, "textSignature": "sigsig" }],
    } })
}

fn search(store: &Store, text: &str) -> SearchResults {
    store.search(&SearchQuery::new(text)).unwrap()
}

fn ids(store: &Store, text: &str) -> Vec<ObjectId> {
    search(store, text).hits.into_iter().map(|hit| hit.id).collect()
}

fn only(store: &Store, text: &str) -> SearchHit {
    let hits = search(store, text).hits;
    let [hit] = &hits[..] else { panic!("`{text}` finds {hits:?}") };
    hit.clone()
}

#[test]
fn a_search_in_an_empty_store_finds_nothing() {
    on_each_backend(|store| {
        let found = search(store, "anything");
        assert_eq!((found.hits, found.total, found.unindexed), (vec![], 0, 0));
        assert!(found.is_complete);
    });
}

#[test]
fn a_search_without_words_is_refused() {
    on_each_backend(|store| {
        for text in ["", "  ", "\"", "-word", "?!"] {
            let error = store.search(&SearchQuery::new(text)).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENT", "{text:?}");
        }
        let query = SearchQuery { limit: 0, ..SearchQuery::new("word") };
        assert_eq!(store.search(&query).unwrap_err().code(), "INVALID_ARGUMENT");
    });
}

#[test]
fn content_path_arguments_fields_and_nicknames_are_found() {
    on_each_backend(|store| {
        let rust =
            put_file(store, "/project/src/store/sqlite.rs", "fn open() {}\nlet needle = 1;\n");
        let call = put_toolcall(store, "call_1", "s", "cargo test --workspace", "96 passed");
        let hit = only(store, "needle");
        assert_eq!((&hit.id, hit.kind, hit.part), (&rust, ObjectType::File, FoundIn::Version));
        assert_eq!(hit.name.as_deref(), Some("/project/src/store/sqlite.rs"));
        assert_eq!((&*hit.place, hit.lines[0].line), ("content", 2));
        assert_eq!(hit.lines[0].text, "let needle = 1;");
        assert_eq!(hit.lines[0].matches, vec![4..10; 1]);
        assert!(hit.is_latest && hit.score > 0.0);
        assert_eq!(only(store, "sqlite.rs").id, rust);
        assert_eq!(only(store, "workspace").place, "fields.args.command");
        assert_eq!(only(store, "bash passed").name.as_deref(), Some("bash"));
        let mut transaction = store.begin();
        transaction.name(Nickname::parse("green-run").unwrap(), Some(call.clone()));
        transaction.commit().unwrap();
        let hit = only(store, "green");
        assert_eq!((hit.id, hit.part, &*hit.place), (call, FoundIn::Nickname, "nickname"));
        let mut transaction = store.begin();
        transaction.name(Nickname::parse("green-run").unwrap(), None);
        transaction.commit().unwrap();
        assert_eq!(search(store, "green").total, 0);
    });
}

#[test]
fn additional_contents_and_unknown_fields_are_found() {
    on_each_backend(|store| {
        let mut payload = Payload { content: Some("long text".into()), ..Payload::default() };
        payload.additional.insert("short_summary".into(), "about zebras".into());
        payload.fields.insert("remark".into(), json!({ "by": ["a giraffe"] }));
        let mut transaction = store.begin();
        transaction.put(file("/a"), payload, Expected::Any).unwrap();
        transaction.commit().unwrap();
        assert_eq!(only(store, "zebra").place, "short_summary");
        assert_eq!(only(store, "giraffes").place, "fields.remark.by[0]");
    });
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts_in_any_style() {
    on_each_backend(|store| {
        let text =
            "call(transformContext)\nlet tool_call_id = HTTPServer2::new(\"src/store/sqlite.rs\");";
        put_file(store, "/a", text);
        put_file(store, "/b", "context of the transform, a call of the tool");
        for query in [
            "transformContext",
            "transform_context",
            "transformcontext",
            "TransformContext",
            "tool_call_id",
            "toolCallId",
            "HTTPServer2",
            "httpserver2",
            "server2",
            "HTTPServer",
            "src/store/sqlite.rs",
            "store/sqlite",
            "sqlite.rs",
        ] {
            assert_eq!(only(store, query).name.as_deref(), Some("/a"), "{query}");
        }
        for query in ["transform", "context", "tool"] {
            assert_eq!(search(store, query).total, 2, "{query}");
        }
        assert_eq!(only(store, "server").lines[0].line, 2);
    });
}

#[test]
fn other_scripts_and_diacritics_are_found() {
    on_each_backend(|store| {
        put_file(store, "/zh", "我们使用数据库和全文索引。");
        put_file(store, "/ja", "データベースの全文検索エンジン");
        put_file(store, "/ko", "데이터베이스를 검색한다");
        put_file(store, "/de", "Die Größe der Straße");
        put_file(store, "/ru", "Ёлка и база данных");
        for (query, path) in [
            ("数据库", "/zh"),
            ("索引", "/zh"),
            ("引", "/zh"),
            ("検索エンジン", "/ja"),
            ("エンジン", "/ja"),
            ("ｴﾝｼﾞﾝ", "/ja"),
            ("데이터베이스", "/ko"),
            ("검색", "/ko"),
            ("grösse", "/de"),
            ("GROSSE", "/de"),
            ("strasse", "/de"),
            ("елка", "/ru"),
            ("БАЗА", "/ru"),
        ] {
            assert_eq!(only(store, query).name.as_deref(), Some(path), "{query}");
        }
        assert_eq!(search(store, "全文").total, 2);
    });
}

#[test]
fn the_latest_version_is_searched_unless_all_are_asked_for() {
    on_each_backend(|store| {
        let id = put_file(store, "/a", "an apple");
        put_file(store, "/a", "a banana");
        put_file(store, "/b", "another banana");
        assert_eq!(search(store, "apple").total, 0);
        let mut query = SearchQuery::new("apple");
        query.filter.all_versions = true;
        let all = store.search(&query).unwrap();
        assert_eq!(all.total, 1);
        assert_eq!((&all.hits[0].id, all.hits[0].is_latest), (&id, false));
        assert_eq!(all.hits[0].lines[0].text, "an apple");
        let latest = put_file(store, "/a", "an apple");
        let hit = only(store, "apple");
        assert_eq!(hit.tx_id, store.require(&latest, AsOf::Latest).unwrap().tx_id);
        assert_eq!(ids(store, "banana").len(), 1);
        query.text = "banana".into();
        assert_eq!(store.search(&query).unwrap().total, 2);
        put(store, file("/a"), None, &json!({ "no_content": "deleted" }));
        assert_eq!(search(store, "apple").total, 0);
    });
}

#[test]
fn finds_messages_by_place_and_old_branches_on_request() {
    on_each_backend(|store| {
        let items = [
            message("user", "Where is the aardvark?"),
            message("assistant", "Behind the\nold barn"),
            message("toolResult", "barn barn barn"),
        ];
        splice(store, chat("s"), 0, &items);
        let hit = only(store, "barn");
        assert_eq!((hit.id, hit.part), (ObjectId::chat("s"), FoundIn::Item(1)));
        assert_eq!((&*hit.place, hit.lines[0].line), ("message.content[0].text", 2));
        assert_eq!(search(store, "sigsig").total, 0);
        splice(store, chat("s"), 1, &[message("assistant", "In the cellar")]);
        assert_eq!(search(store, "barn").total, 0);
        assert_eq!(only(store, "cellar").part, FoundIn::Item(1));
        assert_eq!(only(store, "aardvark").part, FoundIn::Item(0));
        let mut query = SearchQuery::new("barn");
        query.filter.all_versions = true;
        let all = store.search(&query).unwrap();
        assert_eq!((all.total, all.hits[0].is_latest), (1, false));
        assert_eq!(all.hits[0].lines[0].text, "old barn");
        splice(store, chat("s"), 1, &[]);
        assert_eq!(search(store, "cellar").total, 0);
    });
}

#[test]
fn of_the_events_of_a_session_only_notes_are_searched() {
    on_each_backend(|store| {
        let envelope = Envelope::unsourced(ObjectId::session("s"), ObjectType::Session).unwrap();
        let events = [
            json!({ "event": "noted", "at": 3, "text": "the file changed on disk" }),
            json!({ "event": "called", "text": "changed" }),
        ];
        splice(store, envelope, 0, &events);
        let hit = only(store, "changed");
        assert_eq!((hit.id, hit.part), (ObjectId::session("s"), FoundIn::Item(0)));
    });
}

#[test]
fn searches_can_be_limited_to_types_sessions_and_paths() {
    on_each_backend(|store| {
        put_file(store, "/project/a.rs", "word");
        put_file(store, "/project-two/b.rs", "word");
        put_toolcall(store, "c1", "one", "ls", "word");
        put_toolcall(store, "c2", "two", "ls", "word");
        splice(store, chat("one"), 0, &[message("user", "word")]);
        let found = |edit: &dyn Fn(&mut SearchQuery)| {
            let mut query = SearchQuery::new("word");
            edit(&mut query);
            let found = store.search(&query).unwrap();
            assert_eq!(found.total, found.hits.len() as u64);
            let mut kinds: Vec<&str> = found.hits.iter().map(|hit| hit.kind.as_str()).collect();
            kinds.sort_unstable();
            kinds.join(" ")
        };
        assert_eq!(found(&|_| {}), "chat file file toolcall toolcall");
        assert_eq!(found(&|query| query.filter.kinds = vec![ObjectType::File]), "file file");
        assert_eq!(found(&|query| query.filter.session = Some("one".into())), "chat toolcall");
        assert_eq!(found(&|query| query.filter.session = Some("three".into())), "");
        let under = |prefix: &'static str| {
            move |query: &mut SearchQuery| query.filter.path_prefix = Some(prefix.into())
        };
        assert_eq!(found(&under("/project/")), "file");
        assert_eq!(found(&under("/project")), "file file");
    });
}

#[test]
fn phrases_exclusions_and_prefixes_mean_what_they_say() {
    on_each_backend(|store| {
        put_file(store, "/1", "the quick brown fox");
        put_file(store, "/2", "brown and quick");
        put_file(store, "/3", "configuration of foxes");
        let found = |query| {
            let hits = search(store, query).hits;
            let mut names: Vec<String> = hits.into_iter().filter_map(|hit| hit.name).collect();
            names.sort_unstable();
            names.join(" ")
        };
        assert_eq!(found("quick brown"), "/1 /2");
        assert_eq!(found("\"quick brown\""), "/1");
        assert_eq!(found("quick -fox"), "/2");
        assert_eq!(found("quick -\"brown fox\""), "/2");
        assert_eq!(found("config*"), "/3");
        assert_eq!(found("configurat*"), "/3");
        assert_eq!(found("qu* AND \"*\" OR NEAR( :"), "/1 /2");
    });
}

#[test]
fn objects_with_more_of_the_searched_words_rank_first() {
    on_each_backend(|store| {
        put_file(store, "/1", "epoch epoch epoch epoch epoch");
        let both =
            put_file(store, "/2", "a long text that names the epoch once and then the layout too");
        put_file(store, "/3", "something else");
        assert_eq!(ids(store, "epoch layout")[0], both);
        let named = put_file(store, "/layout.rs", "nothing");
        assert_eq!(ids(store, "layout")[0], named);
        let limited = SearchQuery { limit: 1, ..SearchQuery::new("epoch layout") };
        let found = store.search(&limited).unwrap();
        assert_eq!((found.hits.len(), found.total), (1, 3));
    });
}

#[test]
fn a_huge_document_is_searched_as_far_as_its_bound() {
    // The unit tests of terms hold the bound itself.
    if !testing::cases::is_long() {
        return;
    }
    on_each_backend(|store| {
        let text = format!("first {} last", "w ".repeat(1_000_000));
        put_file(store, "/huge", &text);
        assert_eq!(only(store, "first").lines[0].line, 1);
        assert_eq!(search(store, "last").total, 0);
    });
}
