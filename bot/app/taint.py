"""What keeps a turn from acting on what it has read, put together."""

from collections.abc import Sequence

import msgspec

from bot.settings import Settings
from bot.tools.approval import Suspicion
from bot.tools.base import Gate, Watch
from memory.taints import Taints
from security.audit import AuditLog, note_denied
from security.injection import LazyScanner
from security.taint import LabelScreen, Links, Places, ResultScreen, SpeechGate, TaintPolicy, TextScreen


class TaintGuards(msgspec.Struct, frozen=True, kw_only=True):
    """They all know the same links and places.

    Attributes:
        texts: Looks at what is to be obeyed though it came from elsewhere.
        links: Takes apart the links of answers; `None` where the settings say so.
    """

    texts: TextScreen
    watch: Watch
    links: Links | None = None
    checks: Sequence[Gate] = ()
    suspicions: Sequence[Suspicion] = ()


def taint_guards(settings: Settings, marks: Taints, scanner: LazyScanner, audit: AuditLog) -> TaintGuards:
    """Make them; the scanner is loaded when there is something to look at."""
    texts = TextScreen(scanner, audit.note)
    denials = note_denied(audit)
    if not settings.taint.enabled:
        return TaintGuards(texts=texts, watch=Watch(screen=LabelScreen(), note_denied=denials))
    links = Links(settings.taint.hosts)
    places = Places(settings.data_dir / "workspace", marks)
    return TaintGuards(
        texts=texts,
        watch=Watch(screen=ResultScreen(texts, places), note_denied=denials),
        links=links,
        checks=(SpeechGate(links),),
        suspicions=(TaintPolicy(settings.taint, links, places),),
    )
