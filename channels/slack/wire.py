"""What Slack sends and answers, as far as it is read here; fields that are not named are ignored."""

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all that comes as JSON from Slack."""


class File(Wire, frozen=True, kw_only=True):
    """A file in a message; one from another workspace may have nothing but its id."""

    id: str
    name: str | None = None
    mimetype: str | None = None
    subtype: str | None = None
    size: int | None = None
    url_private: str | None = None
    url_private_download: str | None = None


class Edited(Wire, frozen=True, kw_only=True):
    """When a person changed a message."""

    ts: str


class BotProfile(Wire, frozen=True, kw_only=True):
    """Who speaks, where it is an app."""

    name: str | None = None


class Metadata(Wire, frozen=True, kw_only=True):
    """What an app hung on a message, seen by no person."""

    event_type: str = ""
    event_payload: dict[str, object] = {}


class Message(Wire, frozen=True, kw_only=True):
    """A message, as it stands in events, in histories and under pressed buttons."""

    ts: str = ""
    subtype: str | None = None
    user: str | None = None
    bot_id: str | None = None
    username: str | None = None
    bot_profile: BotProfile | None = None
    text: str | None = None
    thread_ts: str | None = None
    parent_user_id: str | None = None
    files: tuple[File, ...] | None = None
    edited: Edited | None = None
    metadata: Metadata | None = None
    streaming_state: str | None = None


class Event(Message, frozen=True, kw_only=True):
    """A `message` or `app_mention` event."""

    type: str
    channel: str
    team: str | None = None
    event_ts: str | None = None
    deleted_ts: str | None = None
    message: Message | None = None
    previous_message: Message | None = None


class EventCallback(Wire, frozen=True, kw_only=True):
    """The envelope of an event."""

    event: Event
    team_id: str = ""


class Peek(Wire, frozen=True, kw_only=True):
    """The type of whatever it is."""

    type: str = ""


class AnyCallback(Wire, frozen=True, kw_only=True):
    """An event of a kind that is not known yet."""

    type: str = ""
    event: Peek | None = None
    challenge: str | None = None


class Person(Wire, frozen=True, kw_only=True):
    """Who pressed a button."""

    id: str
    username: str | None = None
    name: str | None = None
    team_id: str | None = None


class Place(Wire, frozen=True, kw_only=True):
    """Where a button was pressed."""

    id: str


class Container(Wire, frozen=True, kw_only=True):
    """What a pressed button stood in."""

    message_ts: str | None = None
    thread_ts: str | None = None


class Action(Wire, frozen=True, kw_only=True):
    """A press; a button that opens a link has no value."""

    action_id: str = ""
    action_ts: str = ""
    value: str | None = None


class Input(Wire, frozen=True, kw_only=True):
    """What was typed into a field of a form."""

    value: str | None = None


class FormState(Wire, frozen=True, kw_only=True):
    """The fields of a form, by block and action."""

    values: dict[str, dict[str, Input]] = {}


class View(Wire, frozen=True, kw_only=True):
    """A form."""

    id: str
    private_metadata: str = ""
    state: FormState = FormState()


class Interaction(Wire, frozen=True, kw_only=True):
    """A `block_actions` or a `view_submission` payload."""

    type: str
    user: Person
    channel: Place | None = None
    container: Container | None = None
    message: Message | None = None
    actions: tuple[Action, ...] = ()
    trigger_id: str = ""
    view: View | None = None


class SlashCommand(Wire, frozen=True, kw_only=True):
    """A slash command, used."""

    command: str
    user_id: str
    channel_id: str
    trigger_id: str
    text: str = ""
    user_name: str = ""
    team_id: str = ""
    response_url: str = ""


class AuthTest(Wire, frozen=True, kw_only=True):
    """Who we are."""

    user_id: str
    team_id: str
    bot_id: str = ""


class Posted(Wire, frozen=True, kw_only=True):
    """The answer to a post."""

    ts: str


class Done(Wire, frozen=True, kw_only=True):
    """An answer that holds nothing of use."""


class Cursor(Wire, frozen=True, kw_only=True):
    """Where a list goes on."""

    next_cursor: str = ""


class History(Wire, frozen=True, kw_only=True):
    """A page of messages."""

    messages: tuple[Message, ...] = ()
    has_more: bool = False
    response_metadata: Cursor | None = None


class Profile(Wire, frozen=True, kw_only=True):
    """What people see of somebody."""

    display_name: str | None = None
    real_name: str | None = None


class User(Wire, frozen=True, kw_only=True):
    """Somebody in this or another workspace."""

    id: str
    team_id: str | None = None
    name: str | None = None
    real_name: str | None = None
    is_admin: bool | None = None
    is_owner: bool | None = None
    profile: Profile = Profile()


class UserInfo(Wire, frozen=True, kw_only=True):
    """The answer of `users.info`."""

    user: User


class FileInfo(Wire, frozen=True, kw_only=True):
    """The answer of `files.info`."""

    file: File


class UploadTarget(Wire, frozen=True, kw_only=True):
    """Where the bytes of a file go."""

    upload_url: str
    file_id: str
