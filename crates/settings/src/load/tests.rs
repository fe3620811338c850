//! The tests of `load.rs`.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use config::{Layout, MEMORY_SETTINGS, MemorySettings, SETTINGS, SettingDoc, SettingType};

struct Folders {
    agent: tempfile::TempDir,
    project: tempfile::TempDir,
}

impl Folders {
    fn new(user: Option<&str>, project: Option<&str>) -> Self {
        let folders =
            Self { agent: tempfile::tempdir().unwrap(), project: tempfile::tempdir().unwrap() };
        if let Some(text) = user {
            std::fs::write(folders.agent.path().join(SETTINGS_FILE), text).unwrap();
        }
        if let Some(text) = project {
            let folder = folders.project.path().join(".pi");
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join(SETTINGS_FILE), text).unwrap();
        }
        folders
    }

    fn load(&self) -> Result<Settings> {
        super::load(Some(self.agent.path()), Some(self.project.path()))
    }

    /// The error's text, with the folders by name.
    fn refusal(&self) -> String {
        let error = self.load().unwrap_err();
        assert_eq!(error.code(), "INVALID_SETTINGS");
        error
            .to_string()
            .replace(self.agent.path().to_str().unwrap(), "AGENT")
            .replace(self.project.path().to_str().unwrap(), "PROJECT")
            .replace('\\', "/")
    }
}

#[test]
fn each_setting_has_a_row_and_a_right_default() {
    let rows = |table: &[SettingDoc]| -> BTreeSet<String> {
        table.iter().map(|doc| doc.key.to_owned()).collect()
    };
    let keys = |values: &Map<String, Value>| values.keys().cloned().collect::<BTreeSet<_>>();
    let Value::Object(defaults) = json!(Settings::default()) else { panic!("an object") };
    assert_eq!(rows(SETTINGS), keys(&defaults));
    assert_eq!(ANY_SETTING.problems(&defaults), Vec::<String>::new());
    let Value::Object(defaults) = json!(MemorySettings::default()) else { panic!("an object") };
    assert_eq!(rows(MEMORY_SETTINGS), keys(&defaults));
}

#[test]
fn every_choice_of_the_table_can_be_made() {
    for doc in SETTINGS {
        let SettingType::Choice(choices) = doc.kind else { continue };
        for choice in choices {
            let text = json!({ doc.key: choice }).to_string();
            let settings = Folders::new(Some(&text), None).load().unwrap();
            assert_eq!(json!(settings)[doc.key], json!(choice));
        }
    }
}

#[test]
fn missing_files_give_the_defaults() {
    assert_eq!(Folders::new(None, None).load().unwrap(), Settings::default());
    assert_eq!(load(None, None).unwrap(), Settings::default());
    assert_eq!(Folders::new(Some("{}"), Some("{}")).load().unwrap(), Settings::default());
}

#[test]
fn the_project_overrides_the_user_key_by_key() {
    let user = r#"{"layout": "pools", "keepResults": 3, "store": "~/s.sqlite"}"#;
    let project = r#"{"keepResults": 7, "enabled": false, "highWater": 1}"#;
    let settings = Folders::new(Some(user), Some(project)).load().unwrap();
    let expected = Settings {
        layout: Layout::Pools,
        keep_results: 7,
        store: Some("~/s.sqlite".into()),
        enabled: false,
        high_water: 1.0,
        ..Settings::default()
    };
    assert_eq!(settings, expected);
}

#[cfg(unix)]
#[test]
fn a_projects_file_that_is_a_link_is_refused() {
    use std::os::unix::fs::symlink;

    let folders = Folders::new(None, None);
    let elsewhere = folders.agent.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join(SETTINGS_FILE), "{\"keepResults\": 3}").unwrap();
    symlink(&elsewhere, folders.project.path().join(".pi")).unwrap();
    assert!(folders.refusal().contains("lies behind"));
    std::fs::remove_file(folders.project.path().join(".pi")).unwrap();
    std::fs::create_dir(folders.project.path().join(".pi")).unwrap();
    let link = folders.project.path().join(".pi").join(SETTINGS_FILE);
    symlink(elsewhere.join(SETTINGS_FILE), link).unwrap();
    assert!(folders.refusal().contains("is a link"));
}

#[test]
fn a_project_adds_to_what_is_excluded_and_takes_nothing_away() {
    let excludes = |user: Option<&str>, project: &str, name: &str| {
        let project = json!({ "exclude": serde_json::from_str::<Value>(project).unwrap() });
        let settings = Folders::new(user, Some(&project.to_string())).load().unwrap();
        settings.excluded().unwrap().excludes_name(&Path::new("/p").join(name))
    };
    let (none, mine) = (None, Some(r#"{"exclude": ["*.mine"]}"#));
    let also = Some(r#"{"excludeAlso": ["*.mine"]}"#);
    for (user, project, name, expected) in [
        (none, r#"[".env.example"]"#, ".env.example", true),
        (none, r#"[".env.example"]"#, ".env.sample", false),
        (none, r#"["**"]"#, ".env.example", true),
        (none, r#"["**"]"#, "id_rsa.pub", true),
        (none, r#"["*.dump", "!keep.dump"]"#, "a.dump", true),
        (none, r#"["*.dump", "!keep.dump"]"#, "keep.dump", false),
        (none, r#"["!**"]"#, ".env", true),
        (none, "null", ".env", true),
        (none, "[]", ".env", true),
        (mine, r#"["*.dump", "!**"]"#, "a.mine", true),
        (mine, r#"["*.dump"]"#, "a.dump", true),
        (mine, r#"["*.dump"]"#, ".env", false),
        (also, r#"["*.dump", "!**"]"#, "a.mine", true),
        (also, r#"["*.dump"]"#, "a.dump", true),
        (also, r#"["*.dump"]"#, ".env", true),
        (Some(r#"{"exclude": []}"#), "null", ".env", false),
    ] {
        assert_eq!(excludes(user, project, name), expected, "{user:?} {project} {name}");
    }
}

#[cfg(unix)]
#[test]
fn weights_of_hazards_are_found_beside_the_settings_file() {
    for (set, expected) in [("w.json", "AGENT/w.json"), ("/w.json", "/w.json")] {
        let folders = Folders::new(Some(&json!({ "hazards": set }).to_string()), None);
        let expected = expected.replace("AGENT", folders.agent.path().to_str().unwrap());
        assert_eq!(folders.load().unwrap().hazards, Some(expected));
    }
}

#[test]
fn the_file_of_hazards_is_found_beside_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let of = |given: &str| {
        let json = json!({ "hazards": given }).to_string();
        std::fs::write(folder.path().join(SETTINGS_FILE), json).unwrap();
        load(Some(folder.path()), None).unwrap().hazards.unwrap()
    };
    assert_eq!(of("mine.json"), folder.path().join("mine.json").to_string_lossy());
    assert_eq!(of("/elsewhere/mine.json"), "/elsewhere/mine.json");
}

#[test]
fn a_project_may_not_choose_the_store_or_the_filesystem() {
    let project = r#"{"store": "/tmp/theirs", "filesystemId": null}"#;
    insta::assert_snapshot!(Folders::new(None, Some(project)).refusal().replace("; ", ";\n"), @"
    settings in `PROJECT/.pi/palimpsest.json`: `store` may be set in the user's settings only;
    `filesystemId` may be set in the user's settings only
    ");
}

#[test]
fn every_wrong_key_is_named_with_what_was_expected() {
    let user = r#"{"keepResult": 5, "colour": 1, "layout": "pool", "enabled": "yes", "store": "",
        "filesystemId": 7, "poolTokens": -1, "activeTurns": 0, "previewTokens": 1.5, "highWater": 80, "KEEP_RESULTS": 1}"#;
    let refusal = Folders::new(Some(user), None).refusal().replace("; ", ";\n");
    insta::assert_snapshot!(refusal, @r#"
    settings in `AGENT/palimpsest.json`: `keepResult` is not a setting, `keepResults` is;
    `colour` is not a setting;
    `layout` must be `"log"` or `"pools"`, is `"pool"`;
    `enabled` must be `true` or `false`, is `"yes"`;
    `store` must be a string that is not empty, or `null`, is `""`;
    `filesystemId` must be a string that is not empty, or `null`, is `7`;
    `poolTokens` must be a whole number from 0 to 100000000, is `-1`;
    `activeTurns` must be a whole number from 1 to 100000000, is `0`;
    `previewTokens` must be a whole number from 0 to 100000000, is `1.5`;
    `highWater` must be a number above 0 and up to 1, is `80`;
    `KEEP_RESULTS` is not a setting, `keepResults` is
    "#);
}

#[test]
fn mounts_are_checked_and_are_the_users_alone() {
    let mount = |agent: &str| json!([{ "agentPrefix": agent, "canonicalPrefix": "/h" }]);
    let user = json!({ "mounts": mount("/w"), "sandbox": "box" }).to_string();
    let settings = Folders::new(Some(&user), None).load().unwrap();
    assert_eq!((settings.mounts.len(), settings.sandbox.as_deref()), (1, Some("box")));
    let wrong = |mounts: Value| {
        let refusal = Folders::new(Some(&json!({ "mounts": mounts }).to_string()), None).refusal();
        refusal.split_once(": ").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(wrong(mount("w")), @"`mounts` have the agentPrefix `w`, which is not an absolute path");
    insta::assert_snapshot!(wrong(json!([mount("/w")[0], mount("/w/")[0]])), @"`mounts` map `/w` twice");
    insta::assert_snapshot!(wrong(json!([mount("/w")[0], { "agent": "/w" }])), @r#"`mounts` has the entry 2, `{"agent":"/w"}`, which is refused: unknown field `agent`, expected one of `agentPrefix`, `canonicalPrefix`, `filesystemId`, `clientPrefix`"#);
    insta::assert_snapshot!(wrong(json!([{ "agentPrefix": "/w" }])), @r#"`mounts` has the entry 1, `{"agentPrefix":"/w"}`, which lacks the key `canonicalPrefix`"#);
    insta::assert_snapshot!(wrong(json!(["/w:/h"])), @r#"`mounts` has the entry 1, `"/w:/h"`, which is not an object"#);
    insta::assert_snapshot!(wrong(json!("/w:/h")), @r#"`mounts` must be a list of mount mappings, is `"/w:/h"`"#);
    let refusal = Folders::new(None, Some(r#"{"sandbox": "b", "mounts": []}"#)).refusal();
    assert_eq!(refusal.matches("may be set in the user's settings only").count(), 2);
}

#[test]
fn a_wrong_glob_is_named_by_its_entry() {
    let wrong = |globs: Value| {
        let text = json!({ "exclude": globs }).to_string();
        let refusal = Folders::new(Some(&text), None).refusal();
        refusal.split_once(": ").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(wrong(json!(["*.a", "[b"])), @r#"`exclude` has the entry 2, `"[b"`, which is not a glob: unclosed character class; missing ']'"#);
    insta::assert_snapshot!(wrong(json!(["*.a", " "])), @r#"`exclude` has the entry 2, `" "`, which is empty"#);
    insta::assert_snapshot!(wrong(json!(["*.a", 3])), @"`exclude` has the entry 2, `3`, which is not a string");
    insta::assert_snapshot!(wrong(json!("*.a")), @r#"`exclude` must be a list of globs, or `null`, is `"*.a"`"#);
}

#[test]
fn a_wrong_value_that_is_not_needed_is_passed_over() {
    let text =
        r#"{"store": "s", "keepResults": -1, "prices": "mine", "layuot": 1, "maxTextBytes": 9}"#;
    let folders = Folders::new(Some(text), None);
    let load = |needed: &'static [&'static str]| {
        load_needed(Some(folders.agent.path()), None, &|key| needed.contains(&key))
    };
    let settings = load(&["store"]).unwrap();
    let expected = Settings { store: Some("s".into()), max_text_bytes: 9, ..Settings::default() };
    assert_eq!(settings, expected);
    assert_eq!(load(&["store", "prices"]).unwrap_err().code(), "INVALID_SETTINGS");
    let wrong = wrong_values(Some(folders.agent.path()), None).unwrap();
    let [wrong] = &wrong[..] else { panic!("{wrong:?}") };
    let wrong = wrong.to_string();
    for key in ["keepResults", "prices", "layuot"] {
        assert!(wrong.contains(&format!("`{key}`")), "{wrong}");
    }
    assert_eq!(folders.load().unwrap_err().code(), "INVALID_SETTINGS");
}

/// The settings under these environment variables.
fn under(settings: Settings, variables: &[(&str, &str)]) -> Result<Settings> {
    let value = |name: &str| variables.iter().find(|(known, _)| *known == name);
    settings.in_environment(&|name| value(name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn the_environment_of_a_sandbox_overrides_the_settings() {
    let mounts = r#"[{"agentPrefix": "/w", "canonicalPrefix": "/h"}]"#;
    let both = [("PALIMPSEST_MOUNTS", mounts), ("PALIMPSEST_SANDBOX", "box")];
    let settings = under(Settings::default(), &both).unwrap();
    assert_eq!(
        (&*settings.mounts[0].agent_prefix, settings.sandbox.as_deref()),
        ("/w", Some("box"))
    );
    let kept = under(settings.clone(), &[]).unwrap();
    assert_eq!(kept, settings);
    for wrong in
        [("PALIMPSEST_MOUNTS", "{"), ("PALIMPSEST_MOUNTS", "{}"), ("PALIMPSEST_SANDBOX", " ")]
    {
        let error = under(Settings::default(), &[wrong]).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT");
    }
}

#[test]
fn the_environment_sets_or_disables_the_shared_store() {
    let of = |url: &str| {
        let set = Settings { xtdb_url: Some("http://a:1".into()), ..Settings::default() };
        under(set, &[("PALIMPSEST_XTDB_URL", url)]).map(|settings| settings.xtdb_url)
    };
    assert_eq!(of("https://b/x").unwrap().as_deref(), Some("https://b/x"));
    assert_eq!(of("").unwrap(), None);
    let error = of("http://me:hush@b").unwrap_err().to_string();
    assert!(error.contains("PALIMPSEST_XTDB_URL") && !error.contains("hush"), "{error}");
}

#[test]
fn a_project_may_not_say_where_files_are_shared() {
    for key in ["xtdbUrl", "xtdbTokenFile", "xtdbCaFile", "shareSessions", "shareAs"] {
        let refusal = Folders::new(None, Some(&json!({ key: null }).to_string())).refusal();
        let expected = format!(
            "settings in `PROJECT/.pi/palimpsest.json`: `{key}` may be set in the user's settings only"
        );
        assert_eq!(refusal, expected);
    }
}

#[test]
fn an_address_with_a_secret_is_refused_without_showing_it() {
    let refusal = |url: &str| {
        let text = json!({ "xtdbUrl": url }).to_string();
        let refusal = Folders::new(Some(&text), None).refusal();
        assert!(!refusal.contains("hidden"), "{refusal}");
        refusal.split_once(": ").unwrap().1.to_owned()
    };
    insta::assert_snapshot!(refusal("http://me:hidden@box:3000"), @"`xtdbUrl` is `http://…@box:3000`, which holds a name or password; a token belongs into a file of its own");
    insta::assert_snapshot!(refusal("https://hidden@box/a"), @"`xtdbUrl` is `https://…@box/a`, which holds a name or password; a token belongs into a file of its own");
    insta::assert_snapshot!(refusal("http://box/?token=hidden"), @"`xtdbUrl` is `http://box/?…`, which has to end with a host, a port or a path");
    insta::assert_snapshot!(refusal("http://box/#hidden"), @"`xtdbUrl` is `http://box/#…`, which has to end with a host, a port or a path");
    insta::assert_snapshot!(refusal("http://me:hid@den:hidden@box"), @"`xtdbUrl` is `http://…@box`, which holds a name or password; a token belongs into a file of its own");
    insta::assert_snapshot!(refusal("ftp://me:hidden@box"), @"`xtdbUrl` is `ftp://…@box`, which has to begin with `http://` or `https://`");
    insta::assert_snapshot!(refusal("http://me:hidden@box:99999999"), @"`xtdbUrl` is `http://…@box:99999999`, which is not an address of a server: invalid port number");
    insta::assert_snapshot!(refusal("box:3000"), @"`xtdbUrl` is `box:3000`, which has to begin with `http://` or `https://`");
    insta::assert_snapshot!(refusal(""), @"`xtdbUrl` is ``, which is not an address of a server: relative URL without a base");
    let number = Folders::new(Some(r#"{"xtdbUrl": 3000}"#), None).refusal();
    assert!(number.ends_with("`xtdbUrl` must be an address that begins with `http://` or `https://`, or `null`, is `3000`"));
}

#[test]
fn the_way_to_a_shared_store_is_what_the_settings_say() {
    let text = r#"{"xtdbUrl": "http://box:3000", "xtdbTokenFile": "t", "xtdbCaFile": "/ca"}"#;
    let folders = Folders::new(Some(text), None);
    let shared = folders.load().unwrap().shared_store().unwrap();
    assert_eq!(shared.url, "http://box:3000");
    assert_eq!(shared.token_file, Some(folders.agent.path().join("t")));
    assert_eq!(shared.ca_file, Some("/ca".into()));
    assert!(Settings::default().shared_store().is_none());
}

#[test]
fn settings_of_a_program_are_checked_like_those_of_a_file() {
    let settings = Settings::from_json(json!({ "store": "s", "keepResults": 3 })).unwrap();
    let expected = Settings { store: Some("s".into()), keep_results: 3, ..Settings::default() };
    assert_eq!(settings, expected);
    for wrong in [json!([]), json!(null), json!({ "highWater": -3 }), json!({ "layuot": 1 })] {
        assert_eq!(Settings::from_json(wrong).unwrap_err().code(), "INVALID_ARGUMENT");
    }
}

#[test]
fn files_that_are_no_object_are_refused() {
    for (text, problem) in [
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"layout\": }", "not JSON: expected value at line 1 column 12"),
        ("[]", "must be an object with the settings as keys"),
    ] {
        let refusal = Folders::new(Some(text), None).refusal();
        assert_eq!(refusal, format!("settings in `AGENT/palimpsest.json`: {problem}"));
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_device_is_refused() {
    let folders = Folders::new(None, None);
    let link = folders.agent.path().join(SETTINGS_FILE);
    std::os::unix::fs::symlink("/dev/zero", link).unwrap();
    assert!(folders.refusal().ends_with("it is not a regular file"));
}
