//! What goes from notes, and what stays.

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
        ("O token do bot é 9f8Ae7b6C5d4e3F2", "9f8Ae7b6C5d4e3F2"),
        ("the token is 4f2a9c1bd0e44f2a9c1bd0e44f2a9c1bd0e44f2a", "4f2a9c1bd0e44f2a"),
        ("use the token `3fa85f64-5717-4562-b3fc-2c963f66afa6`", "3fa85f64-5717"),
        (
            "Public: xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=, deploy: Cr3xPglpR0aiBD+Fqm5w4Xh/YuqGBJdQ4aSAL2LgHw8=",
            "Cr3xPglpR0aiBD",
        ),
        ("Password: 비밀abc123!", "비밀abc123!"),
        ("비밀번호는 비밀abc123!입니다", "abc123!"),
        ("Password: 中文密码2024x", "中文密码2024x"),
        ("パスワードは「kW3nq8LtYx7」です", "kW3nq8LtYx7"),
        ("Hasło do bazy jest kW3nq8LtYx7", "kW3nq8LtYx7"),
        ("db_pass: kW3nq8LtYx", "kW3nq8LtYx"),
        ("the wifi pass is kW3nq8LtYx", "kW3nq8LtYx"),
        (
            "## Passwords\n\n- Keycloak26 stores them\n- the admin password is kW3nq8LtYx7",
            "kW3nq8LtYx7",
        ),
        ("The admin password:\n\n    kW3nq8LtYx7\n", "kW3nq8LtYx7"),
        ("The password of the staging db\nis kW3nq8LtYx7, and", "kW3nq8LtYx7"),
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
        (format!("https://api.telegram.org/bot123456789:AAF{}/getMe", &long[..32]), &long[..32]),
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
        (format!("< set-cookie: sid={}; Path=/; Domain=example.test", &long[..24]), &long[..24]),
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
        "Fixed the token bug in 4f2a9c1bd0e47f2a9c1bd0e44f2a9c1bd0e44f2a",
        "4f2a9c1bd0e4 is the token fix",
        "토큰 수정 커밋 4f2a9c1bd0e47f2a9c1bd0e44f2a9c1bd0e44f2a",
        "修复 token 刷新：见 4f2a9c1bd0e47f2a9c1bd0e44f2a9c1bd0e44f2a",
        "USDC token 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "Token contract: 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "Signing key: 4AEE18F83AFDEB23C0A1F5D2B7E8936604CD21AF",
        "Der öffentliche Schlüssel ist xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
        "GPG signing key 4AEE18F83AFDEB23C0A1F5D2B7E8936604CD21AF",
        "GPG signing key is 4AEE18F83AFDEB23C0A1F5D2B7E8936604CD21AF.",
        "Signing key is SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
        "Token: see src/auth/v2/TokenStore2Factory.ts",
        "The token path is src/auth/v2/TokenStore2Factory; the token class OAuth2TokenRefreshService",
        "pulls by the secret `registry-credentials-7f9c4d2b8x`",
        "Token bug, trace 64a3de363f1eb948e04b0e42b4b2f3b6",
        "Pin: `sha256/r8udi/Vk3Qm2tY7nLw0bXc9JfGh4sPzEa1oUiR5Td8w=`",
        "Uses `sha256/r8udi/Vk3Qm2tY7nLw0bXc9JfGh4sPzEa1oUiR5Td8w=`",
        "WireGuard PublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
        "the empty SHA-256 is `47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`",
        "`47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=` is the empty SHA-256",
        "Content hash (base64): r8udi/Vk3Qm2tY7nLw0bXc9JfGh4sPzEa1oUiR5Td8w=",
        "Token hash (base64): r8udi/Vk3Qm2tY7nLw0bXc9JfGh4sPzEa1oUiR5Td8w=",
        "If the passwords do not match: HTTP422 is returned",
        "When passwords do not match, the form says: E1042x",
        "render_pass: rgba16f, shadow_pass = depth32f",
        "z_pass: depth24",
        "first_pass: lexer2; second pass: codegen2",
        "## Passwords\n\n- Keycloak26 stores them\n- login2fa must be on\n- validatePassword2 checks them",
        "Passwords:\n\nKeycloak26 stores them",
        "## Reset password\n\nKeycloak26 sends the mail",
        "密码：存放在vault2中；密码：使用AES256加密",
        "密码为空时返回HTTP422",
    ] {
        assert_eq!(redact_note(text).text, None, "{text}");
    }
}

#[test]
fn ordinary_notes_of_coders_stay() {
    for text in [
        "Rotated the signing key in commit 9c1bd0e44f2a9c1bd0e47f2a9c1bd0e44f2a4f2a; see docs/keys/rotation-2026.md",
        "Tokens are opaque: 32 random bytes, base64url, stored as SHA-256 in sessions.token_hash",
        "The refresh token lives 30d, the access token 15m; RFC6749 section 6, RFC 7636 for PKCE",
        "Password rules: NIST SP800-63B, at least 12 characters, checked by zxcvbn4; no rotation",
        "Base image node:22.19-alpine@sha256:9f8ae7b6c5d4e3f29f8ae7b6c5d4e3f29f8ae7b6c5d4e3f29f8ae7b6c5d4e3f2",
        "Token bucket: burst 100, refill 10/s, key `rate:user2024:{id}`; see https://x.test/docs/v2/tokens#limits-2",
        "CSRF token test flaky on Node22, fixed in #4821 (src/middleware/csrf2.test.ts:120)",
        "The secret scan ignores tests/fixtures/keys/rsa2048_testOnly3.pem and packages/auth2/README.md",
        "yarn.lock: lodash integrity sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
        "Der Token-Fehler ist in Commit 4f2a9c1bd0e47f2a9c1bd0e44f2a9c1bd0e44f2a behoben, Version 3.12.0-rc2",
        "Passwort-Regeln: mindestens 12 Zeichen, BSI-Grundschutz ORP4.A8; Passwörter liegen in Keycloak26",
        "Der Schlüssel für den Cache ist `user:v3:profile2`, die Prüfsumme r8udi/Vk3Qm2tY7nLw0bXc9JfGh4sPzEa1oUiR5Td8w=",
        "Das Passwort wird mit argon2id (m=65536, t=3) gehasht, siehe services/auth/Password2Hasher.java",
        "令牌刷新的问题在提交 4f2a9c1bd0e47f2a9c1bd0e44f2a9c1bd0e44f2a 中修复，版本 v2.14.0",
        "密码哈希使用 argon2id；密码错误五次后返回 HTTP423；密码重置链接有效期为30分钟",
        "密钥轮换：每90天一次，见 docs/security/key-rotation-v2.md；公钥 xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
        "## 密码\n\n由auth2模块校验并存储在Vault3中。\n- 最少12位\n- 每180天更换",
        "토큰 만료 시간은 15분, 갱신은 src/auth/token2/RefreshService3.kt 참고, 커밋 9c1bd0e44f2a",
        "비밀번호 해시는 bcrypt(cost=12)이고, 비밀번호는 최소12자이며 특수문자를 포함해야 한다",
        "배포 이미지 다이제스트 sha256:9f8ae7b6c5d4e3f29f8ae7b6c5d4e3f29f8ae7b6c5d4e3f29f8ae7b6c5d4e3f2, API 키는 Vault2에서",
        "Access token: JWT, RS256, kid 2024-11-key2; refresh token: opaque; JWKS at /.well-known/jwks2.json",
        "The API key header is X-Api-Key-V2; the secret name is projects/acme-prod-2/secrets/stripe-webhook-v3",
        "The password field uses autocomplete=new-password2; the password input is <PasswordInput2 strength={3}>",
        "Tx 0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b deploys the token",
    ] {
        assert_eq!(redact_note(text).text, None, "{text}");
    }
}
