"""Defects that others have: each with the tests that would fail if we had it, and some tried here at once."""

import ast
from functools import cache
from pathlib import Path

import pytest

from bot.settings import Settings
from bot.settings.injection import InjectionSettings
from bot.settings.redaction import OutboundPlace, PlaceSettings
from security.injection import load_scanner
from security.redaction import Policy, Redactor
from security.verdict import Level

ROOT = Path(__file__).parent.parent.parent

REDACTION, INJECTION = "tests/security/redaction", "tests/security/injection"
GUARDIAN, ACCESS = "tests/security/guardian", "tests/security/access"

# What goes wrong elsewhere, and what shows that it does not here.
DEFECTS: dict[str, tuple[str, ...]] = {
    "only shell commands are guarded, not what people write": (
        f"{GUARDIAN}/test_messages.py::test_a_message_that_is_high_is_blocked_with_a_reference",
        f"{GUARDIAN}/test_gates.py::test_a_command_that_does_harm_is_denied_with_the_reason",
    ),
    "a message is blocked, and the person is told nothing": (
        f"{GUARDIAN}/test_messages.py::test_a_message_that_is_high_is_blocked_with_a_reference",
    ),
    "the mark that ends untrusted text can be written by whoever wrote the text": (
        f"{INJECTION}/test_wrapping.py::test_marks_differ_from_turn_to_turn",
        f"{INJECTION}/test_wrapping.py::test_only_the_last_line_closes",
    ),
    "the judge sees only what the rules have found already": (
        f"{GUARDIAN}/test_guardian.py::test_only_what_is_suspicious_or_in_the_sample_goes_to_the_model",
        f"{GUARDIAN}/test_guardian.py::test_the_model_lowers_high_to_low_at_most_and_may_raise",
    ),
    "the judge reads the beginning of a text only": (
        f"{GUARDIAN}/test_guardian.py::test_of_a_long_text_the_model_sees_the_head_and_the_tail",
    ),
    "attacks in other languages pass": (
        f"{INJECTION}/test_rules.py::test_an_order_to_forget_is_found_in_every_language",
    ),
    "attacks in invisible letters, in code or in other spellings pass": (
        f"{INJECTION}/test_views.py::test_an_attack_is_read_however_it_is_written",
        f"{INJECTION}/test_scanner.py::test_text_in_invisible_letters_is_found_for_being_there",
    ),
    "patterns take seconds on a text made for it": (
        f"{INJECTION}/test_views.py::test_a_nasty_text_has_a_bounded_number_of_bounded_readings",
        f"{GUARDIAN}/test_commands.py::test_no_text_of_a_hundred_thousand_characters_is_too_much",
    ),
    "what is masked for the model is remembered unmasked": (
        f"{REDACTION}/test_places.py::test_what_is_remembered_has_no_cards_and_no_keys",
    ),
    "of a private key only its first line is hidden": (
        f"{REDACTION}/test_kinds.py::test_a_secret_is_hidden_whole_wherever_it_stands",
        f"{REDACTION}/test_kinds.py::test_a_private_key_without_its_end_stays_hidden",
    ),
    "keys beside Chinese letters are not seen": (
        f"{REDACTION}/test_kinds.py::test_a_secret_is_hidden_whole_wherever_it_stands",
    ),
    "a key that comes in pieces is sent before it is recognised": (
        f"{REDACTION}/test_stream.py::test_no_part_of_a_hidden_value_is_ever_given_out",
        f"{REDACTION}/test_stream.py::test_the_pieces_in_which_a_text_comes_change_nothing",
    ),
    "the audit log can be edited unseen": (
        "tests/security/test_audit_checking.py::test_every_changed_byte_is_noticed_with_its_line",
        "tests/security/test_audit_checking.py::test_every_removed_line_is_noticed",
        "tests/security/test_audit_checking.py::test_a_chain_that_was_made_anew_lacks_the_key",
    ),
    "an audit log that can't be written stops nothing": (
        "tests/security/test_audit_gate.py::test_in_strict_mode_nothing_acts_while_the_log_cannot_be_written",
    ),
    "what one rule denies another one allows": (
        "tests/tools/test_approval.py::test_what_any_rule_denies_no_other_rule_allows",
    ),
    "of many calls at once only the first is looked at": (
        "tests/tools/test_approval.py::test_each_call_is_judged_by_its_own_arguments",
    ),
    "an empty list lets everybody in": (
        f"{ACCESS}/test_modes.py::test_an_empty_list_means_nobody_and_admins",
        f"{ACCESS}/test_modes.py::test_nobody_passes_whom_no_rule_lets_in",
    ),
    "taking the last one off the list opens the bot": (
        f"{ACCESS}/test_modes.py::test_whoever_is_taken_off_the_list_last_leaves_it_closed",
        "tests/commands/test_access.py::test_taking_the_last_one_away_does_not_open_the_door",
    ),
    "a question for a permission waits for ever, so that permissions are switched off": (
        "tests/tools/test_approval.py::test_nobody_answers_in_time_and_the_button_is_late",
        "tests/tools/test_approval.py::test_without_rules_the_risk_decides_who_is_asked",
    ),
    "the token of the page can be guessed as fast as the network allows": (
        "tests/web/test_server.py::test_who_guesses_has_to_wait",
        "tests/web/test_server.py::test_many_guesses_at_once_are_as_slow_as_one_after_another",
    ),
}


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of the tests in a file."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(one.name for one in functions if one.name.startswith("test_"))


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_has_its_tests(defect: str) -> None:
    for node in DEFECTS[defect]:
        file, _, name = node.partition("::")

        assert name in names_in(file), f"{node} is gone: what shows now that we don't have this?"


def redactor() -> Redactor:
    return Redactor(Policy.of(OutboundPlace(), key=b"k" * 32), ())


def test_a_welcome_is_no_attack() -> None:
    scan = load_scanner(InjectionSettings()).scan

    assert scan("You are now a member of our team").level < Level.HIGH
    assert scan("Eres ahora miembro de nuestro equipo").level < Level.HIGH


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "QWERTYUIOPASDFGH",
        "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1B" * 2,
        "123456789:" + "AAF9q3Zr7Kx1Lw5Tn8Vb2Mc6Yd4Ph0Jg9Qe",
    ],
)
def test_no_eight_signs_of_a_key_are_shown_in_whatever_pieces_it_comes(secret: str) -> None:
    text = f"The key is {secret}, keep it."
    for size in (1, 2, 3, 7, 16, len(text)):
        stream, shown = redactor().open(), ""
        for start in range(0, len(text), size):
            shown += stream.feed(text[start : start + size])
        shown += stream.flush()

        assert shown == redactor().redact(text)
        assert not any(secret[place : place + 8] in shown for place in range(len(secret) - 7))


def test_what_hides_secrets_from_people_is_on_where_nothing_is_set() -> None:
    places = Settings.model_construct().redaction

    named = {name: getattr(places, name) for name in type(places).model_fields if name != "model_input"}
    assert {one.secrets for one in named.values() if isinstance(one, PlaceSettings)} == {"mask"}
