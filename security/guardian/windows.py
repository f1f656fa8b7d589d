"""Rules for Windows: PowerShell and `cmd`, in lower case, without carets, backticks and quotes."""

import re
from typing import Final

from security.verdict import Level

HIGH, CRITICAL = Level.HIGH, Level.CRITICAL
SIGNS: Final = {ord(sign): None for sign in "^`\"'"}
DRIVE: Final = (
    r"[a-z]:[\\/]*(?:\*(?:\.\*)?|windows\S{0,40}|users[\\/]?\*?|program files\S{0,40})?(?=[\s;|)]|$)"
)
FETCH: Final = (
    r"(?:downloadstring|downloadfile|downloaddata|invoke-webrequest|invoke-restmethod|iwr|irm|webclient)"
)
RULES: Final[tuple[tuple[str, Level, re.Pattern[str]], ...]] = tuple(
    (name, level, re.compile(pattern))
    for name, level, pattern in (
        ("delete-system", CRITICAL, rf"\b(?:del|erase|rd|rmdir)\s(?:[^;|&\n]{{0,80}}\s)?{DRIVE}"),
        ("delete-system", CRITICAL, rf"\b(?:remove-item|ri)\s(?:[^;|&\n]{{0,80}}\s)?{DRIVE}"),
        ("write-disk", CRITICAL, r"\bformat(?:\.com)?\s+[a-z]:|\b(?:clear|initialize)-disk\b|\bcipher\s+/w"),
        ("delete-backups", HIGH, r"\bvssadmin\s+delete|\bwbadmin\s+delete|\bwmic\s+shadowcopy\s+delete"),
        ("delete-backups", HIGH, r"\bbcdedit\s+/set|win32_shadowcopy[^;|\n]{0,60}delete"),
        ("fetched-code", HIGH, rf"\b(?:iex|invoke-expression)\b[^;\n]{{0,120}}{FETCH}"),
        ("fetched-code", HIGH, rf"{FETCH}[^;\n]{{0,300}}\|\s*(?:iex|invoke-expression)\b"),
        ("fetched-code", HIGH, r"\bmshta\s+(?:https?:|vbscript:|javascript:)|\brundll32\s+javascript:"),
        ("fetched-code", HIGH, r"\bregsvr32\b[^;\n]{0,80}/i:\s*https?:|\bbitsadmin\b[^;\n]{0,80}/transfer"),
        ("fetched-code", HIGH, r"\bcertutil\b[^;\n]{0,80}[-/](?:urlcache|decode)\b"),
        (
            "decoded-code",
            HIGH,
            r"\b(?:powershell|pwsh)\b[^;\n]{0,160}\s-e(?:nc?|c|ncodedcommand)?\s+[\w+/=]{16}",
        ),
        ("decoded-code", HIGH, r"frombase64string[^;\n]{0,300}\|\s*(?:iex|invoke-expression)\b"),
        ("decoded-code", HIGH, r"\b(?:iex|invoke-expression)\b[^;\n]{0,160}frombase64string"),
        ("disarm", HIGH, r"\b(?:set|add)-mppreference\b[^;\n]{0,80}-(?:disable|exclusion)"),
        ("disarm", HIGH, r"\bnetsh\s+(?:advfirewall|firewall)\s+set\b[^;\n]{0,60}\b(?:off|disable)\b"),
        ("disarm", HIGH, r"\bset-netfirewallprofile\b[^;\n]{0,60}-enabled\s+(?:\$?false|0)"),
        ("persistence", HIGH, r"\breg(?:\.exe)?\s+add\b[^;\n]{0,120}\\(?:run|runonce|winlogon)\b"),
        ("persistence", HIGH, r"\bschtasks\b[^;\n]{0,40}/create|\bregister-scheduledtask\b|\bnew-service\b"),
        ("persistence", HIGH, r"currentversion\\run\b[^;\n]{0,80}(?:set-itemproperty|new-itemproperty)"),
        ("persistence", HIGH, r"\b(?:set|new)-itemproperty\b[^;\n]{0,120}currentversion\\run"),
        ("account", HIGH, r"\bnet(?:1|\.exe)?\s+(?:user|localgroup)\b[^;\n]{0,80}/add|\bnew-localuser\b"),
        ("wipe-history", HIGH, r"\bwevtutil\s+cl\b|\bclear-eventlog\b|\bclear-history\b"),
        ("read-secret", HIGH, r"\breg\s+save\s+hk\w{2,18}\\(?:sam|security|system)\b|\bsekurlsa|\bmimikatz"),
        ("read-secret", HIGH, r"\bprocdump\b[^;\n]{0,60}lsass|comsvcs\.dll[^;\n]{0,40}minidump"),
        ("remote-shell", HIGH, r"new-object\s+(?:system\.)?net\.sockets\.tcpclient"),
        ("kill-all", HIGH, r"\bstop-computer\b|\brestart-computer\b|\bshutdown(?:\.exe)?\s+/[srpf]\b"),
    )
)  # fmt: skip
HINT: Final = re.compile(
    r"(?i)[a-z][\^`'\"]?:[\\/]|[\^`]|\b(?:iex|iwr|irm|invoke-|remove-item|ri|del|erase|rd|rmdir|format|cipher|power|pwsh|"
    r"vssadmin|wbadmin|wmic|bcdedit|mshta|rundll32|regsvr32|bitsadmin|certutil|netsh|reg|schtasks|net1?|"
    r"wevtutil|mimikatz|procdump|shutdown|new-|set-|add-|clear-|stop-|restart-|register-|initialize-)|sekurlsa|comsvcs|"
    r"webclient|download|frombase64|shadowcopy"
)


def find(text: str) -> list[tuple[str, Level]]:
    """What holds in a line, or in a script."""
    if HINT.search(text) is None:
        return []
    plain = re.sub(r"[ \t]+", " ", text.translate(SIGNS).lower())
    return list(dict.fromkeys((name, level) for name, level, pattern in RULES if pattern.search(plain)))
