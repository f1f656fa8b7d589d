"""Rules for what goes out: few, and certain, so that honest texts practically never meet one.

| rule | holds for | level |
|---|---|---|
| asks-secret | a demand to type a password, PIN or seed phrase into the chat, not a warning of it | HIGH |
| script-link | a Markdown link to `javascript:`, `vbscript:` or `data:text/html` | HIGH |
| phishing-link | "confirm your account" beside a link to a bare address, punycode or `user@host` | HIGH |
| hidden-text | a run of invisible tag letters that no flag is written with | HIGH |
| mark | the mark around untrusted content, repeated | MEDIUM |

What stands in code, inline or in a block, is shown and not followed: it is not looked at.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bot.lazy_pattern import lazy_pattern
from security.guardian.findings import Finding, sum_up
from security.verdict import HARMLESS, Level, Verdict

MEDIUM, HIGH = Level.MEDIUM, Level.HIGH
# Each rule needs one of these, in lower case: looking for them costs a hundredth of what the rules do.
ASKING: Final = (
    *(
        "me your",
        "with your",
        "paste your",
        "type your",
        "enter your",
        "post your",
        "share your",
        "send your",
    ),
    *("provide your", "write your"),
)
BAITING: Final = tuple(
    f"{verb} your" for verb in ("verify", "confirm", "unlock", "restore", "validate", "secure", "update")
)
LINKING: Final = ("script:", "data:", "untrusted-")
ASKING_ABROAD: Final = (
    *(
        "passwort",
        "kennwort",
        " pin",
        "zugangsdaten",
        "wiederherstellungsphrase",
        "mot de passe",
        "identifiants",
    ),
    *("clave", "contraseña", "密码", "口令", "验证码", "助记词", "私钥"),
)
TAG_BYTES: Final = (b"\xf3\xa0\x80", b"\xf3\xa0\x81")  # how each of the tag letters begins in UTF-8
AROUND: Final = 120  # characters of a demand, on each side of what gave it away
CODE: Final = lazy_pattern(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
WHAT: Final = (
    r"(?:pass(?:word|phrase|code)|(?:api|access|secret|session|bot|auth|login)[ -](?:token|key)|private key|"
    r"(?:seed|recovery|backup) (?:phrase|words?|codes?)|pin|cvv|cvc|2fa code|one-time code|credentials)\b"
)
ASKS: Final = lazy_pattern(
    rf"(?i)\b(?:reply|respond|answer|write back) with your (?:\w+ ){{0,3}}{WHAT}"
    rf"|\b(?:send|tell|give|dm|text|forward) me your (?:\w+ ){{0,3}}{WHAT}"
    rf"|\b(?:paste|type|enter|post|share|send|provide|write) your (?:\w+ ){{0,3}}{WHAT}[^.!?\n]{{0,20}}?"
    r"\b(?:here|below|in (?:this|the) chat|in your (?:reply|next message))\b"
    r"|\b(?:schick|sende|gib|nenne|schreib)e? (?:mir|uns) (?:bitte )?(?:dein|deine|ihr|ihre) (?:\w+ ){0,2}"
    r"(?:passwort|kennwort|pin|zugangsdaten|wiederherstellungsphrase)\b"
    r"|\b(?:envoie|envoyez|donne|donnez)[ -]moi (?:ton|votre|vos) (?:\w+ ){0,2}"
    r"(?:mot de passe|code pin|identifiants)\b"
    r"|\b(?:envíame|envíeme|dame|deme|mándame) (?:tu|su) (?:\w+ ){0,2}(?:contraseña|clave|pin)\b"
    r"|(?:把|将)你?您?的(?:密码|口令|验证码|助记词|私钥)(?:发|告诉|发送|输入)"
    r"|(?:请)?(?:发送|告诉我|回复|输入)你?您?的(?:密码|验证码|助记词|私钥)(?:给我|到这里|在这里|到此)"
)
NEGATED: Final = lazy_pattern(
    r"(?i)\b(?:never|not|no one|nobody|avoid|without|who|asks?|if|nie|nicht|niemals|jamais|ne|nunca|no)\b"
    r"|n['’]t\b|别|不要|切勿|请勿"
)
BEFORE: Final = 60  # characters in which a warning begins
SCRIPT_LINK: Final = lazy_pattern(
    r"(?i)\]\(\s{0,4}<?\s{0,4}(?:(?:javascript|vbscript):|data:(?:text/html|image/svg|application/xhtml))"
)
BAIT: Final = lazy_pattern(
    r"(?i)\b(?:verify|confirm|unlock|restore|validate|secure|update) your (?:\w+ ){0,2}"
    r"(?:account|identity|wallet|password|billing|payment|login)\b"
)
ODD_LINK: Final = lazy_pattern(
    r"(?i)https?://(?:[^/\s@]{1,100}@|\d{1,3}(?:\.\d{1,3}){3}(?=[:/\s)]|$)|(?:[\w-]{1,63}\.){0,5}xn--)"
)
OWN_ADDRESS: Final = lazy_pattern(r"https?://(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)")
NEAR: Final = 300  # characters between bait and link
TAGS: Final = lazy_pattern(r"[\U000E0020-\U000E007F]{12,}")  # the longest flag has seven
MARK: Final = lazy_pattern(r"</?untrusted-[0-9a-f]{16}")


def look(text: str) -> Verdict:
    """Look at a text that is about to leave, in linear time."""
    plain = text.lower()
    asks, baits, links = _hints(plain)
    has_tags = not text.isascii() and _has_tags(text)
    if not (asks or baits or links or has_tags):
        return HARMLESS
    shown = CODE.sub(lambda match: " " * len(match[0]), text)
    found = list(_demands(shown, asks)) if asks else []
    for name, level, pattern in (("script-link", HIGH, SCRIPT_LINK), ("mark", MEDIUM, MARK)):
        if links and (match := pattern.search(shown)) is not None:
            found.append(Finding(name, level, *match.span()))
    if has_tags and (match := TAGS.search(shown)) is not None:
        found.append(Finding("hidden-text", HIGH, *match.span()))
    if baits:
        found.extend(_baits(shown))
    return sum_up(found)


def _hints(plain: str) -> tuple[list[str], bool, bool]:
    """What in a text may make up a demand, a bait or a link."""
    has_your = " your" in plain
    asks = [hint for hint in ASKING if hint in plain] if has_your else []
    asks += [hint for hint in ASKING_ABROAD if hint in plain]
    baits = has_your and any(hint in plain for hint in BAITING)
    return asks, baits, any(hint in plain for hint in LINKING)


def _has_tags(text: str) -> bool:
    data = text.encode(errors="replace")
    return any(sign in data for sign in TAG_BYTES)


def _demands(shown: str, hints: Sequence[str]) -> Iterator[Finding]:
    """Demands for secrets, looked for around the hints alone, and nowhere twice."""
    for start, end in _windows(shown, hints):
        for match in ASKS.finditer(shown, start, end):
            if not _is_warning(shown, match):
                yield Finding("asks-secret", HIGH, *match.span())


def _windows(shown: str, hints: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The surroundings of hints; those that overlap are one."""
    start = end = 0
    for place in re.finditer("|".join(map(re.escape, hints)), shown, re.IGNORECASE):
        if place.start() - AROUND > end:
            if end:
                yield start, end
            start = place.start() - AROUND
        end = place.end() + AROUND
    yield start, end


def _baits(shown: str) -> Iterator[Finding]:
    """The first bait with an odd link beside it."""
    for match in BAIT.finditer(shown):
        link = ODD_LINK.search(shown, max(0, match.start() - NEAR), match.end() + NEAR)
        if link is None or OWN_ADDRESS.match(link[0]) is not None or _is_warning(shown, match):
            continue
        yield Finding("phishing-link", HIGH, *match.span())
        return


def _is_warning(text: str, match: re.Match[str]) -> bool:
    """Whether what stands before, in the same sentence, turns it round."""
    before = text[max(0, match.start() - BEFORE) : match.start()]
    sentence = re.split(r"[.!?\n。！？]", before)[-1]
    return NEGATED.search(sentence) is not None
