"""What is done with what is found, by place."""

import logging

import pytest

from bot.agent import seams as agent
from bot.settings.redaction import AuditPlace, PlaceSettings, RedactionSettings
from security.redaction import Policy, Redactor
from tests.security.redaction.samples import KEY, SECRETS, redactor

SSN = "219-09-9998"


def place(settings: PlaceSettings) -> Redactor:
    return Redactor(Policy.of(settings, key=KEY))


def test_a_hash_tells_values_apart_and_needs_its_key() -> None:
    first = redactor(action="hash").redact(f"{SSN} {SSN} 219-09-9997").split()
    other = Redactor(Policy({"national_id": "hash"}, key=b"another key")).redact(SSN)

    assert first[0] == first[1] != first[2]
    assert first[0].startswith("[PII-SSN:")
    assert len(first[0]) == len("[PII-SSN:]") + 12
    assert other != first[0]


def test_what_is_only_logged_is_shown_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="security.redaction.redactor"):
        shown = redactor(action="log").redact(f"SSN {SSN}, again {SSN}, key {SECRETS['npm']}")

    assert shown == f"SSN {SSN}, again {SSN}, key {SECRETS['npm']}"
    (record,) = caplog.records
    assert record.__dict__["kinds"] == {"US_SSN": 2, "npm": 1}
    assert SSN not in caplog.text


def test_it_is_what_a_turn_asks_for() -> None:
    seam: agent.Redactor = redactor()
    stream: agent.RedactionStream = seam.open()

    assert seam.redact(SSN) == stream.feed(SSN) + stream.flush() == "[REDACTED-SSN]"


def test_what_is_off_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert redactor(action="off").redact(SSN) == SSN
    assert not caplog.records


@pytest.mark.parametrize("name", ["audit", "outbound"])
def test_by_default_no_key_card_or_number_of_a_person_is_said_or_kept(name: str) -> None:
    guard = place(getattr(RedactionSettings(), name))
    shown = guard.redact(f"{SECRETS['openai']} 4111 1111 1111 1111 {SSN} {SECRETS['private_key']}")

    assert shown.count("[REDACTED-") + shown.count("[PII-") == 4
    assert "4111" not in shown


def test_by_default_answers_may_name_contacts_and_the_audit_log_may_not() -> None:
    text = "ann@example.org, +49 30 1234567"

    assert place(RedactionSettings().outbound).redact(text) == text
    assert "ann" not in place(RedactionSettings().audit).redact(text)


def test_one_changed_kind_leaves_the_others_of_a_place() -> None:
    settings = RedactionSettings(audit=AuditPlace(email="off", phone="mask"))

    assert (
        place(settings.audit).redact("ann@example.org, +49 30 1234567") == "ann@example.org, [REDACTED-PHONE]"
    )
