"""Texts with secrets and personal data, all made up, put together here so that no scanner finds them."""

from typing import Final

from security.redaction import Policy, Redactor
from security.redaction.matches import Group
from security.redaction.policy import Action

KEY: Final = b"a key of the tests"
GROUPS: Final[tuple[Group, ...]] = (
    *("secrets", "email", "phone", "card"),
    *("iban", "national_id", "ip", "birth_date"),
)
CONFIGURED: Final = ("correct/horse+battery=staple&1", 'tr"icky\\value', "Long-" + "q7Zx" * 60)
W: Final = "aZ3kQ9xL7mB2vN8cR4tY6wP1sD5fG0hJqKeUiOzXbMnVl" * 4
DIGITS: Final = "4829173650" * 4
HEX: Final = "3fa94c07be52d816" * 8
PEM: Final = (
    f"-----BEGIN RSA PRIVATE KEY-----\n{W[:64]}\n{W[5:69]}\n{W[9:73]}\n{W[:20]}=="
    "\n-----END RSA PRIVATE KEY-----"
)

SECRETS: Final[dict[str, str]] = {
    "anthropic": f"sk-ant-api03-{W[:80]}AA",
    "openrouter": f"sk-or-v1-{HEX[:64]}",
    "openai": f"sk-proj-{W[:100]}",
    "github_fine_grained_pat": f"github_pat_{W[:22]}_{W[3:62]}",
    "github_pat": f"ghp_{W[:36]}",
    "gitlab_pat": f"glpat-{W[:20]}",
    "slack_bot": f"xoxb-{DIGITS[:12]}-{DIGITS[3:15]}-{W[:24]}",
    "slack_app": f"xapp-1-A{DIGITS[:10]}-{DIGITS[:13]}-{HEX[:64]}",
    "slack_webhook": f"hooks.slack.com/services/T{W[:8].upper()}/B{W[3:11].upper()}/{W[:24]}",
    "telegram_bot": f"{DIGITS[:10]}:AA{W[:33]}",
    "discord_webhook": f"discord.com/api/webhooks/{DIGITS[:18]}/{W[:68]}",
    "discord_bot": f"M{W[:23]}.{W[4:10]}.{W[7:45]}",
    "stripe": f"sk_live_{W[:24]}",
    "stripe_webhook": f"whsec_{W[:32]}",
    "aws_access_key": "AKIA" + "QWERT2YUIOP7ASDF",
    "google_api": f"AIza{W[:35]}",
    "google_oauth_secret": f"GOCSPX-{W[:28]}",
    "google_oauth": f"ya29.{W[:120]}",
    "npm": f"npm_{W[:36]}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{W[:150]}",
    "huggingface": f"hf_{W[:34]}",
    "replicate": f"r8_{W[:37]}",
    "groq": f"gsk_{W[:52]}",
    "sendgrid": f"SG.{W[:22]}.{W[4:47]}",
    "mailgun": f"key-{HEX[:32]}",
    "mailchimp": f"{HEX[:32]}-us12",
    "twilio": f"SK{HEX[:32]}",
    "digitalocean": f"dop_v1_{HEX[:64]}",
    "shopify": f"shpat_{HEX[:32]}",
    "square": f"sq0atp-{W[:22]}",
    "databricks": f"dapi{HEX[:32]}",
    "linear": f"lin_api_{W[:40]}",
    "figma": f"figd_{W[:40]}",
    "vault": f"hvs.{W[:60]}",
    "grafana": f"glsa_{W[:32]}_{HEX[:8]}",
    "docker": f"dckr_pat_{W[:27]}",
    "age_key": f"AGE-SECRET-KEY-1{W[:58].upper()}",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{W[:60]}.{W[:43]}",
    "private_key": PEM,
}
ASSIGNED: Final = (
    ("password: {}", "n0t-A-w0rd!"),
    ("export DB_PASSWORD='{}'", "$ecret9!x"),
    ("密码是{}", "Rn8cPMBUra"),
    ('{{"client_secret": "{}"}}', HEX[:32]),
    ('{{\\"api_key\\": \\"{}\\"}}', W[:30]),
    ("aws_secret_access_key = {}", W[:40]),
    ("postgres://admin:{}@db.example:5432/app", "s3cr3tPw9"),
    ("Authorization: Bearer {}", W[:40]),
    ("https://example.org/?a=1&b=2&c=3&d=4&e=5&token={}&z=1", W[:24]),
    ("AccountKey={}==;EndpointSuffix=core", W[:86]),
    ("the password is {}.", "Xy7-parrot-99"),
)
PERSONAL: Final = (
    ("EMAIL", "write to {} soon", "ann.lee+x@mail.example.org"),
    ("EMAIL", "邮箱{}。", "li@example.cn"),
    ("PHONE", "call {} now", "+49 30 1234567"),
    ("PHONE", "call {} now", "(212) 555-0142"),
    ("PHONE", "电话{}，谢谢", "13812345678"),
    ("CREDIT_CARD", "card {} was declined", "4111 1111 1111 1111"),
    ("CREDIT_CARD", "card={},", "378282246310005"),
    ("CN_BANK", "银行卡号{}，", "6222020200112230004"),
    ("IBAN", "to {} please", "DE89 3704 0044 0532 0130 00"),
    ("IBAN", "to {} please", "GB29 NWBK 6016 1331 9268 19"),
    ("US_SSN", "SSN {},", "219-09-9998"),
    ("CN_ID", "身份证号：{}", "11010519491231002X"),
    ("ES_ID", "DNI {}", "12345678Z"),
    ("FR_NIR", "NIR {}", "2 55 08 14 168 025 38"),
    ("IT_CF", "CF {}", "RSSMRA85T10A562S"),
    ("UK_NINO", "NI {}", "AB123456C"),
    ("BR_CPF", "CPF {}", "529.982.247-25"),
    ("IN_AADHAAR", "Aadhaar {}", "2341 2341 2346"),
    ("DE_TAX", "Steuer-ID: {}", "86095742719"),
    ("PL_PESEL", "PESEL {}", "44051401359"),
    ("CA_SIN", "SIN {}", "046 454 286"),
    ("IP", "login from {} failed", "203.0.113.77"),
    ("IP", "login from {} failed", "2001:db8:85a3::8a2e:370:7334"),
    ("BIRTH_DATE", "born on {} in Rome", "12 March 1985"),
    ("BIRTH_DATE", "geboren am {}", "12.03.1985"),
    ("BIRTH_DATE", "出生日期：{}", "1985年3月12日"),
)
CLEAN: Final = (
    "AKIAIOSFODNN7EXAMPLE is the sample of the manual; set api_key=YOUR_API_KEY_HERE and password: ********",
    "token = os.environ['TOKEN1']; password = getpass(); max_tokens=4096; secret: true, api_key=cfg.key",
    "uuid=550e8400-e29b-41d4-a716-446655440000, commit 3f2a9c1d7e8b6a5c4d3e2f1a0b9c8d7e6f5a4b3c",
    "A PEM file begins with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
    "ISBN 978-3-16-148410-0, order 4111-2222, 订单编号20240506123456789，会议号 123 456 789 012",
    "Python 3.11.4.2 on 127.0.0.1 at 12:34:56, 2024-05-06T12:34:56Z, total 1,234,567.89 EUR in 1234567890 ns",
    "card 4111 1111 1111 1112, IBAN DE89 3704 0044 0532 0130 01, CN 110105194912310021, @alice in PR #4432",
    "sk-learn is a typo; <your-token>, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, std::vector, ::1",
)


def redactor(*values: str, action: Action = "mask") -> Redactor:
    """One that looks for all kinds."""
    return Redactor(Policy(dict.fromkeys(GROUPS, action), key=KEY), values)
