"""Hides secrets and personal data in texts and streams."""

from security.redaction.matches import Match
from security.redaction.policy import Policy
from security.redaction.redactor import Redacted, RedactionStream, Redactor
from security.redaction.values import secret_values

__all__ = ["Match", "Policy", "Redacted", "RedactionStream", "Redactor", "secret_values"]
