"""Secrets that are known by their form: keys and tokens of services."""

import re
from collections.abc import Iterator

from bot.lazy_pattern import lazy_pattern
from security.redaction.gates import is_placeholder, is_random
from security.redaction.matches import Match

W = r"[A-Za-z0-9]"
U = r"[A-Za-z0-9_-]"
HEX = r"[0-9a-f]"
# Each pattern begins with what nothing else begins with; the varied part is in brackets and must look random.
# None may begin with what `units.WORD` takes for a word, or need more than 128 characters to be sure,
# as `patterns.py` says.
FORMATS: dict[str, str] = {
    "anthropic": rf"sk-ant-(?:{W}{{2,10}}-)?({U}{{24,}}+)",
    "openrouter": rf"sk-or-(?:v1-)?({HEX}{{32,}}+)",
    "openai": rf"sk-(?:proj-|svcacct-|admin-|None-)?((?={U}*?[0-9A-Z]){U}{{20,}}+)",
    "github_fine_grained_pat": r"github_pat_([A-Za-z0-9_]{36,}+)",
    "github_pat": rf"gh[pousr]_({W}{{30,}}+)",
    "gitlab_pat": rf"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-({U}{{20,}}+(?:\.{U}{{2,20}}+)*+)",
    "slack_bot": rf"xox[abeoprs](?:\.xox[bp])?-({U}{{16,}}+)",
    "slack_app": rf"xapp-({U}{{20,}}+)",
    "slack_webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/-]{20,}+)",
    "telegram_bot": rf"(?:bot)?[0-9]{{8,10}}:(A{U}{{33,35}}+)",
    "discord_webhook": rf"discord(?:app)?\.com/api/webhooks/([0-9]{{15,20}}/{U}{{40,}}+)",
    "discord_bot": rf"([MNO]{W}{{22,28}}+\.{U}{{6,7}}\.{U}{{27,}}+)",
    "stripe": rf"[srp]k_(?:live|test|prod)_({W}{{16,}}+)",
    "stripe_webhook": r"whsec_([A-Za-z0-9+/=]{24,}+)",
    "aws_access_key": r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)([A-Z0-9]{16})(?![A-Za-z0-9])",
    "google_api": rf"AIza({U}{{32,}}+)",
    "google_oauth_secret": rf"GOCSPX-({U}{{20,}}+)",
    "google_oauth": r"ya29\.([A-Za-z0-9_.-]{20,}+)",
    "google_refresh": rf"1//0({U}{{30,}}+)",
    "npm": rf"npm_({W}{{30,}}+)",
    "pypi": rf"pypi-({U}{{40,}}+)",
    "rubygems": rf"rubygems_({HEX}{{40,}}+)",
    "huggingface": rf"(?:hf|api_org)_({W}{{30,}}+)",
    "replicate": rf"r8_({W}{{30,}}+)",
    "groq": rf"gsk_({W}{{40,}}+)",
    "xai": rf"xai-({W}{{60,}}+)",
    "perplexity": rf"pplx-({W}{{40,}}+)",
    "tavily": rf"tvly-({U}{{24,}}+)",
    "fireworks": rf"fw_({W}{{22,}}+)",
    "nvidia": rf"nvapi-({U}{{40,}}+)",
    "langsmith": r"lsv2_(?:pt|sk)_([0-9a-f_]{32,}+)",
    "sendgrid": rf"SG\.({U}{{16,}}+\.{U}{{16,}}+)",
    "mailgun": rf"key-({HEX}{{32}}+)(?!{W})",
    "mailchimp": rf"({HEX}{{32}}-us[0-9]{{1,2}}+)(?!{W})",
    "sendinblue": rf"xkeysib-({HEX}{{40,}}+-{W}{{8,}}+)",
    "twilio": rf"SK({HEX}{{32}}+)(?!{W})",
    "digitalocean": rf"do[oprt]_v1_({HEX}{{40,}}+)",
    "shopify": rf"shp(?:at|ca|pa|ss)_({W}{{32,}}+)",
    "square": rf"sq0(?:atp|csp|idp)-({U}{{22,}}+)",
    "databricks": rf"dapi({HEX}{{32}}+(?:-[0-9])?+)(?!{W})",
    "doppler": rf"dp\.(?:pt|st|ct|sa|scim|audit)\.({U}{{32,}}+)",
    "linear": rf"lin_api_({W}{{32,}}+)",
    "notion": rf"(?:ntn|secret)_({W}{{40,}}+)",
    "figma": rf"fig[dour]_({U}{{30,}}+)",
    "airtable": rf"pat{W}{{14}}\.({HEX}{{40,}}+)",
    "atlassian": r"ATATT3([A-Za-z0-9_=-]{40,}+)",
    "vault": rf"hv[sbr]\.({U}{{24,}}+)",
    "terraform": rf"((?![A-Za-z][a-z]{{6}}){W}{{14}}\.atlasv1\.{U}{{40,}}+)",
    "grafana": r"gl(?:c|sa)_([A-Za-z0-9+/_=]{32,}+)",
    "new_relic": rf"NRAK-({W}{{24,}}+)",
    "sentry": r"sntry[su]_([A-Za-z0-9+/=_-]{40,}+)",
    "docker": rf"dckr_pat_({U}{{24,}}+)",
    "postman": rf"PMAK-({HEX}{{20,}}+-{HEX}{{30,}}+)",
    "planetscale": r"pscale_(?:tkn|pw|oauth)_([A-Za-z0-9_.=-]{32,}+)",
    "supabase": rf"sb(?:p|_secret)_({U}{{30,}}+)",
    "dropbox": rf"sl\.({U}{{60,}}+)",
    "facebook": rf"EAA[A-Z]({W}{{60,}}+)",
    "age_key": r"AGE-SECRET-KEY-1([A-Z0-9]{50,}+)",
    "jwt": rf"eyJ((?:(?:hbGci|0eXAi|raWQi|lbmMi|4NX){U}{{80,}}+|{U}{{10,}}+\.{U}{{6,}}+)(?:\.{U}*+)*+)",
    "feishu": rf"(?:t|u|a)-g1({W}{{30,}}+)",
}
LEAST = 20  # characters of the shortest one
# With what each of them begins, as short as still says something; the last two have it in their middle.
HEADS = lazy_pattern(
    r"(?<![A-Za-z0-9-])(?:sk[-_]|gh[pousr]_|github_p|gl[a-z]{1,5}[-_]|xox|xapp-|hooks\.s|[0-9]{8,10}:A|bot[0-9]{8}"
    r"|discord|[MNO][A-Za-z0-9]{22}|[rp]k_|whsec_|A(?:KIA|SIA|BIA|CCA|ROA|IDA|Iza|TATT3|GE-SEC)|GOCSPX-|ya29\."
    r"|1//0|npm_|pypi-|rubygems_|hf_|api_org_|r8_|gsk_|xai-|pplx-|tvly-|fw_|nvapi-|lsv2_|SG\.|key-|xkeysib-"
    r"|SK[0-9a-f]{32}|do[oprt]_v1|shp|sq0|dapi[0-9a-f]|dp\.|lin_api_|ntn_|secret_|fig[dour]_|pat[A-Za-z0-9]{14}\."
    r"|hv[sbr]\.|NRAK-|sntry|dckr_|PMAK-|pscale_|sb[p_]|sl\.|EAA[A-Z]|eyJ|[tua]-g1)|-us[0-9]|\.atlasv1\.",
    re.ASCII,
)
# A letter before may be the end of an escape, as in `\nghp_...` inside JSON, or of a percent sequence.
BEFORE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F])|(?<=[0-9]_))"
NAMES = tuple(FORMATS)
ANY = lazy_pattern(
    f"{BEFORE}(?:" + "|".join(f"(?:{pattern})" for pattern in FORMATS.values()) + ")", re.ASCII
)


def may_be_key(text: str, start: int, end: int) -> bool:
    """Whether it is worth to look for a key between two offsets; most of the time it is not."""
    if HEADS.search(text, start, end) is not None:
        return True
    start = max(0, start - 3)  # where an escape may begin: its end is a letter like any other
    return text.find("\\", start, end) >= 0 or text.find("%", start, end) >= 0


def find_formats(text: str, start: int, end: int) -> Iterator[Match]:
    """Keys and tokens between two offsets, without samples such as `AKIA...EXAMPLE`."""
    if not may_be_key(text, start, end):
        return
    for found in ANY.finditer(text, start, end):
        assert found.lastindex is not None, "every format has one group"
        kind = NAMES[found.lastindex - 1]
        if is_random(found[found.lastindex]) and not is_placeholder(found[0]):
            yield Match(kind, found.start(), found.end())
