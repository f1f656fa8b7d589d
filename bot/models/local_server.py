"""The local model's own process: a llama.cpp server on loopback that lives no longer than its parent.

It is started by file, not as a module, and imports nothing of the bot, so that it is small and starts fast.
It gets a `Job` as a JSON object, the first line on standard input, and gives its port, a line on standard
output. When standard input ends, because the parent has closed it or died, the process is over.
"""

import json
import os
import sys
import threading

import msgspec
import xllamacpp

NICENESS = 10
PROMPT_CACHE_MIB = 256


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        model: Path of the GGUF file.
        name: What the model is called over the API.
        window: Tokens of prompt and answer together.
        threads: For writing the answer.
        batch_threads: For reading the prompt.
        key: What a caller has to know; other programs on this machine don't.
    """

    model: str
    name: str
    window: int
    threads: int
    batch_threads: int
    key: str


def main() -> None:
    """Serve until standard input ends."""
    port_out = os.dup(1)
    os.dup2(2, 1)  # the engine writes to standard output as well
    job = Job(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    server = xllamacpp.Server(_parameters(job))
    with os.fdopen(port_out, "w") as out:
        out.write(f"{server.listening_address.rsplit(':', 1)[1]}\n")
    threading.Event().wait()


def _leave_with_parent() -> None:
    while os.read(0, 4096):
        continue
    os._exit(0)  # the engine's threads could not be ended otherwise


def _parameters(job: Job) -> xllamacpp.CommonParams:
    """How the engine runs.

    One slot: with one core to spend, a second answer at a time would only make both slow. Similarity 0 makes
    the engine put the slot's prompt into its cache and look for the best one there before each call; with its
    default, sessions that share a system prompt overwrite each other (measured: 0.2 s to the first token of a
    conversation that goes on, not 0.9 s). The prompt is read with a thread more than the answer is written
    with, because that is over soon.
    """
    params = xllamacpp.CommonParams()
    params.model.path = job.model
    params.model_alias = {job.name}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [job.key]
    params.n_ctx = job.window
    params.n_parallel = 1
    params.use_jinja = True
    params.ui = False
    params.endpoint_slots = False
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.verbosity = 1
    params.slot_prompt_similarity = 0.0
    params.cpuparams.n_threads = job.threads
    params.cpuparams_batch.n_threads = job.batch_threads
    params.sampling.temp = 0.2  # the model's card recommends it, and top_p 0.9
    params.sampling.top_p = 0.9
    return params


if __name__ == "__main__":
    main()
