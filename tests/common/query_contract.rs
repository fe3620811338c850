//! Metadata queries: rules for each backend that a test program names in its `backends`, and random queries on random objects, which
//! all must answer as the model does.

use std::sync::Arc;

use crate::backends::{CASES, on_each_shared_backend};
use crate::ops::{file, item_list, op, put, splice};
use crate::query_model;
use base::object::{
    AsOf, Envelope, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, Redaction,
    RedactionReason, Timestamp, TxId,
};
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};
use store::{
    Backend, Comparison, Condition, Expected, Glob, Literal, Op, Order, Put, Query, Store, Test,
    Version,
};

fn call(id: &str, fields: Value) -> Put {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    Put {
        content_hash: Hash::of(serde_json::to_string(&fields).unwrap()),
        source_hash: None,
        fields,
        ..put(
            Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap(),
            "output",
            Expected::Any,
        )
    }
}

fn write(backend: &Arc<dyn Backend>, now: i64, ops: &[Op]) -> TxId {
    // A shared store goes by the clock of its server.
    std::thread::sleep(std::time::Duration::from_millis(2));
    backend.commit(ops, Timestamp(now)).unwrap().tx_id
}

fn name(nickname: &str, id: &ObjectId) -> Op {
    Op::Name { nickname: Nickname::parse(nickname).unwrap(), id: Some(id.clone()) }
}

/// IDs of the answer, in its order.
fn ask(backend: &Arc<dyn Backend>, query: &Query) -> Vec<String> {
    let found = Store::with_backend(Arc::clone(backend)).query(query);
    found.unwrap().into_iter().map(|version| version.envelope.id.to_string()).collect()
}

fn answer(backend: &Arc<dyn Backend>, text: &str) -> String {
    ask(backend, &Query::parse(text).unwrap()).join(" ")
}

fn refusal(backend: &Arc<dyn Backend>, text: &str) -> String {
    let refused = Store::with_backend(Arc::clone(backend)).query(&Query::parse(text).unwrap());
    refused.unwrap_err().report()
}

#[test]
fn payload_fields_are_found_by_path() {
    on_each_shared_backend(|backend| {
        let calls = [
            call("a", json!({"tool": "bash", "args": {"command": "cargo test -q"}, "n": 1})),
            call("b", json!({"tool": "read", "args": {"path": "src/a.rs"}, "tags": ["x", "y"]})),
            call(
                "c",
                json!({"tool": "bash", "args": {"command": "ls"}, "n": 10, "tags": [],
                "odd \"key\".é": {"0": null}}),
            ),
        ];
        write(backend, 1, &calls.map(op));
        for (query, found) in [
            (r#"type = toolcall and tool = bash and args.command contains "cargo test""#, "a"),
            ("tool != bash", "b"),
            ("args.path ~ src/*.rs", "b"),
            ("args.path ~ *.RS", ""),
            ("args.command starts_with ls", "c"),
            ("n < 10", "a"),
            ("n >= 1.0", "a c"),
            ("n = '1'", ""),
            ("n > 2 or tool = read", "b c"),
            ("n in (1, 2, 10)", "a c"),
            ("tags exists", "b c"),
            ("tags missing", "a"),
            ("tags contains y", "b"),
            ("tags[1] = y", "b"),
            ("tags[*] = x", "b"),
            ("tags[*] exists", "b"),
            (r#""odd \"key\".é"."0" = null"#, "c"),
            ("order by n desc", "c a b"),
            ("order by n", "a c b"),
            ("order by tool desc, n desc limit 2 offset 1", "c a"),
            ("limit 0", ""),
        ] {
            assert_eq!(answer(backend, query), found, "{query}");
        }
    });
}

#[test]
fn pages_from_the_newest_on_are_the_whole() {
    on_each_shared_backend(|backend| {
        for (now, ids) in (1..).zip([&["b", "e", "a"][..], &["d"], &["c", "e"]]) {
            let calls = ids.iter().map(|id| op(call(id, json!({ "now": now }))));
            write(backend, now, &calls.collect::<Vec<_>>());
        }
        let store = Store::with_backend(Arc::clone(backend));
        for (text, whole) in [("", "c e d a b"), ("type = toolcall and id != a", "c e d b")] {
            let (mut found, mut last) = (Vec::new(), None::<Version>);
            loop {
                let after = last.as_ref().map(|last| (last.tx_id, &last.envelope.id));
                let page = Query::parse(&format!("{text} limit 2")).unwrap().newest_first(after);
                let page = store.query(&page.unwrap()).unwrap();
                let Some(end) = page.last() else { break };
                last = Some(end.clone());
                found.extend(page.into_iter().map(|version| version.envelope.id.to_string()));
            }
            assert_eq!(found.join(" "), whole, "{text}");
        }
        let id = ObjectId::new("a");
        for text in ["order by id", "offset 1"] {
            let page = Query::parse(text).unwrap().newest_first(Some((TxId(1), &id)));
            let refused = page.unwrap_err();
            assert_eq!(refused.code(), "INVALID_ARGUMENT", "{text}");
        }
    });
}

#[test]
fn comparing_a_missing_field_is_false_and_its_negation_true() {
    on_each_shared_backend(|backend| {
        let calls = [
            call("ok", json!({"status": "ok"})),
            call("fail", json!({"status": "fail"})),
            call("null", json!({"status": null})),
            call("none", json!({})),
        ];
        write(backend, 1, &calls.map(op));
        for (query, found) in [
            ("status = ok", "ok"),
            ("status != ok", "fail null"),
            ("not status = ok", "fail none null"),
            ("not status != ok", "none ok"),
            ("status < z", "fail ok"),
            ("not (status < z or status missing)", "null"),
            ("status exists", "fail null ok"),
            ("status = null", "null"),
        ] {
            assert_eq!(answer(backend, query), found, "{query}");
        }
    });
}

#[test]
fn envelope_and_version_are_fields_too() {
    on_each_shared_backend(|backend| {
        let mut null = put(file("/src/b \"q\".rs"), "", Expected::Any);
        (null.content, null.source_hash) = (None, None);
        let a = put(file("/src/a.rs"), "text", Expected::Any);
        let mut foreign = call("foreign", json!({}));
        foreign.origin =
            Some(Origin { store_id: "far".into(), tx_id: TxId(77), time: Timestamp(5) });
        foreign.redacted =
            Some(Redaction { reason: RedactionReason::Secret, found_hash: Hash::of("now") });
        foreign.additional.insert("short".into(), (Hash::of("s"), "s".into()));
        let (a_id, b_id) = (a.envelope.id.to_string(), null.envelope.id.to_string());
        let a_hash = a.content_hash.to_string();
        let day = 86_400_000;
        let first = write(backend, day, &[op(a), name("alpha", &file("/src/a.rs").id)]);
        write(backend, 2 * day, &[op(null), op(foreign)]);
        let second = backend.newest().unwrap().1;
        let third = splice(0, &item_list(&[], &["x", "y"]), Expected::Absent);
        write(backend, 3 * day, &[op(third)]);
        for (query, found) in [
            (format!("id = {a_id}"), a_id.as_str()),
            ("id starts_with chat:".into(), "chat:s"),
            ("id in (foreign, x)".into(), "foreign"),
            ("type = chat".into(), "chat:s"),
            ("type != file and type != chat".into(), "foreign"),
            ("type = 5".into(), ""),
            ("path ~ /src/a*".into(), a_id.as_str()),
            (r#"source.path = "/src/b \"q\".rs""#.into(), b_id.as_str()),
            ("source missing order by id".into(), "chat:s foreign"),
            (format!("system_time < {second}"), a_id.as_str()),
            (format!("system_time > {second}"), "chat:s"),
            (format!("tx_id <= {first}"), a_id.as_str()),
            ("tx_id > 2.5".into(), "chat:s"),
            ("origin.store_id = far and origin.tx_id = 77 and origin.time = 5".into(), "foreign"),
            (format!("origin.tx_id = {first}"), a_id.as_str()),
            (format!("content_hash = {a_hash}"), a_id.as_str()),
            ("source_hash exists and type = file".into(), a_id.as_str()),
            ("has_content = false and type = file".into(), b_id.as_str()),
            ("item_count >= 2".into(), "chat:s"),
            ("redacted exists".into(), "foreign"),
            ("redacted.reason = secret".into(), "foreign"),
            ("forgotten = true".into(), ""),
            (format!("additional.short = {}", Hash::of("s")), "foreign"),
            ("nickname ~ al*".into(), a_id.as_str()),
            ("nickname exists".into(), a_id.as_str()),
            ("order by tx_id desc limit 1".into(), "chat:s"),
            ("not nickname exists order by system_time desc limit 1".into(), "chat:s"),
            ("order by nickname, id limit 1".into(), a_id.as_str()),
        ] {
            assert_eq!(answer(backend, &query), found, "{query}");
        }
    });
}

#[test]
fn a_query_sees_the_versions_of_its_time() {
    on_each_shared_backend(|backend| {
        let first = write(backend, 100, &[op(call("a", json!({"n": 1})))]);
        let began = backend.newest().unwrap().1;
        write(backend, 200, &[op(call("b", json!({"n": 1})))]);
        write(backend, 300, &[op(call("a", json!({"n": 2})))]);
        let last = backend.newest().unwrap().1;
        let before = |time: Timestamp| AsOf::Time(Timestamp(time.0 - 1));
        let at =
            |text: &str, at| ask(backend, &Query { at, ..Query::parse(text).unwrap() }).join(" ");
        assert_eq!(at("n = 1", AsOf::Latest), "b");
        assert_eq!(at("n = 1", AsOf::Tx(first)), "a");
        assert_eq!(at("n = 1", before(last)), "a b");
        assert_eq!(at("n = 1", before(began)), "");
        assert_eq!(at("n = 2", before(last)), "");
    });
}

#[test]
fn a_field_that_no_object_has_is_unknown() {
    on_each_shared_backend(|backend| {
        assert_eq!(answer(backend, "tool = bash"), "", "an empty store knows every field");
        let fields = json!({"tool": "bash", "args": {"command": "x"}, "was": 1});
        write(backend, 1, &[op(call("a", fields))]);
        write(backend, 2, &[op(call("a", json!({"tool": "bash", "args": {"command": "y"}})))]);
        assert_eq!(answer(backend, "was = 1"), "", "an earlier version has it");
        for (query, message) in [
            ("args.comand = x", "the field `args.comand`; near it: `args.command`"),
            ("command = x", "the field `command`; near it: `args.command`"),
            ("zzz exists", "the field `zzz`"),
            ("tool.x = 1 order by tool", "the field `tool.x`; near it: `tool`"),
            ("additional.short exists", "the field `additional.short`"),
        ] {
            let report = refusal(backend, query);
            let expected = format!("UNKNOWN_FIELD: no object has {message}");
            assert_eq!(report.lines().next(), Some(expected.as_str()));
        }
        let error = Query::parse("id.x = 1").unwrap_err();
        assert_eq!(error.to_string(), "no object has the field `id.x`; near it: `id`");
        let error = refusal(backend, "order by stats");
        assert!(error.starts_with("UNKNOWN_FIELD"), "{error}");
    });
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        4 => (-2_i64..3).prop_map(Number::from),
        1 => prop::sample::select(vec![i64::MIN, i64::MAX, (1 << 53) + 1]).prop_map(Number::from),
        1 => Just(Number::from(u64::MAX)),
        2 => prop::sample::select(vec![0.5, -0.0, 1.0, 1e300, 0.1 + 0.2, 9_007_199_254_740_992.0, 9.223_372_036_854_776e18])
            .prop_map(|number| Number::from_f64(number).unwrap()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "a",
        "ab",
        "b",
        "A",
        "é",
        "0",
        "1",
        "true",
        "null",
        "1970-01-01",
        "a\0b",
        "a\"'%_",
        "👍",
    ])
    .prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "0", "a.b", "q\"'", "é", "", "type"])
        .prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        3 => number().prop_map(Value::Number),
        4 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn path() -> impl Strategy<Value = FieldPath> {
    const FIXED: [&str; 16] = [
        "id",
        "type",
        "path",
        "source.filesystemId",
        "tx_id",
        "system_time",
        "origin.tx_id",
        "origin.store_id",
        "has_content",
        "source_hash",
        "item_count",
        "nickname",
        "forgotten",
        "additional.a",
        "redacted.reason",
        "content_hash",
    ];
    let quoted = |key: String| Value::from(key).to_string();
    let own = (
        key().prop_map(quoted),
        prop::sample::select(vec!["", "[0]", "[*]", ".a", "[*].b", ".\"a.b\""]),
    )
        .prop_map(|(key, rest)| format!("fields.{key}{rest}"));
    prop_oneof![
        3 => own,
        1 => prop::sample::select(FIXED.to_vec()).prop_map(str::to_owned),
    ]
    .prop_map(|text| text.parse().unwrap())
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        1 => Just(Literal::Null),
        1 => any::<bool>().prop_map(Literal::Bool),
        3 => number().prop_map(Literal::Number),
        3 => text().prop_map(Literal::Text),
        1 => Just(Literal::Time(Timestamp(0), "1970-01-01".into())),
        1 => prop::sample::select(vec!["call_1", "toolcall", "file", "main", "/a"])
            .prop_map(|text| Literal::Text(text.into())),
    ]
}

fn test() -> impl Strategy<Value = Test> {
    use Comparison::{AtLeast, AtMost, Equal, Greater, Less, NotEqual};
    let comparison = prop::sample::select(vec![Equal, NotEqual, Less, AtMost, Greater, AtLeast]);
    prop_oneof![
        5 => (comparison, literal()).prop_map(|(comparison, literal)| Test::Compare(comparison, literal)),
        1 => literal().prop_map(Test::Contains),
        1 => prop_oneof![text(), Just("call_".to_owned())].prop_map(Test::StartsWith),
        1 => prop::sample::select(vec!["*", "?", "a*", "*\0b", "[!a]*", "call_[1-2]"]).prop_map(|glob| Test::Glob(Glob::new(glob).unwrap())),
        1 => prop::collection::vec(literal(), 0..3).prop_map(Test::In),
        1 => Just(Test::Exists),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let leaf = (path(), test()).prop_map(|(path, test)| Condition::Test(path, test));
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::All),
            prop::collection::vec(inner.clone(), 0..3).prop_map(Condition::Any),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn query() -> impl Strategy<Value = Query> {
    let field = path().prop_filter("one value", |path| !path.is_plural());
    let order = (field, any::<bool>()).prop_map(|(field, descending)| Order { field, descending });
    let at = prop_oneof![
        2 => Just(AsOf::Latest),
        1 => (0_i64..5).prop_map(|tx_id| AsOf::Tx(TxId(tx_id))),
        1 => (0_i64..5).prop_map(|time| AsOf::Time(Timestamp(time))),
    ];
    let condition = prop::option::weighted(0.9, condition());
    let limit = prop::option::of(prop_oneof![0_u64..5, Just(u64::MAX)]);
    (condition, prop::collection::vec(order, 0..3), limit, 0_u64..3, at).prop_map(
        |(condition, order, limit, offset, at)| Query { condition, order, limit, offset, at },
    )
}

/// A put of one of four objects.
fn change() -> impl Strategy<Value = Put> {
    let fields = prop::collection::vec((key(), value()), 0..5)
        .prop_map(|members| members.into_iter().collect::<Map<_, _>>());
    (0_usize..4, fields, any::<bool>(), any::<bool>()).prop_map(
        |(object, fields, has_content, marked)| {
            let mut put = match object {
                0 | 1 => call(&format!("call_{object}"), Value::Object(fields)),
                _ => {
                    let mut put = put(file(["/a", "/é b"][object - 2]), "text", Expected::Any);
                    put.content_hash = Hash::of(serde_json::to_string(&fields).unwrap());
                    put.fields = fields;
                    put
                }
            };
            put.content = put.content.filter(|_| has_content);
            if marked {
                let origin = Origin { store_id: "far".into(), tx_id: TxId(1), time: Timestamp(1) };
                put.origin = Some(origin);
                put.additional.insert("a".into(), (Hash::of("a"), "a".into()));
                put.redacted = Some(Redaction {
                    reason: RedactionReason::Forgotten,
                    found_hash: Hash::of(""),
                });
            }
            put
        },
    )
}

proptest! {
    #![proptest_config(testing::cases::config(CASES, 1))]

    /// The main guard of the translation into SQL: the model is plain, and both must say the same.
    #[test]
    fn random_queries_are_answered_as_the_model_answers_them(
        changes in prop::collection::vec(change(), 1..10),
        queries in prop::collection::vec(query(), 25),
    ) {
        on_each_shared_backend(|backend| {
            for (now, put) in (0..).zip(&changes) {
                let id = put.envelope.id.clone();
                write(backend, now / 2, &[op(put.clone())]);
                if now == 0 {
                    write(backend, now, &[name("main", &id), name("other", &id)]);
                }
            }
            let backend = &**backend;
            for query in &queries {
                let expected = query_model::answer(backend, query);
                assert_eq!(backend.query(query).unwrap(), expected, "{query:?}");
                for field in query.fields() {
                    let expected = query_model::has_field(backend, field);
                    assert_eq!(backend.has_field(field).unwrap(), expected, "{field}");
                }
            }
            assert_eq!(backend.field_paths().unwrap(), query_model::field_paths(backend));
        });
    }
}
