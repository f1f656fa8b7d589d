"""`python -m bot redact`: files and lines of JSON."""

import json
from io import StringIO
from pathlib import Path

import pytest

from bot.errors import ConfigError
from bot.operations.redact import answers, pieces, write
from tests.security.redaction.samples import SECRETS, redactor


def test_files_are_written_with_their_secrets_hidden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_text(f"key {SECRETS['npm']}\n", encoding="utf-8")
    (tmp_path / "b").write_text("密码是n0t-A-w0rd\n", encoding="utf-8")

    write(redactor(), [tmp_path / "a", tmp_path / "b"], is_jsonl=False)

    assert capsys.readouterr().out == "key [REDACTED-NPM]\n密码是[REDACTED-PASSWORD]\n"


def test_standard_input_is_read_where_no_file_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"key {SECRETS['npm']}"))

    write(redactor(), [], is_jsonl=False)

    assert capsys.readouterr().out == "key [REDACTED-NPM]"


def test_each_line_of_json_gets_an_answer_with_offsets() -> None:
    text = f"Grüße: {SECRETS['npm']} an ann@example.org"
    lines = [json.dumps({"id": 7, "text": text}), "", json.dumps({"text": "nothing"})]

    first, second = (json.loads(line) for line in answers(redactor(), lines))

    assert first["level"] == "HIGH"
    assert first["text"] == "Grüße: [REDACTED-NPM] an [REDACTED-EMAIL]"
    assert [(text[span["start"] : span["end"]], span["type"]) for span in first["spans"]] == [
        (SECRETS["npm"], "npm"),
        ("ann@example.org", "EMAIL"),
    ]
    assert first["reasons"] == ["EMAIL", "npm"]
    assert second == {"level": "NONE", "score": 0.0, "reasons": [], "spans": [], "text": "nothing"}


def test_a_secret_across_two_reads_is_hidden() -> None:
    text = "x" * 65_530 + " " + SECRETS["npm"] + " end"

    assert "".join(pieces(redactor(), StringIO(text))).endswith("x [REDACTED-NPM] end")


@pytest.mark.parametrize("line", ["no json", '{"txt": 1}', '{"text": 1}'])
def test_a_line_that_is_not_such_json_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text(line, encoding="utf-8")

    with pytest.raises(ConfigError, match="lines: "):
        write(redactor(), [file], is_jsonl=True)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing"):
        write(redactor(), [tmp_path / "missing"], is_jsonl=False)
