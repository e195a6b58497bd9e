"""Keys of every kind that coding models print, made by a seeded generator, and the places where they stand.

None was ever issued. Prefixes are put together from pieces, so that scanners of repositories find nothing here.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_LOWER, _UPPER, _DIGIT = string.ascii_lowercase, string.ascii_uppercase, string.digits
_ALNUM = string.ascii_letters + _DIGIT
_HEX = "0123456789abcdef"
_B64 = _ALNUM + "+/"
_URL64 = _ALNUM + "-_"
_B32 = _UPPER + "234567"


@dataclass(frozen=True, slots=True)
class Key:
    """One made-up key."""

    kind: str
    text: str
    """As it is printed: the key, or the line that it is known by."""
    secret: str
    """The random part alone."""

    def cut(self) -> str | None:
        """As a reply that was cut leaves it: twelve characters of the random part at least, twenty in all."""
        at = self.text.index(self.secret)
        end = max(20, at + min(12, len(self.secret)))
        return self.text[:end] if end < len(self.text) else None


def _pick(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _uuid(rng: random.Random) -> str:
    return "-".join(_pick(rng, _HEX, length) for length in (8, 4, 4, 4, 12))


def _password(rng: random.Random) -> str:
    """What a password manager gives: every class at least twice, in any order."""
    made = [*_pick(rng, _LOWER, 6), *_pick(rng, _UPPER, 4), *_pick(rng, _DIGIT, 4), *_pick(rng, "!#%^*_+~", 2)]
    rng.shuffle(made)
    return "x" + "".join(made)  # no sign in front, which some of the places below would take for their own


# kind, what stands before, alphabet, length, what stands behind
_PREFIXED: tuple[tuple[str, str, str, int, str], ...] = (
    ("aws access key", "AK" + "IA", _UPPER + "234567", 16, ""),
    ("aws session key", "AS" + "IA", _UPPER + "234567", 16, ""),
    ("aws bedrock", "AB" + "SK", _B64, 100, "="),
    ("github classic", "gh" + "p_", _ALNUM, 36, ""),
    ("github oauth", "gh" + "o_", _ALNUM, 36, ""),
    ("github user", "gh" + "u_", _ALNUM, 36, ""),
    ("github server", "gh" + "s_", _ALNUM, 36, ""),
    ("github refresh", "gh" + "r_", _ALNUM, 36, ""),
    ("github fine-grained", "github" + "_pat_", _ALNUM, 82, ""),
    ("gitlab personal", "gl" + "pat-", _URL64, 20, ""),
    ("gitlab deploy", "gl" + "dt-", _URL64, 20, ""),
    ("gitlab runner", "gl" + "rt-", _URL64, 20, ""),
    ("gitlab trigger", "gl" + "ptt-", _HEX, 40, ""),
    ("slack bot", "xo" + "xb-2750", _DIGIT, 9, "-" + "1184"),
    ("slack user", "xo" + "xp-", _ALNUM, 48, ""),
    ("slack app", "xa" + "pp-1-A", _UPPER + _DIGIT, 40, ""),
    ("slack webhook", "https://hooks.sl" + "ack.com/services/T", _ALNUM, 24, ""),
    ("stripe live", "sk" + "_live_", _ALNUM, 24, ""),
    ("stripe test", "sk" + "_test_", _ALNUM, 24, ""),
    ("stripe restricted", "rk" + "_live_", _ALNUM, 24, ""),
    ("stripe webhook", "wh" + "sec_", _ALNUM, 32, ""),
    ("twilio account key", "S" + "K", _HEX, 32, ""),
    ("sendgrid", "S" + "G.", _URL64, 22, "."),
    ("mailgun", "ke" + "y-", _HEX, 32, ""),
    ("mailchimp", "", _HEX, 32, "-us12"),
    ("sendinblue", "xkey" + "sib-", _HEX, 64, ""),
    ("npm", "np" + "m_", _ALNUM, 36, ""),
    ("pypi", "pypi-" + "AgEIcHlwaS5vcmc", _URL64, 80, ""),
    ("docker hub", "dckr" + "_pat_", _URL64, 27, ""),
    ("rubygems", "ruby" + "gems_", _HEX, 48, ""),
    ("heroku", "HRK" + "U-AA", _URL64, 58, ""),
    ("digitalocean", "do" + "p_v1_", _HEX, 64, ""),
    ("cloudflare origin", "v1." + "0-", _HEX, 24, ""),
    ("new relic", "NR" + "AK-", _UPPER + _DIGIT, 27, ""),
    ("sentry token", "sn" + "trys_", _B64, 60, ""),
    ("google api", "AI" + "za", _URL64, 35, ""),
    ("google oauth", "ya" + "29.", _URL64, 68, ""),
    ("google client secret", "GOC" + "SPX-", _URL64, 28, ""),
    ("shopify", "shp" + "at_", _HEX, 32, ""),
    ("shopify shared", "shp" + "ss_", _HEX, 32, ""),
    ("square", "sq0" + "atp-", _URL64, 22, ""),
    ("square access", "EA" + "AA", _URL64, 60, ""),
    ("paypal braintree", "access_token$" + "production$", _LOWER + _DIGIT, 16, ""),
    ("okta", "0" + "0", _URL64, 40, ""),
    ("atlassian", "ATA" + "TT3x", _URL64, 180, ""),
    ("linear", "lin" + "_api_", _ALNUM, 40, ""),
    ("notion", "nt" + "n_", _ALNUM, 46, ""),
    ("figma", "fi" + "gd_", _URL64, 40, ""),
    ("postman", "PM" + "AK-", _HEX, 24, ""),
    ("openai", "s" + "k-", _ALNUM, 48, ""),
    ("openai project", "sk-" + "proj-", _URL64, 74, ""),
    ("anthropic", "sk-" + "ant-api03-", _URL64, 93, ""),
    ("hugging face", "h" + "f_", string.ascii_letters, 34, ""),
    ("groq", "gs" + "k_", _ALNUM, 52, ""),
    ("replicate", "r" + "8_", _ALNUM, 37, ""),
    ("perplexity", "pp" + "lx-", _ALNUM, 48, ""),
    ("xai", "xa" + "i-", _ALNUM, 80, ""),
    ("nvidia", "nv" + "api-", _URL64, 64, ""),
    ("langsmith", "lsv2" + "_pt_", _HEX, 32, ""),
    ("posthog", "ph" + "c_", _ALNUM, 43, ""),
    ("vault service", "hv" + "s.", _ALNUM, 90, ""),
    ("vault old", "s" + ".", _ALNUM, 24, ""),
    ("terraform cloud", "", _ALNUM, 14, ".atlas" + "v1."),
    ("doppler", "dp" + ".pt.", _ALNUM, 43, ""),
    ("databricks", "da" + "pi", _HEX, 32, ""),
    ("planetscale", "pscale" + "_pw_", _URL64, 43, ""),
    ("supabase", "sb" + "p_", _HEX, 40, ""),
    ("grafana", "gl" + "sa_", _ALNUM, 32, ""),
    ("airtable", "pa" + "t", _ALNUM, 14, "."),
    ("telegram", "7421906" + "358:AA", _URL64, 33, ""),
    ("discord", "MT" + "k", _ALNUM, 23, ".G" + "x"),
    ("facebook", "EA" + "AC", _ALNUM, 120, ""),
    ("age", "AGE-SECRET" + "-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58, ""),
    ("json web token", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "J", _URL64, 60, ""),
    ("bitcoin wif", "", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 51, ""),
    ("bcrypt hash", "admin:$2" + "y$10$", _ALNUM + "./", 53, ""),
    ("sha512 crypt", "root:$" + "6$rounds=5000$", _ALNUM + "./", 86, ""),
    ("apache hash", "bob:$ap" + "r1$x7Kq2m9T$", _ALNUM + "./", 22, ""),
    ("argon2 hash", "$argon" + "2id$v=19$m=65536,t=3,p=4$", _B64, 43, ""),
    ("base 62", "", _ALNUM, 32, ""),
    ("base 64", "", _B64, 43, "="),
    ("base 32", "", _B32, 32, ""),
    ("hexadecimal", "", _HEX, 40, ""),
    ("hexadecimal capitals", "", _HEX.upper(), 64, ""),
    ("small letters and digits", "", _LOWER + _DIGIT, 32, ""),
    ("small letters", "", _LOWER, 28, ""),
    ("capitals and digits", "", _UPPER + _DIGIT, 28, ""),
)

# kind, the line around it, what makes the secret
_Maker = Callable[[random.Random], str]


def _of(alphabet: str, length: int) -> _Maker:
    return lambda rng: _pick(rng, alphabet, length)


_NAMED: tuple[tuple[str, str, _Maker], ...] = (
    ("aws secret", "aws_secret_access_key = {}", _of(_B64, 40)),
    ("aws secret on a line", "aws configure set aws_secret_access_key {}", _of(_B64, 40)),
    (
        "azure storage",
        "DefaultEndpointsProtocol=https;AccountName=shop;Account" + "Key={}==;EndpointSuffix=core.windows.net",
        _of(_B64, 86),
    ),
    (
        "azure service bus",
        "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=all;SharedAccess" + "Key={}=",
        _of(_B64, 43),
    ),
    ("azure client secret", "AZURE_CLIENT_SECRET={}", _of(_URL64 + "~", 40)),
    ("azure sas", "https://shop.blob.core.windows.net/files?sv=2022-11-02&sp=r&sig={}%3D", _of(_ALNUM, 43)),
    ("gcp private key id", '"private_key_id": "{}",', _of(_HEX, 40)),
    ("twilio token", 'client = Client(account, auth_token="{}")', _of(_HEX, 32)),
    ("heroku", "HEROKU_API_KEY={}", _uuid),
    ("cloudflare", "CLOUDFLARE_API_TOKEN={}", _of(_URL64, 40)),
    ("cloudflare global", 'CF_API_KEY: "{}"', _of(_HEX, 37)),
    ("datadog", "DD_API_KEY={}", _of(_HEX, 32)),
    ("datadog app", "dd_app_key: {}", _of(_HEX, 40)),
    ("new relic licence", "license_key = '{}NRAL'", _of(_HEX, 36)),
    ("sentry dsn", "https://{}@o448213.ingest.sentry.io/5243", _of(_HEX, 32)),
    ("okta", 'okta.client.token="{}"', _of(_URL64, 42)),
    ("auth0", "AUTH0_CLIENT_SECRET='{}'", _of(_URL64, 64)),
    ("firebase", "FCM_SERVER_KEY=AA" + "AAx7Kq2m9:APA" + "91b{}", _of(_URL64, 134)),
    ("algolia", "const client = algoliasearch('shop', '{}')", _of(_HEX, 32)),
    ("paypal", "PAYPAL_CLIENT_SECRET={}", _of(_URL64, 80)),
    ("snowflake", "snowflake.connector.connect(user='etl', password='{}')", _password),
    ("postgres", "postgresql://app:{}@db.internal:5432/shop", _password),
    ("mysql", "mysql://root:{}@127.0.0.1/shop", _password),
    ("mongodb", "mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/?w=majority", _of(_ALNUM, 16)),
    ("redis", "redis://:{}@cache:6379/0", _of(_ALNUM, 20)),
    ("amqp", "amqps://guest:{}@mq.internal/vhost", _password),
    ("git remote", "https://oauth2:{}@gitlab.com/shop/shop.git", _of(_URL64, 20)),
    ("basic auth", "https://admin:{}@ci.internal/job", _password),
    ("sql server", "Server=db;Database=shop;User Id=sa;Password={};Encrypt=true", _password),
    ("odbc", "Driver={{ODBC Driver 18}};Server=db;Uid=sa;Pwd={};", _password),
    ("jdbc", "jdbc:postgresql://db/shop?user=app&password={}", _of(_ALNUM, 18)),
    ("dotenv", "DATABASE_PASSWORD={}", _password),
    ("dotenv lower", "APP_SECRET={}", _of(_LOWER + _DIGIT, 20)),
    ("dotenv quoted", 'SECRET_KEY="{}"', _of(_ALNUM + "!@#%^&*()", 50)),
    ("django", "SECRET_KEY = 'django-insecure-{}'", _of(_LOWER + _DIGIT + "!@#%^&*", 50)),
    ("yaml", "password: {}", _password),
    ("yaml nested", "db:\n  credentials:\n    secret: {}", _of(_ALNUM, 18)),
    ("json", '{{"user": "app", "password": "{}"}}', _password),
    ("toml", 'api_key = "{}"', _of(_ALNUM, 24)),
    ("ini", "[mail]\nsmtp_pass = {}", _password),
    ("properties", "spring.datasource.password={}", _password),
    ("shell", "export GITHUB_TOKEN='{}'", _of(_HEX, 40)),
    ("java", 'dataSource.setPassword("{}");', _password),
    ("java constant", 'private static final String API_KEY = "{}";', _of(_ALNUM, 24)),
    ("go", 'cfg := Config{{Password: "{}"}}', _password),
    ("javascript", "const apiKey = '{}';", _of(_ALNUM, 24)),
    ("csharp", 'var clientSecret = @"{}";', _password),
    ("php define", "define('DB_PASSWORD', '{}');", _password),
    ("wordpress salt", "define('AUTH_KEY', '{}');", _of(_ALNUM + "!#%^*_+~", 64)),
    ("php array", "'password' => '{}',", _password),
    ("xml", "<password>{}</password>", _password),
    ("app settings", '<add key="ApiKey" value="{}"/>', _of(_ALNUM, 24)),
    ("kubernetes", "- name: DB_PASSWORD\n  value: {}", _password),
    ("dockerfile", "ENV SESSION_SECRET {}", _of(_ALNUM, 24)),
    ("terraform", 'variable "db_password" {{\n  default = "{}"\n}}', _of(_ALNUM, 20)),
    ("netrc", "machine api.shop.io login app password {}", _password),
    ("netrc lines", "machine api.shop.io\n  login app\n  password {}", _password),
    ("pgpass", "db.internal:5432:shop:app:{}", _of(_ALNUM, 14)),
    ("kubeconfig", "    client-key-data: LS0tLS1CRUdJ{}", _of(_B64, 100)),
    ("kubeconfig token", "    token: {}", _of(_LOWER + _DIGIT, 16)),
    (
        "docker config",
        '"auths": {{"registry.io": {{"auth": "{}"}}}}',
        lambda rng: base64.b64encode(b"app:" + _password(rng).encode()).decode(),
    ),
    ("npmrc", "//registry.npmjs.org/:_authToken={}", _uuid),
    ("npmrc auth", "_auth={}", _of(_B64, 32)),
    ("pypirc", "[pypi]\nusername = app\npassword = {}", _password),
    ("mysql on a line", "mysql -u root -p{} shop", _password),
    ("mysqldump", "mysqldump --user=root --password={} shop > shop.sql", _password),
    ("curl", "curl -u app:{} https://api.shop.io/v1", _password),
    ("curl header", 'curl -H "Authorization: Bearer {}" https://api.shop.io', _of(_ALNUM, 32)),
    ("curl api key", 'curl -H "X-Api-Key: {}" https://api.shop.io', _of(_ALNUM, 20)),
    (
        "basic header",
        "Authorization: Basic {}",
        lambda rng: base64.b64encode(b"app:" + _password(rng).encode()).decode(),
    ),
    ("sshpass", "sshpass -p {} ssh root@10.0.0.5", _password),
    ("redis-cli", "redis-cli -h cache -a {} ping", _password),
    ("docker login", "docker login -u app -p {} registry.io", _password),
    ("pgpassword", "PGPASSWORD={} psql -h db shop", _password),
    ("flag", "shop deploy --token {} --yes", _of(_ALNUM, 20)),
    ("flag with sign", "shop deploy --api-key={}", _of(_LOWER + _DIGIT, 20)),
    ("openssl", "openssl rsa -in key.pem -passin pass:{}", _password),
    ("sudo", "echo '{}' | sudo -S apt update", _password),
    ("chpasswd", "echo 'root:{}' | chpasswd", _password),
    ("sql user", "CREATE USER app IDENTIFIED BY '{}';", _password),
    ("postgres role", "ALTER ROLE app WITH PASSWORD '{}';", _password),
    ("redis conf", "requirepass {}", _password),
    ("wifi", 'psk="{}"', _password),
    ("ansible", "ansible_become_pass: {}", _password),
    ("query string", "https://api.shop.io/v1/orders?api_key={}&page=2", _of(_HEX, 24)),
    ("presigned", "https://s3.amazonaws.com/b/k?X-Amz-Expires=60&X-Amz-Signature={}", _of(_HEX, 64)),
    ("one-time password", "otpauth://totp/shop:app?secret={}&issuer=shop", _of(_B32, 32)),
    ("cookie", "Cookie: session={}; theme=dark", _of(_ALNUM, 32)),
    ("prose password", "The password is {} and must be changed", _password),
    ("prose key", "Your API key: **{}**", _of(_ALNUM, 20)),
    ("uuid secret", "client_secret: {}", _uuid),
    ("htpasswd", "htpasswd -cb .htpasswd app {}", _password),
    ("jwk", '{{"kty":"EC","crv":"P-256","d":"{}"}}', _of(_URL64, 43)),
    ("ssh2 putty", "PuTTY-User-" + "Key-File-3: ssh-rsa\nPrivate-Lines: 14\n{}", _of(_B64, 64)),
)

_PEM = ("RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "", "PGP ", "ED25519 ")


def keys(seed: int = 1, rounds: int = 2) -> list[Key]:
    """The corpus: `rounds` keys of each kind, all different."""
    rng = random.Random(seed)
    made: list[Key] = []
    for _ in range(rounds):
        for kind, before, alphabet, length, behind in _PREFIXED:
            secret = _pick(rng, alphabet, length)
            rest = behind + _pick(rng, _ALNUM, 40) if behind.endswith((".", "-1184", ".Gx")) else behind
            made.append(Key(kind, before + secret + rest, secret))
        for kind, line, maker in _NAMED:
            secret = maker(rng)
            made.append(Key(kind, line.format(secret), secret))
        for name in _PEM:
            lines = [_pick(rng, _B64, 64) for _ in range(4)]
            block = " BLOCK" if name == "PGP " else ""
            head = f"-----BEGIN {name}PRIVATE " + f"KEY{block}-----\n"
            made.append(Key(f"{name}private key", head + "\n".join(lines) + "\n", lines[0]))
    return made


def _broken(key: Key) -> str:
    """Over two lines, as a shell command or a C string is."""
    middle = key.text.index(key.secret) + len(key.secret) // 2
    return f"export VALUE={key.text[:middle]}\\\n{key.text[middle:]}\n"


PLACES: dict[str, Callable[[Key], str | None]] = {
    "bare": lambda key: key.text,
    "line": lambda key: f"Here it is:\n\n{key.text}\n\nKeep it safe.",
    "code": lambda key: f"def connect():\n    # {key.text}\n    return open_it()\n",
    "prose": lambda key: f"You can use {key.text} for this, it works.",
    "fence": lambda key: f"Sure! Put this there:\n\n```\n{key.text}\n```\n\nThen restart.",
    "bold": lambda key: f"Use **{key.text}** here.",
    "backticks": lambda key: f"Use `{key.text}` here.",
    "cut": Key.cut,
    "cut in prose": lambda key: f"Sure, the value for it: {cut}" if (cut := key.cut()) else None,
    "broken": lambda key: _broken(key) if len(key.secret) >= 16 else None,
}


def places(key: Key) -> Iterator[tuple[str, str]]:
    """The key in each of the places it can stand in."""
    for name, place in PLACES.items():
        text = place(key)
        if text is not None:
            yield name, text
