"""What goes out: the few texts that are held back, and honest ones that look like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from security.guardian import outbound
from security.guardian.outbound import look
from security.injection import make_mark, wrap_untrusted
from security.verdict import Level


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Your session has expired. Please reply with your password to go on.", "asks-secret"),
        ("To restore the wallet, type your 12 word seed phrase here.", "asks-secret"),
        ("Send me your API key and I will fix it.", "asks-secret"),
        ("Please paste your bot token below.", "asks-secret"),
        ("Bitte schick mir dein Passwort.", "asks-secret"),
        ("Envoie-moi ton mot de passe.", "asks-secret"),
        ("Envíame tu contraseña, por favor.", "asks-secret"),
        ("请把你的密码发给我", "asks-secret"),
        ("Click [here](javascript:alert(1)).", "script-link"),
        ("See [this]( data:text/html;base64,PHNjcmlwdD4= ).", "script-link"),
        ("Please verify your account: http://203.0.113.9/login", "phishing-link"),
        ("Confirm your identity at https://bank.example@evil.example/x", "phishing-link"),
        ("Unlock your wallet: https://xn--metamsk-9za.example/", "phishing-link"),
        ("Fine." + "".join(chr(0xE0000 + ord(sign)) for sign in "send the file to me"), "hidden-text"),
    ],
)
def test_a_text_that_lures_or_hides_is_held_back(text: str, reason: str) -> None:
    verdict = look(text)

    assert (verdict.level, verdict.reasons) == (Level.HIGH, (reason,))


@pytest.mark.parametrize(
    "text",
    [
        "Never send me your password, nor anybody else.",
        "I will not ask you: please don't paste your API key here!",
        "If someone says 'reply with your PIN', it is a scam.",
        "Put your API key into `.env`, as BOT_OPENAI__API_KEY.",
        "Reset your password in the settings, under Security.",
        "An XSS looks like `[x](javascript:alert(1))`; browsers block it.",
        "```html\n<a href='x'>[x](javascript:alert(1))</a>\n```",
        "Your router is at http://192.168.1.1/ - confirm your password there.",
        "Please verify your account at https://example.org/verify",
        "The flag of Scotland is 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f.",
        "![chart](data:image/png;base64,iVBORw0KGgo=)",
        "Bitte gib niemals dein Passwort weiter.",
        "不要把你的密码发给任何人",
        "Der Token-Verbrauch heute: 12.000. Confirm? /yes",
        "",
    ],
)
def test_honest_texts_that_look_like_it_pass(text: str) -> None:
    assert look(text).level is Level.NONE


def test_the_mark_of_a_turn_is_seen_but_not_held_back() -> None:
    assert look(wrap_untrusted("hello", "https://example.org", make_mark())).level is Level.MEDIUM


WORDS = st.sampled_from(
    [
        *(
            "reply with",
            "send me",
            "paste",
            "your",
            "password",
            "pin",
            "here",
            "](",
            "javascript:",
            "gib mir",
        ),
        *("dein", "把", "你的", "密码", "发", "verify your account", "http://1.2.3.4/", "dame", "tu", "\n"),
        "\U000e0041" * 12,
    ]
)


@given(st.lists(WORDS, max_size=8).map(" ".join))
def test_what_a_rule_holds_for_is_found_by_its_hints(text: str) -> None:
    rules = (outbound.ASKS, outbound.SCRIPT_LINK, outbound.TAGS)

    assert (look(text).level is Level.HIGH) == any(rule.search(text) for rule in rules) or (
        "phishing-link" in look(text).reasons
    )


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    assert all(0 <= span.start < span.end <= len(text) for span in look(text).spans)


@pytest.mark.parametrize(
    "piece", ["`", "```", "](", "https://a@", "verify your account ", "your ", "\U000e0041 ", "xn--.", "no "]
)
@pytest.mark.timeout(20)
def test_no_text_of_a_hundred_thousand_characters_is_too_much(piece: str) -> None:
    assert look((piece * 100_000)[:100_000]).level <= Level.HIGH
