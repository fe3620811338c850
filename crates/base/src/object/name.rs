//! Names of objects: handle, full ID, nickname, path or unique ID prefix, tried in this order.
//!
//! Parses only; the session and the store know which objects exist.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Timestamp, TxId};
use crate::error::{Error, Result};

/// Kind of object that a handle names, by its letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HandleKind {
    /// `f`: a file.
    File,
    /// `t`: a toolcall.
    Toolcall,
    /// `s`: a chat segment.
    ChatSegment,
}

impl HandleKind {
    fn letter(self) -> char {
        match self {
            Self::File => 'f',
            Self::Toolcall => 't',
            Self::ChatSegment => 's',
        }
    }
}

/// Short per-session name of an object, shown to the model: `f3`, `t17`, `s2`. Numbers start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    /// Kind of the object.
    pub kind: HandleKind,
    /// Its number, in order of entry into the session index.
    pub number: u32,
}

impl Handle {
    /// Parses `f3`, `t17`, `s2`, with or without brackets around it.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let mut chars = text.chars();
        let kind = match chars.next()? {
            'f' => HandleKind::File,
            't' => HandleKind::Toolcall,
            's' => HandleKind::ChatSegment,
            _ => return None,
        };
        let digits = chars.as_str();
        if digits.starts_with('0') || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self { kind, number: digits.parse().ok()? })
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.kind.letter(), self.number)
    }
}

impl Serialize for Handle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The version that a name selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionSelector {
    /// The latest.
    Latest,
    /// `NAME@TX`: the version visible at a transaction.
    Tx(TxId),
    /// `NAME@-1`: counted back from the latest version.
    Back(u32),
    /// `NAME@2026-11-21T10:00:00Z`: the version visible at a time, see [`Timestamp::parse`].
    Time(Timestamp),
}

/// As it stands behind a name: `@12`; nothing for the latest.
impl fmt::Display for VersionSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => Ok(()),
            Self::Tx(tx_id) => write!(formatter, "@{}", tx_id.0),
            Self::Back(steps) => write!(formatter, "@-{steps}"),
            Self::Time(time) => write!(formatter, "@{time}"),
        }
    }
}

impl VersionSelector {
    /// Parses `latest`, a transaction (`12`), a step back (`-1`) or a time (see
    /// [`Timestamp::parse`]), each with or without a leading `@`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, naming `argument`, for anything else.
    pub fn parse(argument: &str, text: &str) -> Result<Self> {
        let text = text.trim();
        let numbered = text.strip_prefix('@').unwrap_or(text);
        let selector = match text {
            "latest" => Some(Self::Latest),
            _ => Self::numbered(numbered).or_else(|| Timestamp::parse(text).map(Self::Time)),
        };
        selector.ok_or_else(|| {
            let problem = format!(
                "is `{text}`; it must be a transaction such as `12`, a step back such as `-1`, or a time such as \
                 `2026-03-01T12:30:00Z`"
            );
            Error::argument(argument, problem)
        })
    }

    /// A transaction or a step back. Only digits count, without another sign.
    fn numbered(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        match text.strip_prefix('-').filter(|_| plain) {
            Some(back) => back.parse().ok().map(Self::Back),
            None => text.parse().ok().filter(|_| plain).map(|tx| Self::Tx(TxId(tx))),
        }
    }
}

/// A name as typed, split from its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name without its version.
    pub text: String,
    /// The version asked for.
    pub version: VersionSelector,
}

/// Fewest hexadecimal digits of an ID prefix.
const MIN_PREFIX: usize = 8;

impl Name {
    /// Splits `NAME`, `NAME@TX`, `NAME@TIME` or `NAME@-N`. An `@` not followed by one of these
    /// belongs to the name (paths may hold one).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the name is empty.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::argument("name", "is empty"));
        }
        let parts = text.rsplit_once('@').filter(|(name, _)| !name.is_empty());
        let versioned = parts.and_then(|(name, version)| {
            let time = || Timestamp::parse(version).map(VersionSelector::Time);
            Some((name, VersionSelector::numbered(version).or_else(time)?))
        });
        if let Some((name, version)) = versioned {
            return Ok(Self { text: name.to_owned(), version });
        }
        Ok(Self { text: text.to_owned(), version: VersionSelector::Latest })
    }

    /// The name as a handle, if it has that form.
    pub fn handle(&self) -> Option<Handle> {
        Handle::parse(&self.text)
    }

    /// The name as an ID prefix, if it has that form: at least 8 hexadecimal digits or dashes. For
    /// sessions, chats and so on, these follow the type that starts the ID (`session:0189abcd`).
    pub fn id_prefix(&self) -> Option<&str> {
        let digits = self.text.split_once(':').map_or(&*self.text, |(_, digits)| digits);
        looks_like_hex(digits).then_some(self.text.as_str())
    }
}

/// Optional alias of an object, unique in a store. It must not look like a handle or an ID prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nickname(String);

impl Nickname {
    /// Checks a nickname: 1 to 64 characters, no white space, `@` or path separator, unlike a
    /// handle or hexadecimal.
    ///
    /// # Errors
    /// `INVALID_NICKNAME` with the reason.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |reason: &str| {
            // What was taken for a nickname may be a whole text.
            let name = text.chars().take(65).collect();
            Err(Error::InvalidNickname { name, reason: reason.to_owned() })
        };
        if text.is_empty() || text.chars().count() > 64 {
            return refuse("it must have 1 to 64 characters");
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || "@/\\[]:".contains(c)) {
            return refuse("it holds white space or one of `@ / \\ [ ] :`");
        }
        if Handle::parse(text).is_some() {
            return refuse("it looks like a handle");
        }
        if looks_like_hex(text) {
            return refuse("it looks like an ID");
        }
        Ok(Self(text.to_owned()))
    }

    /// Checks a nickname that a person gives now: as [`Self::parse`], and not `latest`, by which
    /// commands mean a session.
    ///
    /// # Errors
    /// `INVALID_NICKNAME` with the reason.
    pub fn given(text: &str) -> Result<Self> {
        if text == "latest" {
            let reason = "it stands for the newest session".to_owned();
            return Err(Error::InvalidNickname { name: text.to_owned(), reason });
        }
        Self::parse(text)
    }

    /// Why a nickname from elsewhere is refused, if it is: it could be mistaken for one of the
    /// user's own names, such as a file's. The user's own nicknames may be anything that
    /// [`Self::parse`] accepts.
    pub fn mistakable(&self) -> Option<&'static str> {
        let folded = self.0.to_lowercase();
        if self.0.starts_with('-') {
            return Some("it looks like an option");
        }
        if Handle::parse(&folded).is_some() || folded == "latest" {
            return Some("it looks like a handle");
        }
        if self.0.contains(['.', '~']) || FILES_WITHOUT_ENDING.contains(&&*folded) {
            return Some("it looks like a file's name");
        }
        // This also rejects marks that change direction, combine or are invisible.
        let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
        (!self.0.chars().all(is_plain))
            .then_some("it holds a character that could be taken for another")
    }

    /// The nickname as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Well-known file names without an extension, in lower case.
const FILES_WITHOUT_ENDING: [&str; 18] = [
    "authors",
    "brewfile",
    "changelog",
    "codeowners",
    "containerfile",
    "contributing",
    "copying",
    "dockerfile",
    "gemfile",
    "justfile",
    "licence",
    "license",
    "makefile",
    "notice",
    "procfile",
    "rakefile",
    "readme",
    "vagrantfile",
];

fn looks_like_hex(text: &str) -> bool {
    text.len() >= MIN_PREFIX && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn handles_have_a_letter_and_a_number_from_one() {
        assert_eq!(Handle::parse("t17").unwrap().to_string(), "t17");
        assert_eq!(Handle::parse("[f3]").unwrap().to_string(), "f3");
        for text in ["t0", "t", "x1", "t1x", "t-1", "t+1", "", "t99999999999"] {
            assert_eq!(Handle::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ambiguous_nicknames_are_mistakable() {
        let mistakable = |text: &str| Nickname::parse(text).unwrap().mistakable().is_some();
        for text in [
            "a.txt",
            "package.json",
            ".env",
            "a.",
            "~a",
            "README",
            "Makefile",
            "license",
            "F3",
            "T17",
            "Latest",
            "--all",
            "-x",
            "notes\u{202E}",
            "note\u{200B}s",
            "e\u{301}",
            "a,b",
            "a*",
            "\u{FF0E}env",
            "a\u{2024}txt",
        ] {
            assert!(mistakable(text), "{text:?}");
        }
        for text in ["notes", "the-plan", "plan_2", "заметки", "é", "計画"] {
            assert!(!mistakable(text), "{text:?}");
        }
    }

    #[test]
    fn names_split_from_their_version() {
        let parse = |text| Name::parse(text).unwrap();
        assert_eq!(parse("f3").version, VersionSelector::Latest);
        assert_eq!(parse("f3@12").version, VersionSelector::Tx(TxId(12)));
        assert_eq!(
            parse("src/a.rs@-1"),
            Name { text: "src/a.rs".into(), version: VersionSelector::Back(1) }
        );
        assert_eq!(parse("node_modules/@types/node").text, "node_modules/@types/node");
        assert_eq!(parse("@12").text, "@12");
        assert_eq!(
            parse("f3@1970-01-01T00:00:01Z").version,
            VersionSelector::Time(Timestamp(1_000))
        );
        assert_eq!(parse("a@b@1970-01-02").version, VersionSelector::Time(Timestamp(86_400_000)));
        for whole in
            ["f3@+1", "f3@--1", "f3@1.0", "f3@1970-13-01", "f3@", "f3@99999999999999999999"]
        {
            let name = parse(whole);
            assert_eq!((name.text.as_str(), name.version), (whole, VersionSelector::Latest));
        }
        assert!(Name::parse("  ").is_err());
    }

    #[test]
    fn versions_are_chosen_by_number_step_or_time() {
        let parse = |text| VersionSelector::parse("at", text);
        for (text, expected) in [
            ("latest", VersionSelector::Latest),
            ("12", VersionSelector::Tx(TxId(12))),
            ("@12", VersionSelector::Tx(TxId(12))),
            ("-1", VersionSelector::Back(1)),
            ("@-2", VersionSelector::Back(2)),
            ("1970-01-01T00:00:01Z", VersionSelector::Time(Timestamp(1_000))),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
        for text in ["", "x", "--1", "1.5", "last", "12:00"] {
            assert_eq!(parse(text).unwrap_err().code(), "INVALID_ARGUMENT", "{text}");
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn no_text_makes_a_name_panic(text in "[a-f0-9@tTZ:. é\\[\\]+-]{0,24}") {
            if let Ok(name) = Name::parse(&text) {
                prop_assert!(text.trim().starts_with(&name.text) && !name.text.is_empty());
                let _ = (name.handle(), name.id_prefix());
            }
            if let Ok(nickname) = Nickname::parse(&text) {
                let name = Name::parse(nickname.as_str()).unwrap();
                prop_assert_eq!((&*name.text, name.version), (nickname.as_str(), VersionSelector::Latest));
                prop_assert!(name.handle().is_none() && name.id_prefix().is_none());
            }
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn every_time_of_four_digit_years_reads_back(ms in -62_167_219_200_000_i64..253_402_300_800_000) {
            prop_assert_eq!(Timestamp::parse(&Timestamp(ms).to_string()), Some(Timestamp(ms)));
        }

        #[test]
        fn no_text_makes_reading_a_time_panic(text in "[0-9TZ:.+é-]{0,26}") {
            let _ = Timestamp::parse(&text);
        }
    }

    #[test]
    fn extreme_numbers_name_a_transaction_or_nothing() {
        let last = VersionSelector::Tx(TxId(i64::MAX));
        assert_eq!(Name::parse("a@9223372036854775807").unwrap().version, last);
        for text in ["9223372036854775808", "-9223372036854775808", "-18446744073709551616"] {
            let parsed = VersionSelector::parse("at", text);
            assert!(!matches!(parsed, Ok(VersionSelector::Tx(_))), "{text}");
            let _ = Name::parse(&format!("a@{text}"));
        }
    }

    #[test]
    fn nicknames_may_not_look_like_other_names() {
        assert!(Nickname::given("main-loop").is_ok());
        assert_eq!(Nickname::given("latest").unwrap_err().code(), "INVALID_NICKNAME");
        for text in ["", "t17", "deadbeef", "a b", "a@1", "src/x", "0123456789abcdef"] {
            assert_eq!(Nickname::parse(text).unwrap_err().code(), "INVALID_NICKNAME", "{text}");
        }
    }
}
