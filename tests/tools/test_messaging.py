"""Tools that speak: where a message goes, who may send it there, and what goes along as a file."""

import os
from pathlib import Path

import pytest

from bot.messages import Address, Attachment, Role, Sender, SessionKey
from bot.tools.base import SUBAGENT, ToolContext, ToolFault
from bot.tools.messaging import ADMINS_ONLY, MAX_FILE, MAX_TEXT, SHOWN, MessagingTools
from bot.tools.workspace import Jail
from tests.agent.rig import Rig, inbound, rig

HERE = Address(channel="web", chat="main")


def context(*, is_admin: bool = True, session: str = "", thread: str | None = None) -> ToolContext:
    address = Address(channel="web", chat="main", thread=thread)
    role = Role.OWNER if is_admin else Role.MEMBER
    message = inbound(
        "send it",
        address=address,
        session=SessionKey(session) if session else address.session(),
        sender=Sender(id="ann", name="Ann", role=role),
    )
    return ToolContext(message=message, is_admin=is_admin)


def tools_of(bot: Rig) -> MessagingTools:
    workspace = bot.home / "workspace"
    workspace.mkdir(exist_ok=True)
    return MessagingTools(bot.loop.speaker, bot.store.chats, Jail(workspace))


async def know(bot: Rig, *chats: str) -> None:
    """Chats that have written to the bot, the last one lately."""
    for chat in chats:
        await bot.store.chats.note_chat(Address(channel="web", chat=chat))


async def test_a_message_is_said_here_and_stays_in_the_history(home: Path) -> None:
    async with rig(home) as bot:
        output = await tools_of(bot).send_message("Half way there.", context())
        (end,) = await bot.ended(1)

        assert (end.address, end.text, end.reason) == (HERE, "Half way there.", "done")
        assert output.text == "Sent to web:default:main."
        assert output.has_spoken
        assert await bot.texts() == [("assistant", "Half way there.")]
        assert (await bot.history())[0].in_context


async def test_a_thread_is_answered_in_the_thread(home: Path) -> None:
    async with rig(home) as bot:
        output = await tools_of(bot).send_message("Here.", context(thread="7"))
        (end,) = await bot.ended(1)

    assert end.address.thread == "7"
    assert output.text == "Sent to web:default:main:7."


@pytest.mark.parametrize("session", ["web:default:main", "web:default:main:renamed"])
async def test_what_a_subagent_says_belongs_to_the_talk_that_people_see(home: Path, session: str) -> None:
    async with rig(home) as bot:
        await tools_of(bot).send_message("Found it.", context(session=f"{session}{SUBAGENT}abc"))
        (end,) = await bot.ended(1)

    assert (end.session, end.address) == (session, HERE)


async def test_an_admin_writes_to_another_chat_and_the_answer_here_is_still_due(home: Path) -> None:
    async with rig(home) as bot:
        await know(bot, "other")
        output = await tools_of(bot).send_message("Dinner!", context(), to=" web:default:other ")
        (end,) = await bot.ended(1)

        assert end.address == Address(channel="web", chat="other")
        assert end.session == "web:default:other"
        assert not output.has_spoken
        assert await bot.texts("other") == [("assistant", "Dinner!")]
        assert await bot.texts("main") == []


async def test_whoever_is_no_admin_writes_to_their_own_chat_only(home: Path) -> None:
    async with rig(home) as bot:
        await know(bot, "other")
        tools, member = tools_of(bot), context(is_admin=False)
        with pytest.raises(ToolFault, match=ADMINS_ONLY):
            await tools.send_message("Boo", member, to="web:default:other")
        with pytest.raises(ToolFault, match=ADMINS_ONLY):
            await tools.send_message("Boo", member, to="web:default:nowhere")
        output = await tools.send_message("Boo", member, to="web:default:main")
        ends = await bot.ended(1)

    assert output.has_spoken
    assert [end.address for end in ends] == [HERE]


async def test_a_chat_that_is_not_there_is_named_with_those_that_are_near(home: Path) -> None:
    async with rig(home) as bot:
        tools = tools_of(bot)
        with pytest.raises(ToolFault, match=r"no chat 'web:default:x'; there are none\."):
            await tools.send_message("Boo", context(), to="web:default:x")
        await know(bot, *(f"kitchen{number}" for number in range(SHOWN + 5)), "family")
        with pytest.raises(ToolFault, match=r"there are web:default:family"):
            await tools.send_message("Boo", context(), to="web:default:familly")
        with pytest.raises(ToolFault) as far:
            await tools.send_message("Boo", context(), to="?" * 1_000)

        assert str(far.value).count("web:default:") == SHOWN
        assert "?" * 101 not in str(far.value)
        assert bot.ends == []


@pytest.mark.parametrize("text", ["", "  \n", "x" * (MAX_TEXT + 1)])
async def test_what_is_empty_or_endless_is_not_sent(home: Path, text: str) -> None:
    async with rig(home) as bot:
        with pytest.raises(ToolFault, match="1 to 20,000 characters"):
            await tools_of(bot).send_message(text, context())

        assert await bot.texts() == []


async def test_the_longest_message_is_sent(home: Path) -> None:
    async with rig(home) as bot:
        await tools_of(bot).send_message("x" * MAX_TEXT, context())
        (end,) = await bot.ended(1)

    assert len(end.text) == MAX_TEXT


async def test_what_could_not_be_kept_is_not_said_and_the_model_is_told(home: Path) -> None:
    async with rig(home) as bot:
        tools = tools_of(bot)
        await bot.store.__aexit__(None, None, None)
        with pytest.raises(ToolFault, match="It could not be sent: "):
            await tools.send_message("Hello", context())

        assert bot.sent == []


# --- files


@pytest.fixture
def workspace(home: Path) -> Path:
    path = home / "workspace"
    path.mkdir()
    return path


@pytest.fixture
async def files(home: Path, workspace: Path) -> MessagingTools:
    """The tools where nothing is said: files go out with the answer."""
    async with rig(home) as bot:
        return MessagingTools(bot.loop.speaker, bot.store.chats, Jail(workspace))


async def test_a_file_goes_out_with_the_answer(files: MessagingTools, workspace: Path) -> None:
    (workspace / "plots").mkdir()
    (workspace / "plots" / "a.png").write_bytes(b"png")

    output = await files.send_file("plots/a.png")

    path = str(workspace / "plots" / "a.png")
    picture = Attachment(kind="image", name="a.png", mime="image/png", size=3, path=path)
    assert output.attachments == (picture,)
    assert output.text == "a.png goes out with your answer."


@pytest.mark.parametrize(
    ("name", "shown", "mime", "kind"),
    [
        ("report.pdf", "report.pdf", "application/pdf", "file"),
        ("  ", "data", "application/octet-stream", "file"),
        ("../../etc/passwd", ".._.._etc_passwd", "application/octet-stream", "file"),
        ("x" * 300, "x" * 200, "application/octet-stream", "file"),
        ("evil\u202egnp.exe", "evilgnp.exe", "application/x-msdos-program", "file"),
        ("a\r\nb: c.gif", "ab: c.gif", "image/gif", "image"),
    ],
)
async def test_a_file_has_the_name_and_kind_that_people_see(
    files: MessagingTools, workspace: Path, name: str, shown: str, mime: str, kind: str
) -> None:
    (workspace / "data").write_bytes(b"12345")

    (attachment,) = (await files.send_file("data", name)).attachments

    assert (attachment.name, attachment.kind) == (shown, kind)
    assert attachment.mime == mime or shown.endswith(".exe")  # what an .exe is differs between systems


async def test_only_files_of_the_workspace_of_some_size_are_sent(
    files: MessagingTools, workspace: Path, home: Path
) -> None:
    (home / "secret.txt").write_text("secret")
    (workspace / "link").symlink_to(home / "secret.txt")
    (workspace / "folder").mkdir()
    with (workspace / "huge").open("wb") as huge:
        huge.truncate(MAX_FILE + 1)
    with (workspace / "largest").open("wb") as largest:
        largest.truncate(MAX_FILE)
    os.mkfifo(workspace / "pipe")

    for path, words in {
        "../secret.txt": "workspace",
        "link": "link",
        "folder": "is a directory: name a file",
        "huge": "has 50 MB, and at most 50 are sent",
        "pipe": "special",
        "nothing": "nothing",
    }.items():
        with pytest.raises(ToolFault, match=words):
            await files.send_file(path)
    assert (await files.send_file("largest")).attachments[0].size == MAX_FILE


async def test_a_message_needs_a_permission_and_a_file_does_not(files: MessagingTools) -> None:
    assert {tool.name: tool.risk for tool in files.tools()} == {"send_message": "send", "send_file": "read"}
    assert {tool.group for tool in files.tools()} == {"messaging"}
