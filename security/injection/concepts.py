"""What the words of an attack stand for, whatever the language."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Concept(StrEnum):
    """The parts that attacks are made of."""

    OVERRIDE = "override"  # ignore, forget, bypass
    PRIOR = "prior"  # previous, above, all, your
    DIRECTIVE = "directive"  # instructions, rules, restrictions
    REVEAL = "reveal"  # show, print, repeat
    OWN = "own"  # your, hidden, system, initial
    PROMPT = "prompt"  # prompt, configuration, guidelines
    PERSONA = "persona"  # DAN, unrestricted, developer mode
    ROLE = "role"  # act as, you are now, from now on
    CONCEAL = "conceal"  # do not tell the user
    ADDRESS = "address"  # AI assistant, language model
    COMMAND = "command"  # immediately, must, instead
    SEND = "send"  # send, forward, post
    SECRET = "secret"  # password, API key, history
    TARGET = "target"  # an address: mail, link
    AUTHORITY = "authority"  # admin mode, debug mode
    MARKER = "marker"  # signs of a chat template, "new instructions:"
    EXECUTE = "execute"  # run, evaluate
    SHELL = "shell"  # whoami, /etc/passwd, os.system
    SAY = "say"  # print, answer with
    TAUNT = "taunt"  # what an attacker makes a model say to show that it obeys


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True):
    """The words of one language.

    Attributes:
        words: Whole words and short phrases, blanks between their words, of languages that write blanks.
        stems: Pieces of text that count wherever they stand.
    """

    words: Mapping[Concept, tuple[str, ...]] = msgspec.field(default_factory=dict)
    stems: Mapping[Concept, tuple[str, ...]] = msgspec.field(default_factory=dict)


def listed(text: str) -> tuple[str, ...]:
    """The words and phrases of a list, which commas part."""
    return tuple(word.strip() for word in text.split(","))
