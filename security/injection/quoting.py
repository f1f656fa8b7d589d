"""What a text quotes, as it cannot speak for the one who quotes it."""

import re

import numpy as np

from security.injection.words import Flags

LONGEST_QUOTE = 600  # characters; what is longer is no quotation
QUOTED = re.compile(
    rf"\"[^\"\n]{{3,{LONGEST_QUOTE}}}\"|“[^“”]{{3,{LONGEST_QUOTE}}}”|„[^„“”]{{3,{LONGEST_QUOTE}}}[“”]"
    rf"|«[^«»]{{3,{LONGEST_QUOTE}}}»|「[^「」]{{3,{LONGEST_QUOTE}}}」|『[^『』]{{3,{LONGEST_QUOTE}}}』"
    rf"|(?<![\w'])'[^'\n]{{12,{LONGEST_QUOTE}}}'(?!\w)|`[^`\n]{{3,{LONGEST_QUOTE}}}`|^>[^\n]*",
    re.MULTILINE,
)
FENCE = "```"


def quoted_in(text: str) -> Flags:
    """Which characters stand inside quotation marks, quoted lines or blocks of code."""
    found: Flags = np.zeros(len(text), dtype=np.bool_)
    for match in QUOTED.finditer(text):
        found[match.start() : match.end()] = True
    begin = text.find(FENCE)
    while begin >= 0:
        end = text.find(FENCE, begin + len(FENCE))
        if end < 0:
            break
        found[begin : end + len(FENCE)] = True
        begin = text.find(FENCE, end + len(FENCE))
    return found
