"""Runs a program that lives no longer than its parent; started by file, with the program's command line.

The program has standard input and output of this process, which reads and writes neither. Closing standard
input asks it to leave, and a parent that is killed closes it, too. A program that stays, and all it has
started, is then ended: all of them are in one process group, whose leader this process is.
"""

import os
import select
import signal
import subprocess
import sys

LEAVE_SECONDS = 1.5  # after standard input has ended
TERM_SECONDS = 0.5  # after SIGTERM
NOT_STARTED = 127  # as shells say it


def main(command: list[str]) -> int:
    """Run the program; gives its exit code where it could not be started."""
    wake_in, wake_out = os.pipe()
    for end in (wake_in, wake_out):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake_out, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _stay)  # not SIG_IGN, which the program would inherit
    try:
        program = subprocess.Popen(command)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return NOT_STARTED
    os.close(1)  # who reads the program's output sees it end with the program
    _wait(program, wake_in)
    _end(program)
    return 0


def _stay(*_: object) -> None:
    """Outlive what is sent to the whole group, and wake the poll."""


def _wait(program: "subprocess.Popen[bytes]", wake: int) -> None:
    """Until the program has ended, or nobody can write to its standard input any more."""
    poll = select.poll()
    poll.register(0, 0)  # asked for nothing, it tells of a hang-up alone
    poll.register(wake, select.POLLIN)
    while program.poll() is None:
        for file, _ in poll.poll():
            if file == 0:
                return
            os.read(wake, 512)


def _end(program: "subprocess.Popen[bytes]") -> None:
    """End the group, this process with it; the program alone is given time to leave."""
    for seconds, number in ((LEAVE_SECONDS, signal.SIGTERM), (TERM_SECONDS, signal.SIGKILL)):
        try:
            program.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(0, number)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
