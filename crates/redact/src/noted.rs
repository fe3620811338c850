//! Passwords in the words and commands in which people and models note them: `the password is …`,
//! `log in with admin / …`, `mysql -p…`. A text that is kept for others is worth a false alarm now
//! and then; an archive is not, so [`crate::redact_text`] looks only for those of letters and digits
//! in commands. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::checks::{self, mixed};

/// A way to note a password. Its last group is the password.
pub(super) struct Noted {
    /// The name that a replacement shows.
    pub(super) rule: &'static str,
    pattern: Regex,
    is_secret: fn(&str) -> bool,
}

/// What stands for a password in several languages.
const PASSWORD: &str = r"(?:passwor[dt]|passwörter|passphrase|passcode|passwd|passord|kennwort|zugangscode|mot de passe|contraseña|senha|wachtwoord|lösenord|adgangskode|salasana|hasł[oa]|hesl[oa]|jelszó|parol[aă]\w*|şifre\w*|парол[ьяюі]|κωδικ\w+|mật khẩu|kata sandi|비밀번호|패스워드|암호|パスワード|密[码碼]|口令|كلمة (?:ال)?(?:مرور|سر)|סיסמ[אה]|पासवर्ड|รหัสผ่าน|(?:\b|_)(?:pwd?|pass)\b)";
/// What stands for a key or a token.
const KEY: &str = r"(?:(?:api|app|access|auth|encryption|private|secret|session|signing)[ _-]?(?:key|token|secret)|\b(?:token|secret|schlüssel|jeton|clave)\b|토큰|トークン|令牌|密[钥鑰])";
/// A value, without the marks around it.
const VALUE: &str = r#"["'`*_(„“‚‘«]{0,4}([^\s"'`|„“”’»]{6,128})"#;

static WAYS: LazyLock<Vec<Noted>> = LazyLock::new(|| {
    let is = r"(?:=>|->|→|:=|[:：=|—–는은가は是为為]|\s-\s|\b(?:(?:is|was|been)\s+)?(?:set|changed|reset|rotated)\s+to\b:?|\b(?:is|was|are|ist|war|lautet|heißt|sind|est|es|é|è|este|jest|je|är|er|là|adalah|είναι|هي|هو|היא|הוא)\b(?:\s+(?:now|still|just|simply|set to|currently|jetzt|nun|noch|weiterhin))?:?)";
    let whose = r"(?:\s+(?:for|of|on|to|in|at|zum?|zur|für|von|vom|auf|bei|im|pour|de|para|do|da|di|del|della|per|dla|pro|van|voor|för|till|på|til|для|от|до|від|к)\s+[^\n.;:=|]{1,60}?)?(?:\s*\([^)\n]{1,40}\))?";
    let named =
        format!(r#"{PASSWORD}(?:s|en|et)?["'`*_]{{0,4}}{whose}\s*{is}[*_]{{0,2}}\s*{VALUE}"#);
    let item = format!(
        r#"{PASSWORD}(?:s|en)?["'`*_]{{0,4}}[:：]?[ \t]*[\r\n]\s*(?:[-*+]|\d{{1,9}}[.)])[ \t]+{VALUE}[ \t]*(?:[\r\n]|$)"#
    );
    let column = format!(
        r"(?:^|[|\n])[ \t]*[*_`]{{0,3}}{PASSWORD}s?[*_`]{{0,3}}[ \t]*(?:\|[^\n]*)?\n[ \t]*\|?[ \t]*:?-[-:| \t\r]*\n((?:[^\n]*\|[^\n]*(?:\n|$))+)"
    );
    let basic = r"\bbasic\s+([A-Za-z0-9+/]{12,}={0,2})";
    let beside = format!(r"(?:passwor[dt]|kennwort|passwd|\bpwd?\b)\s+{VALUE}");
    let key = format!(r"{KEY}{whose}\s*{is}\s*{VALUE}");
    let key_beside = format!(
        r#"{KEY}[^\n]{{0,16}}?[\s"'`(]([A-Za-z0-9+/_-]{{20,128}}={{0,2}})(?:[\s"'`).,;:]|$)"#
    );
    let behind = format!(
        r#"([^\s"'`|„“”’»]{{10,128}})["'`]{{0,2}}\s+(?:is|as)\s+(?:an?|its|my|our|the)\s+(?:[\w-]+\s+){{0,2}}?(?:{PASSWORD}|{KEY})\b"#
    );
    let padded = r#"(?:^|[\s"'`(])([A-Za-z0-9+/]{31,128}={1,2})(?:[\s"'`).,;:]|$)"#;
    let pair = format!(
        r#"\b(?:log(?:ged|ging)?[ -]?(?:in|on)|sign(?:ed)?[ -]?in|credentials?|creds|anmeld\p{{L}}*|einlogg\p{{L}}*|zugang\p{{L}}*|accounts?|users?|user ?names?|benutzer\p{{L}}*)\b[^\n]{{0,60}}?[\s"'`(]([\w.@+-]{{2,64}})["'`]{{0,2}}(?:\s+[/|–]\s+|:){VALUE}"#
    );
    let attached = r#"\b(?:mysql|mariadb)[\w-]*\b[^\n|;]{0,160}?\s-p([^\s"'`|;]{6,128}|"[^"\n]{6,128}"|'[^'\n]{6,128}')"#;
    let given = format!(
        r"\b(?:sshpass|docker\s+login|podman\s+login|az\s+login|cf\s+login|mongo\w*|registry\s+login|htpasswd)\b[^\n|;]{{0,160}}?\s-p\s*{VALUE}"
    );
    let other = format!(
        r"(?:\bredis-cli\b[^\n|;]{{0,160}}?\s-a\s+|\b(?:sqlcmd|bcp|smbclient|net\s+use)\b[^\n|;]{{0,160}}?\s-P\s*|\s-pass(?:in|out)?\s+pass:){VALUE}"
    );
    let option = format!(
        r"\s--?(?:password|passwd|pass|pwd|passphrase|token|api-key|auth-token|access-token|secret)(?:=|\s+){VALUE}"
    );
    let way = |rule, pattern: &str, is_secret| Noted {
        rule,
        pattern: Regex::new(&format!("(?i){pattern}")).expect("constants that tests compile"),
        is_secret,
    };
    vec![
        way("password_in_command", attached, chosen),
        way("password_in_command", &given, chosen),
        way("password_in_command", &other, chosen),
        way("password_in_command", &option, password),
        way("password_in_words", &named, password),
        way("password_in_words", &item, strong),
        way("password_in_words", &column, mixed),
        way("password_in_words", &beside, strong),
        way("password_in_command", basic, mixed),
        way("password_in_words", &pair, strong),
        way("key_in_words", &key, mixed),
        way("key_in_words", &key_beside, mixed),
        way("key_in_words", &behind, mixed),
        way("key_in_words", padded, encoded),
    ]
});

/// The ways in which a text may note a password.
pub(super) fn ways(text: &str) -> &'static [Noted] {
    static KEYWORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        // Without first letters that are not ASCII, of which there are large ones.
        let words = "pass,pwd,pw,kennwort,contrase,senha,wachtwoord,senord,adgangskode,salasana,has\u{142},hesl,jelsz,parol,ifre,арол,АРОЛ,ωδικ,\
            kata sandi,khẩu,비밀번호,패스워드,암호,パスワード,密码,密碼,口令,كلمة,סיסמ,पासवर्ड,รหัสผ่าน,토큰,トークン,令牌,密钥,密鑰,\
            key,token,secret,schl,jeton,clave,log,sign,cred,basic,anmeld,einlog,zugang,account,user,benutzer,mysql,mariadb,mongo,htpasswd,\
            redis-cli,sqlcmd,bcp,smbclient,=";
        AhoCorasick::builder().ascii_case_insensitive(true).build(words.split(',')).ok()
    });
    let may_note = KEYWORDS.as_ref().is_none_or(|words| words.is_match(text));
    if may_note { &WAYS } else { &[] }
}

impl Noted {
    /// The passwords that a text notes in this way, in order.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let captures = self.pattern.captures_iter(text);
        let values = captures.filter_map(|captures| captures.iter().flatten().last());
        // Below a column of a table there are many.
        let cells = values.flat_map(|value| {
            let parts = value.as_str().split_inclusive(['|', '\n']);
            parts.scan(value.start(), |at, part| {
                let start = *at + part.len() - part.trim_start().len();
                *at += part.len();
                let cell = part.trim_end_matches(['|', '\n']).trim();
                Some(start..start + cell.len())
            })
        });
        cells.filter(|cell| (self.is_secret)(&text[cell.clone()])).collect()
    }
}

/// A value without the marks of its sentence, and without what follows it in a script that has no
/// blanks between words.
fn core(value: &str) -> &str {
    let is_unspaced = |char| matches!(char, '\u{1100}'..='\u{11ff}' | '\u{3000}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}');
    let end = value.find(is_unspaced).unwrap_or(value.len());
    value[..end].trim_matches(|mark: char| "\"'`*_()[]„“”‚‘’«».,;:!?".contains(mark))
}

/// Whether a value stands where only a password stands, and is none that a reader is to replace.
pub(super) fn chosen(value: &str) -> bool {
    !is_reference(value) && core(value).chars().count() >= 4 && is_no_placeholder(value)
}

/// With a digit, the very words of a placeholder make a weak password: `mypassword123`.
fn is_no_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let rest = lower.replace("password", "").replace("secret", "");
    checks::no_placeholder(&rest)
        && (rest.len() == lower.len() || rest.contains(|char: char| char.is_ascii_digit()))
}

/// Whether a value is a password that has letters and digits, and some length.
pub(super) fn strong(value: &str) -> bool {
    let has = |test: fn(&char) -> bool| value.chars().any(|char| test(&char));
    value.len() >= 8
        && has(char::is_ascii_digit)
        && has(|char| char.is_alphabetic())
        && password(value)
}

/// Whether a value behind the word `password` is one, and not what is said of it, or where it is.
fn password(value: &str) -> bool {
    let core = core(value);
    if !chosen(value) || is_name(core) {
        return false;
    }
    let count = |test: fn(char) -> bool| core.chars().filter(|char| test(*char)).count();
    let (digits, letters) = (count(|char| char.is_ascii_digit()), count(char::is_alphabetic));
    let signs = count(|char| "!@#$%^&*?~".contains(char));
    match (digits, letters) {
        (_, 0) => digits >= 6 && digits == core.len(),
        (0, _) => {
            core.len() >= 8 && (signs > 0 || !core.split(['-', '_', '.', '\'', '’']).all(is_word))
        }
        _ => true,
    }
}

/// Whether base64 with padding looks like a key, and not a public one.
fn encoded(value: &str) -> bool {
    mixed(value) && !value.starts_with("AAAA")
}

/// Whether a value leads to a secret and is none: a variable, a path, an address, a call.
fn is_reference(value: &str) -> bool {
    static ADDRESS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$").expect("a valid pattern"));
    value.starts_with(['$', '{', '<', '/', '~', '%', '@', '-', '.', '['])
        || ["://", "${", "{{", "$(", "(", "…"].iter().any(|mark| value.contains(mark))
        || (value.contains(['/', '\\']) && !mixed(value))
        || is_port_mapping(core(value))
        || ADDRESS.is_match(core(value))
}

/// Whether a value maps ports, which containers take by `-p` as some commands take a password:
/// `127.0.0.1:27017:27017`.
fn is_port_mapping(core: &str) -> bool {
    core.contains(':') && core.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte))
}

/// Whether letters and digits are the name of something: an algorithm, a version, a number of
/// something, a ticket, a file, a variable, a server.
fn is_name(core: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        let names = [
            r"(?i:sha|md|argon|bcrypt|scrypt|yescrypt|pbkdf|aes|rsa|base|utf|oauth|ed|ecdsa|hmac|scram|tls|x|hs|rs|es)[-_]?\d.*",
            r"\d{1,4}[-–+x]?[A-Za-z-]*",
            r"v?\d+(?:\.\d+)+.*",
            r"[A-Z]{2,10}-\d+",
            r"[\w.-]+\.(?:ya?ml|json|env|toml|txt|md|rs|ts|js|py|go|java|kdbx|gpg|asc|pem|key|conf|ini|cfg|sh|local)",
            r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+",
            r"[a-z]+\d{0,2}(?:[-_.][a-z]+\d{0,2})+",
            r"[a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)+",
        ];
        let all = names.map(|name| format!("(?:{name})")).join("|");
        Regex::new(&format!("^(?:{all})$")).expect("a valid pattern")
    });
    NAME.is_match(core)
}

/// Whether letters are a word or a name in `camelCase`, and not letters as chance makes them.
fn is_word(piece: &str) -> bool {
    let runs = piece.split(|char: char| !char.is_lowercase());
    runs.filter(|run| !run.is_empty()).all(|run| run.chars().count() > 1)
}

#[cfg(test)]
mod tests {
    use crate::{redact_note, redact_text};

    #[test]
    fn passwords_in_the_words_of_notes_are_found() {
        for (text, secret) in [
            ("Staging: the database password is kW3nq8LtYx7!", "kW3nq8LtYx7!"),
            ("Staging: Das Passwort ist hR5tPq2mZx9!", "hR5tPq2mZx9!"),
            ("the password for the staging db is hunter2", "hunter2"),
            ("Das Kennwort für den Server lautet „Sommer2024“", "Sommer2024"),
            ("**Password:** `tR0ub4dor&3`", "tR0ub4dor&3"),
            ("| password | n4Vq8sLw |", "n4Vq8sLw"),
            ("password is now aBxQrTzKwPmQs", "aBxQrTzKwPmQs"),
            ("pw: 84930217", "84930217"),
            ("the password is hunter2secret", "hunter2secret"),
            ("Password: mypassword123", "mypassword123"),
            ("user bob, pass=blue7horse", "blue7horse"),
            ("connect as bob with password blue7horse", "blue7horse"),
            ("Mot de passe : Lune2024x", "Lune2024x"),
            ("La contraseña es Gato8verde", "Gato8verde"),
            ("Staging: log in with admin / pQ7rT2vX9z#", "pQ7rT2vX9z#"),
            ("credentials: admin:pQ7rT2vX9z", "pQ7rT2vX9z"),
            ("Zugangsdaten: admin / pQ7rT2vX9z", "pQ7rT2vX9z"),
            ("the API key is 9f8Ae7b6C5d4e3F2", "9f8Ae7b6C5d4e3F2"),
            ("`mysql -u root -ptomatosoup app`", "tomatosoup"),
            ("mysqldump --all -p'tomatosoup' > x", "'tomatosoup'"),
            ("sshpass -p tomatosoup ssh host", "tomatosoup"),
            ("docker login -u bob -p tomatosoup", "tomatosoup"),
            ("redis-cli -h db -a tomatosoup ping", "tomatosoup"),
            ("run `tool --password=k3W9nq8L`", "k3W9nq8L"),
            ("Admin password — kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Admin password – kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Admin password - kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Admin password：kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("API key — 9f8Ae7b6C5d4e3F2", "9f8Ae7b6C5d4e3F2"),
            ("The admin password was changed to kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Password reset to kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("## Staging password\n\n- kW3nq8LtYx7\n", "kW3nq8LtYx7"),
            (
                "| user | password |\n|---|---|\n| ann | in 1Password |\n| bob | kW3nq8LtYx7Z |",
                "kW3nq8LtYx7Z",
            ),
            ("send `Authorization Basic YWRtaW46a1czbnE4THRZeDc=`", "YWRtaW46a1czbnE4THRZeDc"),
            ("export DB_PASS=kW3nq8LtYx", "kW3nq8LtYx"),
            ("SMTP_PW: kW3nq8LtYx", "kW3nq8LtYx"),
            ("La password del database è kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("A senha do banco é kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Das WLAN-Passwort heißt kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Hasło do bazy: kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("HESLO je kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Veritabanı parolası: kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Lösenordet är kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Пароль от базы — kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("Κωδικός: kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("스테이징 비밀번호는 kW3nq8LtYx7입니다", "kW3nq8LtYx7"),
            ("パスワードはkW3nq8LtYx7です", "kW3nq8LtYx7"),
            ("数据库密码为kW3nq8LtYx7。", "kW3nq8LtYx7"),
            ("كلمة المرور هي kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("הסיסמה היא kW3nq8LtYx7", "kW3nq8LtYx7"),
            ("APP_KEY=base64:pJbcONNgv4L9mR+Qq8dNuVRcw6xc+K/Z2JKO8lp3zJo=", "pJbcONNgv4L9mR"),
            ("use the token `PVSx53faNIv3c7tOeQMfcJ8MZeB0a2VK` in CI", "PVSx53faNIv3c7tO"),
            ("Twilio auth token 64a3de363f1eb948e04b0e42b4b2f3b6", "64a3de363f1eb948"),
            ("kW3nq8LtYx7Z is the admin password", "kW3nq8LtYx7Z"),
            ("Deploy: Cr3xPglpR0aiBD+Fqm5w4Xh/YuqGBJdQ4aSAL2LgHw8=", "Cr3xPglpR0aiBD"),
        ] {
            assert_eq!(redact_text(text).text, None, "only for notes: {text}");
            let left = redact_note(text).text.unwrap_or_else(|| panic!("{text}"));
            assert!(!left.contains(secret) && left.contains("[redacted:"), "{left}");
            assert_eq!(redact_note(&left).text, None, "nothing is found twice: {left}");
        }
    }

    #[test]
    fn tokens_of_telegram_and_fly_are_found_by_their_form() {
        let long = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z".repeat(4);
        for (text, secret) in [
            (format!("Bot: 123456789:AA{}", &long[..33]), &long[..33]),
            (
                format!("https://api.telegram.org/bot123456789:AAF{}/getMe", &long[..32]),
                &long[..32],
            ),
            (format!("Fly: fm2_{long},fm2_{long}"), &*long),
            (format!("(fo1_{})", &long[..43]), &long[..43]),
        ] {
            let left = redact_text(&text).text.unwrap_or_else(|| panic!("{text}"));
            assert!(!left.contains(secret), "{left}");
        }
        assert_eq!(redact_text("at 12345678:AA and 10:30:AAB").text, None);
    }

    #[test]
    fn secrets_of_commands_headers_and_files_are_found() {
        let long = "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z".repeat(4);
        let key = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQDQ7".repeat(30);
        for (text, secret) in [
            ("mysql -uroot -pkW3nq8LtYx7 app".to_owned(), "kW3nq8LtYx7"),
            ("mysqldump --all -p'kW3nq8LtYx7' > x".to_owned(), "kW3nq8LtYx7"),
            ("docker login -u ci -p 'kW3nq8LtYx7' reg.test".to_owned(), "kW3nq8LtYx7"),
            ("sshpass -p kW3nq8LtYx7 ssh root@h".to_owned(), "kW3nq8LtYx7"),
            ("machine api.x.test\n  login me\n  password kWnqLtYx".to_owned(), "kWnqLtYx"),
            (format!("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURS{key}"), &key[..40]),
            (format!("LS0tLS1CRUdJTiBQUklWQVRF{key}=="), &key[..40]),
            (
                format!("< set-cookie: sid={}; Path=/; Domain=example.test", &long[..24]),
                &long[..24],
            ),
            (format!("curl -H 'Cookie: theme=dark; s.sid=s%3A{}' x", &long[..24]), &long[..24]),
            (format!("root:$6$a1b2$./{}:19000:0", &long[..84]), &long[..84]),
            (format!("$2b$12${}", &long[..53]), &long[..53]),
            (format!("x.test/api/webhooks/418697899137723396/{}", &long[..68]), &long[..68]),
            (format!("https://x.test/c?sr=c&sig={}%2B%3D", &long[..32]), &long[..32]),
            (format!("VAULT: hvs.{}", &long[..24]), &long[..24]),
        ] {
            let left = redact_text(&text).text.unwrap_or_else(|| panic!("{text}"));
            assert!(!left.contains(secret), "{left}");
        }
        for text in [
            "docker run --name mysql -p 33060:33060 mysql:8; mysql -h db -P3306 -p app",
            "sshpass -e ssh -p 2222 host; docker login -u me --password-stdin",
            "gcc x.c `mysql_config --libs` -pthread -pedantic",
            "Cookie: theme=dark; consent=yes; _ga=GA1.2.1234567890.1234567890",
            "cookie: `session=${id}`, Set-Cookie: a=b; Expires=Wed, 21 Oct 2025 07:28:00 GMT",
            "machine learning login page password reset, machine x.test login y password $PASS",
            "echo $2 $5$a; x?signal=a&sig=1; LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUVvdGhlcg==",
        ] {
            assert_eq!(redact_text(text).text, None, "{text}");
        }
    }

    #[test]
    fn what_notes_say_about_passwords_stays() {
        for text in [
            "the password is required, and is hashed with argon2id",
            "Passwords are SHA-256 hashed; the password is base64-encoded",
            "The password is in 1Password, vault team-prod2",
            "Password: see ticket OPS-12345, or ask in #ops-2024",
            "the password is `$DB_PASSWORD_2`, set in `.env.local2`",
            "the password is `DB_PASSWORD_2`; password: config.db1.password",
            "password for db1 is in vault/prod2/db1",
            "password length is 12 characters; the password is 16-characters long",
            "Password: <your password>, password is changeme123, or: password is your-secret-1",
            "Passwords: 1Password; the password is reset-password-v2; the secret is MY_SECRET_2",
            "The password is getUserPassword() of auth2.ts",
            "the tests pass node20 and node22",
            "login page: src/login/v2.ts, user service: app:v1.2.3",
            "accounts use postgres:16-alpine, users in db1:5432",
            "`mysql -uroot -p app_db`, `mysql -p$MYSQL_PW app`, mysql -P3306",
            "`docker run -p 8080:80 app2024` and curl -u $USER:$PASS",
            "start the db: `docker run --name mongo -p 127.0.0.1:27017:27017 mongo:7`",
            "use --password instead of --token; pass --token=$TOKEN",
            "the token is required2fa; the secret is in the vault",
            "Passwort steht im Tresor; das Passwort ist abgelaufen",
            "log in with SSO / Okta; sign in at https://x.test:8443/a2b3c4d5",
            "the password of admin@example.com is reset by mail",
            "Password — required, 12 characters; Password - see OPS-12345 of 2026-11-23",
            "Passwords:\n\n- argon2id\n- in 1Password, vault team-prod2\n- vault/prod2/db1",
            "| user | password |\n|---|---|\n| admin2024x | in the vault db1.prod2 |",
            "| check | password |\n|---|---|\n| login2fa | required since 2024-11 |",
            "basic authentication, Basic tests2run",
            "비밀번호는 1Password에 있다; 비밀번호는 최소 12자; 암호화: AES-256",
            "密码：至少12位，包含大小写；密码存放在1Password中",
            "パスワードは1Passwordにある。パスワードは12文字以上",
            "Hasło jest w menedżerze; Heslo je uložené v trezoru; parola este în seif",
            "Пароль: находится в сейфе; كلمة المرور محفوظة في الخزنة",
            "TWO_PASS = true; bypass: enabled-v2; first_pass: 12 of 14",
            "Token limit: 128000; o200k_base counts tokens; the token endpoint is /oauth2/v2.0/token",
            "Image app@sha256:9f8ae7b6c5d4e3f29f8ae7b6c5d4e3f2, commit 4f2a9c1bd0e44f2a9c1bd0e44f2a9c1bd0e44f2a",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7vbqajDRetzNqQ1kc8Lw= deploy@ci",
            "Integrity: sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP==",
            "argon2id13 is the password hash; Auth0-tenant is the token issuer",
        ] {
            assert_eq!(redact_note(text).text, None, "{text}");
        }
    }
}
