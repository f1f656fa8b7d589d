"""Which parts of an attack, close to each other, make one; the same in all languages."""

import msgspec

from security.injection.concepts import Concept

NEAR = 60  # characters between the first and the last part; a third of it where words are pictures


class Rule(msgspec.Struct, frozen=True):
    """An attack as the parts that it needs.

    Attributes:
        name: Stands in the reasons.
        parts: All must be there, in any order: languages put their verbs at either end.
        weight: How sure it is, in the unit of the model's logarithmic odds; 4 is HIGH by itself.
        near: Characters that the parts may be apart.
    """

    name: str
    parts: tuple[Concept, ...]
    weight: float
    near: int = NEAR


C = Concept
MILD = frozenset({"reveal prompt"})  # by itself it is curiosity as often, and a prompt is no secret
RULES = (
    Rule("override", (C.OVERRIDE, C.PRIOR, C.DIRECTIVE), 4.2),
    Rule("reveal prompt", (C.REVEAL, C.OWN, C.PROMPT), 2.6, 48),
    Rule("persona", (C.ROLE, C.PERSONA), 1.9, 100),
    Rule("conceal", (C.CONCEAL,), 1.6),
    Rule("conceal and act", (C.CONCEAL, C.COMMAND), 1.4, 120),
    Rule("address", (C.ADDRESS, C.COMMAND, C.OVERRIDE), 2.4, 90),
    Rule("exfiltrate", (C.SEND, C.SECRET, C.TARGET), 2.4, 120),
    Rule("authority", (C.AUTHORITY, C.OVERRIDE), 2.6, 90),
    Rule("authority and reveal", (C.AUTHORITY, C.REVEAL), 1.4, 70),
    Rule("marker", (C.MARKER, C.COMMAND), 1.8, 60),
    Rule("marker and override", (C.MARKER, C.OVERRIDE), 2.0, 80),
    Rule("marker and reveal", (C.MARKER, C.REVEAL), 1.6, 60),
    Rule("shell", (C.EXECUTE, C.SHELL), 2.2, 40),
    Rule("taunt", (C.SAY, C.TAUNT), 3.4, 80),
)
