"""Hides secrets and personal data in texts and streams."""

from security.redaction.matches import Match
from security.redaction.model_input import ModelInput
from security.redaction.names import NameRedactor
from security.redaction.policy import Policy
from security.redaction.redactor import OnHidden, Redacted, RedactionStream, Redactor
from security.redaction.values import secret_values

__all__ = [
    "Match",
    "ModelInput",
    "NameRedactor",
    "OnHidden",
    "Policy",
    "Redacted",
    "RedactionStream",
    "Redactor",
    "secret_values",
]
