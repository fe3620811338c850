//! Distinguishes members of a program's objects from files: `process.env` is no `.env`. Pure.

/// Ends of names that are usual in programs.
const MEMBERS: [&str; 2] = ["env", "key"];

/// Whether a name in a program may be a member and not a file: `process.env`, `event.key`,
/// `.Env.HOME`.
pub(super) fn may_be_member(name: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
    };
    if let Some(rest) = name.strip_prefix('.') {
        // In templates: `.env` is a file, `.Env` is not.
        let mut letters = rest.chars();
        return letters.next().is_some_and(char::is_uppercase)
            && letters.next().is_some_and(char::is_lowercase);
    }
    let mut parts = name.trim_matches('/').rsplit('.');
    let is_member = parts.next().is_some_and(|last| MEMBERS.contains(&last));
    is_member && name.contains('.') && parts.all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_told_from_files() {
        for name in [
            "process.env",
            "import.meta.env",
            "event.key",
            ".Env",
            ".Env.HOME",
            "$x.env",
            "/a.env/",
        ] {
            assert!(may_be_member(name), "{name}");
        }
        for name in
            [".env", ".ENV", "conf/prod.env", "server.pem", "env", "a-b.env", "..env", ".env.local"]
        {
            assert!(!may_be_member(name), "{name}");
        }
    }
}
