"""Section: where the agent's commands run."""

from pydantic import Field

from bot.settings.base import Names, Section

MOST_SECONDS = 600


class SandboxSettings(Section):
    """The sandbox that commands and scripts of the agent run in; needs bubblewrap."""

    network: bool = Field(
        default=False, description="Let commands reach the network, this machine's own services included."
    )
    seconds: int = Field(
        default=30, ge=1, le=MOST_SECONDS, description="Time of a command where the model names none."
    )
    memory_mb: int = Field(default=1_024, ge=64, description="Memory of a command with all its processes.")
    processes: int = Field(default=64, ge=4, le=10_000, description="Processes of a command at one time.")
    file_mb: int = Field(default=256, ge=1, description="The largest file that a command may write, in MB.")
    output_kb: int = Field(
        default=1_024, ge=1, le=16_384, description="Output that is kept of a command: its head and its tail."
    )
    paths: Names = Field(default=(), description="More directories that commands may read, like /opt/tools.")
    unsafe: bool = Field(
        default=False,
        description="Without bubblewrap: run commands as the bot's own user, free to do all that it can.",
    )
