"""The audit log: what was decided and done, in files where nothing can be changed unseen."""

from security.audit.book import AuditBook
from security.audit.checking import check_log
from security.audit.files import Rotation
from security.audit.gate import AuditGate, note_denied, note_result
from security.audit.log import AuditLog
from security.audit.redactions import note_hidden

__all__ = [
    "AuditBook",
    "AuditGate",
    "AuditLog",
    "Rotation",
    "check_log",
    "note_denied",
    "note_hidden",
    "note_result",
]
