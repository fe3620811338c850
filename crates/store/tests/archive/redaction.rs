//! What `--redact` finds, what it leaves alone, and that the result is still an archive that can be
//! checked.

use base::object::{
    AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, RedactionReason, Reference,
};
use redact::{redact_json, redact_text};
use serde_json::{Value, json};
use store::{ArchiveScope, ExportOptions, Store};

use crate::world::World;
use testing::processor_time::spent_on;

/// A run of letters and digits as chance makes it, the same each time. Secrets are put together
/// here, so that no search for secrets finds any in this file.
fn chance(length: usize) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 7_u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(DIGITS[usize::try_from(state >> 33).unwrap() % DIGITS.len()])
    };
    (0..length).map(|_| next()).collect()
}

fn key_block(kind: &str) -> String {
    let lines: Vec<String> =
        chance(300).as_bytes().chunks(64).map(|c| String::from_utf8_lossy(c).into()).collect();
    format!(
        "-----BEGIN {kind}PRIVATE KEY-----\n{}\n-----END {kind}PRIVATE KEY-----",
        lines.join("\n")
    )
}

/// Texts with a secret each, and the rule that is to find it.
fn secrets() -> Vec<(&'static str, String, String)> {
    let jwt = format!("eyJ{}.eyJ{}.{}", chance(30), chance(60), chance(43));
    let upper = chance(40).to_uppercase().replace(['0', '1', '8', '9'], "A");
    let list: Vec<(&str, &str, String, &str)> = vec![
        ("private_key", "", key_block("OPENSSH "), "\n"),
        ("private_key", "key = \"", key_block("").replace('\n', "\\n"), "\"\n"),
        ("jwt", "cookie: ", jwt.clone(), "; path=/"),
        ("aws_access_key", "id ", format!("AKIA{}", &upper[..16]), "."),
        ("aws_secret_key", "aws_secret_access_key = ", chance(40), "\n"),
        (
            "github_token",
            "https://x-access-token:",
            format!("ghp_{}", chance(36)),
            "@github.com/a/b",
        ),
        ("github_token", "", format!("github_pat_{}_{}", chance(22), chance(59)), ""),
        ("gitlab_token", "PRIVATE-TOKEN: ", format!("glpat-{}", chance(20)), ""),
        ("slack_token", "", format!("xoxb-{}-{}", "2345678901", chance(24)), " "),
        (
            "slack_webhook",
            "https://hooks.slack.com/services/",
            format!("T{0}/B{0}/{1}", &upper[..8], chance(24)),
            "",
        ),
        ("stripe_key", "", format!("sk_live_{}", chance(24)), ""),
        ("google_key", "?key=", format!("AIza{}", chance(35)), "&q=1"),
        ("anthropic_key", "ANTHROPIC_API_KEY=", format!("sk-ant-api03-{}", chance(93)), "\n"),
        ("openai_key", "export OPENAI_API_KEY=", format!("sk-proj-{}", chance(48)), "\n"),
        ("openai_key", "", format!("sk-{}", chance(48)), ""),
        ("npm_token", "//npm.example.test/:_authToken=", format!("npm_{}", chance(36)), "\n"),
        ("pypi_token", "password = ", format!("pypi-AgE{}", chance(60)), "\n"),
        ("bearer", "Authorization: Bearer ", chance(32), "\r\n"),
        ("bearer", "'authorization': `Basic ", format!("{}==", chance(22)), "`"),
        ("url_credentials", "postgres://admin:", "tr0ub4dor&3".to_owned(), "@db.internal:5432/app"),
        ("provider_token", "login with ", format!("gsk_{}", chance(52)), "."),
        ("provider_token", "docker login -p ", format!("dckr_pat_{}", chance(27)), "\n"),
        (
            "provider_token",
            "tailscale up ",
            format!("tskey-auth-{}-{}", chance(12), chance(32)),
            "",
        ),
        ("assignment", "aws_session_token = ", chance(700), "\n"),
        ("assignment", "{\"SessionToken\": \"", chance(700), "\"}"),
        ("assignment", "gh auth login --with-token ", chance(40), "\n"),
        ("assignment", "const token: string = \"", chance(32), "\";"),
        ("assignment", "<password>", chance(20), "</password>"),
        ("assignment", "DB_PASSWORD=", chance(20), "\n"),
        ("assignment", "\"client_secret\": \"", chance(24), "\","),
        ("assignment", "api_key: '", chance(32).to_lowercase(), "'"),
    ];
    let text = |(rule, before, secret, after): (&'static str, &str, String, &str)| {
        (rule, format!("{before}{secret}{after}"), secret)
    };
    list.into_iter().map(text).collect()
}

#[test]
fn what_is_derived_from_a_secret_does_not_show_it() {
    let here = World::in_sqlite();
    let (given, read) = (chance(24), chance(40)[20..].to_owned());
    let fields =
        json!({ "tool": "login", "args": { "password": given }, "brief": format!("bob {given}") });
    let Value::Object(fields) = fields else { unreachable!() };
    let output = format!("db:\n  password: {read}\n");
    let payload = Payload { content: Some(output), fields, ..Payload::default() };
    here.put(Envelope::unsourced(ObjectId::new("call_0"), ObjectType::Toolcall).unwrap(), &payload);
    let event = json!({ "event": "toolcall", "object": "call_0", "brief": format!("bob {given}"), "last": read });
    here.session("s", &[event.to_string()], None);
    let (archive, _) = here.export_with(&ExportOptions {
        scope: ArchiveScope::Everything,
        redact: true,
        compress: false,
    });
    let text = String::from_utf8(archive.clone()).unwrap();
    assert!(!text.contains(&given) && !text.contains(&read), "{text}");
    assert!(text.contains(r#"\"object\":\"call_0\""#), "{text}");
    assert_eq!(World::in_memory().import(&archive).left_out, []);
}

#[test]
fn each_kind_of_secret_is_found_and_removed() {
    for (rule, text, secret) in secrets() {
        let found = redact_text(&text);
        assert_eq!(found.counts.keys().collect::<Vec<_>>(), [&rule], "{text}");
        let left = found.text.unwrap();
        assert!(left.contains(&format!("[redacted:{rule}]")) && !left.contains(&secret), "{left}");
        assert_eq!(left.lines().count(), text.lines().count(), "lines keep their numbers: {left}");
        assert_eq!(redact_text(&left).text, None, "nothing is found twice: {left}");
        let json = json!({ "type": "text", "text": [format!("before {text} after")] }).to_string();
        let left = redact_json(&json).text.unwrap();
        let value: Value = serde_json::from_str(&left).unwrap();
        assert!(!value["text"][0].as_str().unwrap().contains(&secret), "{left}");
        let nested = json!({ "arguments": json.clone() }).to_string();
        let left: Value = serde_json::from_str(&redact_json(&nested).text.unwrap()).unwrap();
        let inner: Value = serde_json::from_str(left["arguments"].as_str().unwrap()).unwrap();
        assert!(!inner.to_string().contains(&secret), "JSON in JSON stays JSON: {left}");
    }
}

/// Hexadecimal digits as chance makes them.
fn hex(length: usize) -> String {
    Hash::of(chance(9)).as_str().chars().cycle().take(length).collect()
}

#[test]
fn keys_of_many_providers_are_found_by_the_rules_of_gitleaks() {
    let upper = chance(64).to_uppercase().replace(['0', '1', '8', '9'], "A");
    let list: Vec<(&str, &str, String)> = vec![
        ("aws_access_key", "id: ", format!("ASIA{}", &upper[..16])),
        ("aws_access_key", "id: ", format!("A3TX{}", &upper[..16])),
        ("digitalocean-pat", "", format!("dop_v1_{}", hex(64))),
        ("shopify-access-token", "", format!("shpat_{}", hex(32))),
        ("doppler-api-token", "", format!("dp.pt.{}", chance(43))),
        ("databricks-api-token", "", format!("dapi{}", hex(32))),
        ("sendgrid-api-token", "", format!("SG.{}", chance(66))),
        ("linear-api-key", "", format!("lin_api_{}", chance(40))),
        ("planetscale-password", "", format!("pscale_pw_{}", chance(43))),
        ("perplexity-api-key", "", format!("pplx-{}", chance(48))),
        ("twilio-api-key", "twilio ", format!("SK{}", hex(32))),
        ("datadog-access-token", "datadog_key = ", chance(40).to_lowercase()),
    ];
    for (rule, before, secret) in list {
        let text = format!("{before}{secret}\nnext");
        let found = redact_text(&text);
        assert_eq!(found.counts.keys().collect::<Vec<_>>(), [&rule], "{text}");
        assert!(!found.text.as_ref().unwrap().contains(&secret), "{found:?}");
        assert_eq!(redact_text(found.text.as_ref().unwrap()).text, None);
    }
}

#[test]
fn a_short_private_key_is_found_in_every_form_of_its_line_ends() {
    // What `openssl genpkey -algorithm ed25519` writes: one line of 64 digits.
    let key = format!("MC4CAQAwBQYDK2VwBCIE{}", chance(44));
    for end in ["\n", "\r\n", "\\n"] {
        let text = format!(
            "a{end}-----BEGIN PRIVATE KEY-----{end}{key}{end}-----END PRIVATE KEY-----{end}b"
        );
        let left = redact_text(&text).text.unwrap_or_else(|| panic!("{text}"));
        assert!(!left.contains(&key), "{left}");
        assert_eq!(left.lines().count(), text.lines().count());
        let json = json!({ "content": text }).to_string();
        assert!(!redact_json(&json).text.unwrap().contains(&key));
    }
}

#[test]
fn secrets_between_multibyte_characters_leave_those_whole() {
    let secret = format!("dop_v1_{}", hex(64));
    for text in [format!("ä{secret}ö"), format!("“{secret}”"), format!("🙂 {secret}\u{202e}")]
    {
        let left = redact_text(&text).text.unwrap_or_else(|| text.clone());
        assert!(left.chars().count() <= text.chars().count(), "{left}");
    }
}

#[test]
fn searching_for_secrets_takes_time_in_proportion_to_the_text() {
    let parts = ["key", "token = ", "curl -u ", "-----BEGIN PRIVATE KEY-----", "a.b-c_", "\"'`"];
    for part in parts {
        let time = |length: usize| {
            let text = part.repeat(length / part.len());
            spent_on(|| drop(redact_text(&text))).as_secs_f64()
        };
        time(10_000);
        let is_linear = (0..5).any(|_| time(200_000) < 12.0 * time(50_000).max(0.005));
        assert!(is_linear, "{part}");
    }
}

#[test]
fn a_key_of_json_says_that_its_value_is_a_secret() {
    let secret = chance(24);
    let json = json!({ "apiKey": secret, "name": secret, "token": "a plain word" }).to_string();
    let left: Value = serde_json::from_str(&redact_json(&json).text.unwrap()).unwrap();
    assert_eq!(left["apiKey"], "[redacted:assignment]");
    assert_eq!(
        (left["name"].as_str(), left["token"].as_str()),
        (Some(&*secret), Some("a plain word"))
    );
}

#[test]
fn ordinary_code_hashes_and_ids_stay() {
    let hash = Hash::of("a");
    let image = chance(5_000);
    for text in [
        format!("sha256:{hash} integrity sha512-{}==", chance(86)),
        format!("data:image/png;base64,{image}"),
        image.clone(),
        "id 550e8400-e29b-41d4-a716-446655440000 commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad"
            .into(),
        "const password = hashPassword(user.password1, config.rounds12);".into(),
        "token = secrets.token_urlsafe(32)\napi_key: env.OPENAI_API_KEY_2".into(),
        "API_KEY=your-key-here PASSWORD=${DB_PASSWORD_1} SECRET=<your secret> token: string | null"
            .into(),
        "postgres://user:$PASSWORD@host postgres://user:password@host http://localhost:8080/a@b"
            .into(),
        "max_tokens: 1234567890123, next_token_count=45678901234567".into(),
        "class=\"sk-fading-circle-12 sk-circle\" task-status-notification-2024-01-01-abc".into(),
        "Bearer authentication, Authorization: Bearer <token>, bearer of bad news2024".into(),
        "-----BEGIN PRIVATE KEY-----\nis the first line of a PEM file\n".into(),
        "AKIAIOSFODNN7EXAMPLE aws_secret_access_key = process.env.AWS_SECRET".into(),
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2 user@host".into(),
        "password: Option<String>, let password_hash = \"$2b$12$abcdefghijklmnopqrstuv\";".into(),
    ] {
        assert_eq!(redact_text(&text).text, None, "{text}");
    }
}

#[test]
fn recorded_sessions_have_almost_no_false_secrets() {
    let Some(files) = crate::recorded::files(&["transcripts"], None) else { return };
    let (mut lines, mut found) = (0_u64, std::collections::BTreeMap::<&str, u64>::new());
    for file in files {
        let text = crate::recorded::read(&file);
        for line in text.lines() {
            let redacted = redact_json(line);
            lines += 1;
            for (rule, count) in redacted.counts {
                *found.entry(rule).or_default() += count;
            }
            if let Some(text) = redacted.text {
                serde_json::from_str::<Value>(&text).unwrap();
            }
        }
    }
    #[expect(clippy::print_stderr, reason = "the figures are what the test is run for")]
    {
        eprintln!("{lines} messages of recorded sessions: {found:?}");
    }
    // Looked at: one key that an error message repeats, and tokens in answers of services; two
    // assignments were not.
    assert!(found.values().sum::<u64>() * 100 < lines, "{found:?} in {lines} messages");
}

const REDACTED: ExportOptions =
    ExportOptions { scope: ArchiveScope::Everything, redact: true, compress: false };

#[test]
fn a_redacted_archive_holds_no_secret_and_can_be_checked() {
    for here in World::each() {
        let here = here.with_history();
        let secret = format!("ghp_{}", chance(36));
        let text = format!("first\nGITHUB_TOKEN={secret}\nlast\n");
        let file = here.file("/env", &text);
        here.file("/plain", "nothing to hide\n");
        here.toolcall("call_1", &text, Some(&text));
        let item =
            |text: &str| json!({ "turn": 1, "message": { "text": text, "n": 1.50 } }).to_string();
        here.session("s", &[item("plain"), item(&text)], Some((9, vec![item(&text), item("end")])));
        let (archive, exported) = here.export_with(&REDACTED);
        assert!(!String::from_utf8_lossy(&archive).contains(&secret));
        // The file, the toolcall and its summary have one content; two items hold it too.
        assert_eq!(exported.redactions.into_iter().collect::<Vec<_>>(), [("github_token", 3)]);
        for there in World::each() {
            let imported = there.import(&archive);
            assert_eq!(
                (imported.versions, imported.left_out),
                (here.versions().len() as u64, vec![])
            );
            there.verify();
            let original = here.store.get(&file, AsOf::Latest).unwrap().unwrap();
            let reference = Reference::Static(Store::static_reference(&original));
            let version = there.store.resolve(&reference).unwrap();
            assert_eq!(version.content_hash, original.content_hash);
            assert_eq!(version.redacted.as_ref().unwrap().reason, RedactionReason::Secret);
            let shown = there.store.content(&version).unwrap().unwrap();
            assert_eq!(shown, "first\nGITHUB_TOKEN=[redacted:github_token]\nlast\n");
            let items =
                there.store.list_items(&ObjectId::chat("s"), AsOf::Latest, 0..u64::MAX).unwrap();
            assert!(items[items.len() - 2].redacted.is_some());
            assert_eq!(items.last().unwrap().text, item("end"));
            // Whole versions take the place of redacted ones; items stay as they are.
            let imported = there.import(&here.export(ArchiveScope::Everything));
            assert_eq!((imported.versions, imported.restored, imported.left_out), (0, 2, vec![]));
            let version = there.store.resolve(&reference).unwrap();
            assert_eq!(there.store.content(&version).unwrap().unwrap(), text);
            there.verify();
        }
        // Nor redacted ones that of whole ones.
        let imported = here.import(&archive);
        assert_eq!((imported.versions, imported.put_again, imported.left_out), (0, 0, vec![]));
    }
}

#[test]
fn a_whole_item_stays_when_an_archive_brings_it_redacted() {
    let (here, there) = (World::in_sqlite(), World::in_memory());
    let secret = format!("glpat-{}", chance(20));
    let item = |text: &str| json!({ "text": text }).to_string();
    here.session("s", &[item("a")], Some((0, vec![item("a"), item(&secret)])));
    there.import(&here.export_with(&REDACTED).0);
    here.session("s", &[item("b")], Some((2, vec![item("b")])));
    there.import(&here.export(ArchiveScope::Everything));
    there.verify();
    there.session("s", &[item("c")], Some((2, vec![item("c")])));
    here.import(&there.export(ArchiveScope::Everything));
    here.verify();
    assert_eq!(here.latest(), there.latest());
    let shown = |world: &World| {
        let items = world.store.items(&ObjectId::chat("s"), AsOf::Latest, 0..u64::MAX).unwrap();
        items[1].contains("redacted:gitlab_token")
    };
    assert_eq!((shown(&here), shown(&there)), (false, true), "what is whole stays whole");
}
