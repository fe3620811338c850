//! The default of the setting `exclude`. Matching is in `source`.

/// Files that hold secrets: `.env*` and `*.env` except templates, keys, and files in which programs keep passwords.
pub const DEFAULT_EXCLUDE: [&str; 36] = [
    ".env*",
    "*.env",
    "!*example.env",
    "!*sample.env",
    "!*template.env",
    "!*dist.env",
    "!.env*.example",
    "!.env*.sample",
    "!.env*.template",
    "!.env*.dist",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "!id_*.pub",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
    "/etc/shadow*",
    "/etc/gshadow*",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::source::Exclude;

    #[test]
    fn key_files_are_excluded_by_default_and_no_others() {
        let exclude = Exclude::new(&DEFAULT_EXCLUDE.map(str::to_owned)).unwrap();
        for path in [
            "/p/.env",
            "/p/.env.local",
            "/p/.envrc",
            "/p/a/.ENV",
            "/p/server.pem",
            "/p/x.key",
            "/p/id_rsa",
            "/h/.ssh/id_ed25519_work",
            "/h/.netrc",
            "/h/.npmrc",
            "/h/.aws/credentials",
            "/p/store.kdbx",
            "/h/.git-credentials",
            "/p/release.keystore",
            "/h/.docker/config.json",
            "/h/.kube/config",
            "/p/prod.env",
            "/p/.env~",
            "/p/#.env#",
            "/p/k.pem.bak",
            "/h/.ssh/#id_rsa#",
            "/h/.aws/credentials.old",
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/gshadow",
        ] {
            assert!(exclude.excludes(Path::new(path)), "{path}");
        }
        for path in [
            "/p/.env.example",
            "/p/.env.local.sample",
            "/h/.ssh/id_ed25519.pub",
            "/p/environment",
            "/p/example.env",
            "/p/prod.sample.env",
            "/p/#.env.example#",
            "/p/main.rs.bak",
            "/p/src/env.rs",
            "/p/keys.md",
            "/p/credentials",
            "/p/config.json",
            "/p/.kube/cache",
            "/p/key",
            "/p/monkey.rs",
            "/p/etc/shadow",
            "/p/shadow.rs",
        ] {
            assert!(!exclude.excludes(Path::new(path)), "{path}");
        }
    }
}
