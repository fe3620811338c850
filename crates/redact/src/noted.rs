//! Passwords in the words and commands in which people and models note them: `the password is …`,
//! `log in with admin / …`, `mysql -p…`. A text that is kept for others is worth a false alarm now
//! and then; an archive is not, so [`crate::redact_text`] looks only for those of letters and digits
//! in commands. Pure.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::checks::{self, mixed};

/// A way to note a password. Its last group is the password; what matches without one is none, and is
/// passed over.
pub(super) struct Noted {
    /// The name that a replacement shows.
    pub(super) rule: &'static str,
    pattern: Regex,
    is_secret: fn(&str) -> bool,
}

/// What stands for a password in several languages. `do` stands behind words of languages in which it
/// means `of`; what ends in `_pass` may well be a step: `render_pass`.
const PASSWORD: &str = r"(?:(?:senhas?|hasł[oa]|hesl[oa])(?:\s+do\s+[^\n.;:=|]{1,60}?)?|passwor[dt]|passwörter|passphrase|passcode|passwd|passord|kennwort|zugangscode|mot de passe|contraseña|wachtwoord|lösenord|adgangskode|salasana|jelszó|parol[aă]\w*|şifre\w*|парол[ьяюі]|κωδικ\w+|mật khẩu|kata sandi|비밀번호|패스워드|암호|パスワード|密[码碼]|口令|كلمة (?:ال)?(?:مرور|سر)|סיסמ[אה]|पासवर्ड|รหัสผ่าน|(?:\b|_)pwd?\b|\bpass\b|(?-i:_PASS)\b|(?:admin|auth|db|database|ftp|imap|ldap|login|mail|mongo|my|mysql|pg|postgres|proxy|redis|root|smtp|ssh|sudo|user|vpn|wifi)_pass\b)";
/// What stands for a key or a token.
const KEY: &str = r"(?:(?:api|app|access|auth|encryption|private|secret|session|signing)[ _-]?(?:key|token|secret)|\b(?:token|secret|schlüssel|jeton|clave)\b|토큰|トークン|令牌|密[钥鑰])";
/// What a value is called that everybody may see.
const DIGEST: &str = r"(?:hash(?:es)?\b|digest|checksum|finger ?print|fingerabdruck|prüfsumme|\bpin\b|pinned|integrity|\bsha[-_ ]?\d|哈希|散列|摘要|校验|校驗|指纹|指紋|해시|체크섬|지문|ハッシュ|チェックサム)";
/// A value, without the marks around it.
const VALUE: &str = r#"["'`*_(„“‚‘«]{0,4}([^\s"'`|„“”’»]{6,128})"#;

/// Signs that people put into passwords.
const SIGNS: [char; 10] = ['!', '@', '#', '$', '%', '^', '&', '*', '?', '~'];

static WAYS: LazyLock<Vec<Noted>> = LazyLock::new(|| {
    // A sign of a line binds no other line: there may be a list.
    let is = r"(?:\s*(?:=>|->|→|:=|[:：=|—–])[*_]{0,2}[ \t]*|[ \t]-[ \t]+|\s*(?:[은는가は是为為]|\b(?:(?:is|was|been)\s+)?(?:set|changed|reset|rotated)\s+to\b:?|\b(?:is|was|are|ist|war|lautet|heißt|sind|est|es|é|è|este|jest|je|är|er|là|adalah|είναι|هي|هو|היא|הוא)\b(?:\s+(?:now|still|just|simply|set to|currently|jetzt|nun|noch|weiterhin))?:?)[*_]{0,2}\s*)";
    let whose = r"(?:\s+(?:for|of|on|to|in|at|zum?|zur|für|von|vom|auf|bei|im|pour|de|para|da|di|del|della|per|dla|pro|van|voor|för|till|på|til|для|от|до|від|к)\s+[^\n.;:=|]{1,60}?)?(?:\s*\([^)\n]{1,40}\))?";
    let named = format!(
        r#"\b(?:first|second|third|last|final|next|previous|single|multi|each|every|per|render|shadow|depth|lighting|geometry|post|compute|blur|compiler|optimi[sz]er|analysis|lowering)[ -]pass\b|{PASSWORD}(?:s|en|et)?["'`*_]{{0,4}}{whose}{is}{VALUE}"#
    );
    let item = format!(
        r#"{PASSWORD}(?:s|en)?["'`*_]{{0,4}}[:：]?[ \t]*[\r\n]\s*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)?{VALUE}["'`*_.]{{0,4}}[ \t]*(?:[\r\n]|$)"#
    );
    let column = format!(
        r"(?:^|[|\n])[ \t]*[*_`]{{0,3}}{PASSWORD}s?[*_`]{{0,3}}[ \t]*(?:\|[^\n]*)?\n[ \t]*\|?[ \t]*:?-[-:| \t\r]*\n((?:[^\n]*\|[^\n]*(?:\n|$))+)"
    );
    let basic = r"\bbasic\s+([A-Za-z0-9+/]{12,}={0,2})";
    let beside = format!(r"(?:passwor[dt]|kennwort|passwd|\bpwd?\b)[ \t]+{VALUE}");
    let public_key =
        r#"öffentlich\p{L}*\s+schlüssel|signing[ _-]?key[^\n]{0,16}?[\s"'`(](?-i:[0-9A-F]{40})\b"#;
    let key = format!(r"{public_key}|{KEY}(?:\s+do\s+[^\n.;:=|]{{1,60}}?)?{whose}{is}{VALUE}");
    let key_beside = format!(
        r#"{public_key}|{KEY}[^\n]{{0,16}}?{DIGEST}|{KEY}(?:[\s:("'`*]{{1,4}}|[^\n]{{0,16}}?["'`])([A-Za-z0-9+/_-]{{20,128}}={{0,2}})(?:["'`),;]|[.:]?(?:\s|$))"#
    );
    let behind = format!(
        r#"([^\s"'`|„“”’»]{{10,128}})["'`]{{0,2}}\s+(?:is|as)\s+(?:an?|its|my|our|the)\s+(?:[\w-]+\s+){{0,2}}?(?:{PASSWORD}|{KEY})\b"#
    );
    let base64 = "[A-Za-z0-9+/]{31,128}={1,2}";
    let public = format!("(?:{DIGEST}|\\betag\\b|public|öffentlich|公[钥鑰开開]|공개)");
    let padded = format!(
        r#"{public}[^\n]{{0,60}}?[\s"'`(:=]{base64}(?:[^\n\w]{{1,6}}{base64})*|(?:^|[\s"'`(]){base64}["'`]{{0,2}}\s*(?:\(|=|\bis\b|\bist\b)[^\n]{{0,30}}?{public}|(?:^|[\s"'`(])({base64})(?:[\s"'`).,;:]|$)"#
    );
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
        way("key_in_words", &key, said_key),
        way("key_in_words", &key_beside, key_near),
        way("key_in_words", &behind, key_near),
        way("key_in_words", &padded, said_key),
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
        let values = captures.filter_map(|captures| captures.iter().skip(1).flatten().last());
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

/// A value without the marks of its sentence, and without what stands around it in a script that has
/// no blanks between words.
fn core(value: &str) -> &str {
    let rest = value.trim_start_matches(is_unspaced);
    let end = rest.find(is_unspaced).unwrap_or(rest.len());
    rest[..end].trim_matches(|mark: char| "\"'`*_()[]„“”‚‘’«».,;:!?".contains(mark))
}

fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{1100}'..='\u{11ff}' | '\u{3000}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}')
}

/// Whether a value is a sentence about a name, in such a script: `存放在vault2中`. A password may
/// begin with letters of one: `비밀abc123!`.
fn is_sentence(value: &str, core: &str) -> bool {
    let has_letters = |part: &str| part.contains(|char| is_unspaced(char) && char.is_alphabetic());
    let Some((before, behind)) = value.split_once(core) else { return false };
    let word = core.trim_end_matches(|char: char| char.is_ascii_digit());
    has_letters(before)
        && (has_letters(behind) && !value.contains(SIGNS)
            || core.len() < word.len() + 3 && word.chars().all(char::is_alphabetic))
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
    if !chosen(value) || is_name(core) || is_sentence(value, core) {
        return false;
    }
    let count = |test: fn(char) -> bool| core.chars().filter(|char| test(*char)).count();
    let (digits, letters) = (count(|char| char.is_ascii_digit()), count(char::is_alphabetic));
    let signs = count(|char| SIGNS.contains(&char));
    match (digits, letters) {
        (_, 0) => digits >= 6 && digits == core.len(),
        (0, _) => {
            core.len() >= 8 && (signs > 0 || !core.split(['-', '_', '.', '\'', '’']).all(is_word))
        }
        _ => true,
    }
}

/// Whether a value that is said to be a key looks like one, and is neither public nor a name.
fn said_key(value: &str) -> bool {
    mixed(value) && !is_public(core(value)) && !is_code_name(core(value))
}

/// Whether a value that only stands near the word looks like a key, and not like a digest.
fn key_near(value: &str) -> bool {
    let is_digest = |hex: &str| matches!(hex.len(), 12..=16 | 40 | 64) && is_hex(hex);
    said_key(value) && !is_digest(core(value)) && !value.starts_with("0x")
}

/// Whether a value has the form of a public key, its fingerprint, or a digest.
fn is_public(core: &str) -> bool {
    static PUBLIC: LazyLock<Regex> = LazyLock::new(|| {
        let forms = r"^(?:AAAA[BCEGI][0-9nN].*|(?i:sha)-?\d+[:/-].*)$";
        Regex::new(forms).expect("a valid pattern")
    });
    PUBLIC.is_match(core)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a value is a name of code or of a thing in a cluster, or a path of such:
/// `src/auth/v2/TokenStore2`, `registry-credentials-7f9c4d2b8x`.
fn is_code_name(core: &str) -> bool {
    let is_lower = |piece: &str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        piece.len() <= 12 && piece.bytes().all(is_plain)
    };
    let is_camel = |piece: &str| {
        let count =
            |test: fn(&u8) -> bool| piece.as_bytes().iter().filter(|byte| test(byte)).count();
        is_word(piece)
            && count(u8::is_ascii_digit) <= 3
            && count(u8::is_ascii_lowercase) * 2 > piece.len()
    };
    let mut pieces = core.split(['/', '-', '_', '.', ':', '#']);
    let first = pieces.next().unwrap_or_default();
    let is_first = is_camel(first)
        || core.len() > first.len()
            && first.len() > 1
            && first.bytes().all(|byte| byte.is_ascii_lowercase());
    is_first && pieces.all(|piece| is_lower(piece) || is_camel(piece))
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
            r"(?:\d{1,2}x?|\d{3,4})[-–+]?(?:[A-Za-z]{2}[A-Za-z-]*)?",
            r"v?\d+(?:\.\d+)+.*",
            r"[A-Z]{2,10}-\d+|(?:E|ERR|HTTP)_?\d{3,5}",
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
mod tests;
