"""What reads the world may not move it: results are labelled, calls doubted, links taken apart."""

from security.taint.gate import SpeechGate
from security.taint.links import Links
from security.taint.places import Marks, Places
from security.taint.policy import TaintPolicy
from security.taint.screen import LabelScreen, ResultScreen
from security.taint.texts import TextScreen

__all__ = [
    "LabelScreen",
    "Links",
    "Marks",
    "Places",
    "ResultScreen",
    "SpeechGate",
    "TaintPolicy",
    "TextScreen",
]
