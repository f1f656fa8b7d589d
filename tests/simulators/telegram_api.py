"""The methods of the Bot API that the Telegram simulator serves.

Rules, each from the Bot API's page unless said otherwise: 401 for a token that nobody has, 404 for one that
is none and for methods that are none; names of methods are case-insensitive. A message a second in a chat,
20 a minute in a group, 30 a second in all (Bots FAQ): 429 with `parameters.retry_after` in whole seconds;
edits, drafts and files count like messages. `callback_data` has 1-64 bytes. A change that changes nothing is
refused ("message is not modified"), as is one of another's message. Drafts are for private chats
(TEXTDRAFT_PEER_INVALID). Reactions come from a fixed list.
"""

import json
import math
from collections.abc import Callable
from typing import Any

from aiohttp import web
from telegram.constants import ReactionEmoji

from tests.simulators.platform import Budget
from tests.simulators.telegram_files import Shelf, take_file
from tests.simulators.telegram_push import Push
from tests.simulators.telegram_text import Refused, check_caption, check_draft, check_text
from tests.simulators.telegram_world import BOT_ID, Chat, Post, World

Arguments = dict[str, Any]  # as they come off the wire
IN_JSON = {
    "allowed_updates",
    "commands",
    "entities",
    "link_preview_options",
    "reaction",
    "reply_markup",
    "reply_parameters",
}
SAME = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
TOO_OLD = "query is too old and response timeout expired or query ID is invalid"
OWN_CALLS = {"getme", "getupdates", "setmycommands", "deletewebhook", "setwebhook", "getwebhookinfo"}


class Api:
    """Serves methods on a world.

    Attributes:
        typing: How often the bot has shown that it writes, by the test's name of the chat.
        presses: Buttons that were pressed, by the id of the query, and whether the bot has answered.
        shelf: All files.
        menu: The commands that the bot has set.
    """

    def __init__(self, world: World, push: Push, *, token: str, has_rates: bool) -> None:
        self._world = world
        self._push = push
        self._token = token
        self.has_rates = has_rates
        self._chat_rate = Budget(1, 1.0)
        self._group_rate = Budget(20, 60.0)
        self._rate = Budget(30, 1.0)
        self.shelf = Shelf()
        self.typing: dict[str, int] = {}
        self.presses: dict[str, bool] = {}
        self.menu: list[dict[str, str]] = []
        self.menus_set = 0
        methods: list[Callable[[Arguments], object]] = [
            self.getMe,
            self.setWebhook,
            self.deleteWebhook,
            self.getWebhookInfo,
            self.sendMessage,
            self.editMessageText,
            self.editMessageReplyMarkup,
            self.deleteMessage,
            self.sendMessageDraft,
            self.sendPhoto,
            self.sendVoice,
            self.sendAudio,
            self.sendVideo,
            self.sendDocument,
            self.getFile,
            self.sendChatAction,
            self.answerCallbackQuery,
            self.setMessageReaction,
            self.setMyCommands,
            self.getMyCommands,
            self.getChat,
        ]
        self._methods = {method.__name__.lower(): method for method in methods}

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer one call."""
        name = request.match_info["method"].lower()
        try:
            self._check_token(request.match_info["token"])
            arguments = await read_arguments(request)
            if name == "getupdates":
                return await self._poll(request, arguments)
            if name not in self._methods:
                raise Refused("Not Found", status=404)
            return web.json_response({"ok": True, "result": self._methods[name](arguments)})
        except Refused as refused:
            return refuse(refused)

    def _check_token(self, token: str) -> None:
        if not token.partition(":")[0].isdigit() or ":" not in token:
            raise Refused("Not Found", status=404)
        if token != self._token:
            raise Refused("Unauthorized", status=401)

    async def _poll(self, request: web.Request, arguments: Arguments) -> web.StreamResponse:
        offset = arguments.get("offset")
        found = await self._push.poll(
            offset=int(offset) if offset is not None else None,
            limit=int(arguments.get("limit", 100)),
            timeout=float(arguments.get("timeout", 0)),
        )
        if found is None and request.transport is not None:
            request.transport.abort()
        return web.json_response({"ok": True, "result": found or []})

    def _spend(self, chat: Chat) -> None:
        """Count a call that shows something.

        Raises:
            Refused: It is one too many.
        """
        if not self.has_rates:
            return
        wait = self._rate.spend("") or self._chat_rate.spend(str(chat.id))
        if not wait and not chat.is_direct:
            wait = self._group_rate.spend(str(chat.id))
        if wait:
            seconds = max(1, math.ceil(wait))
            raise Refused(f"Too Many Requests: retry after {seconds}", status=429, retry_after=seconds)

    # --- the bot itself

    def getMe(self, arguments: Arguments) -> object:
        return {
            **self._world.me,
            "can_join_groups": True,
            "can_read_all_group_messages": True,
            "supports_inline_queries": False,
        }

    def setWebhook(self, arguments: Arguments) -> object:
        url = str(arguments.get("url", ""))
        if url and not url.startswith(("https://", "http://127.0.0.1")):
            raise Refused("bad webhook: An HTTPS URL must be provided for webhook")
        self._push.set_hook({name: value for name, value in arguments.items() if value})
        return True

    def deleteWebhook(self, arguments: Arguments) -> object:
        self._push.set_hook({})
        return True

    def getWebhookInfo(self, arguments: Arguments) -> object:
        return self._push.info()

    def setMyCommands(self, arguments: Arguments) -> object:
        if len(arguments["commands"]) > 100:
            raise Refused("BOT_COMMANDS_TOO_MUCH")
        for command in arguments["commands"]:
            name = command["command"]
            if not 1 <= len(name) <= 32 or not name.replace("_", "a").isalnum() or name != name.lower():
                raise Refused("BOT_COMMAND_INVALID")
            if not 1 <= len(command["description"]) <= 256:
                raise Refused("BOT_COMMAND_DESCRIPTION_INVALID")
        self.menu = arguments["commands"]
        self.menus_set += 1
        return True

    def getMyCommands(self, arguments: Arguments) -> object:
        return self.menu

    def getChat(self, arguments: Arguments) -> object:
        more = {"accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": {}}
        return {**self._world.known(arguments.get("chat_id")).as_json(), **more}

    # --- messages

    def sendMessage(self, arguments: Arguments) -> object:
        text, entities = check_text(str(arguments.get("text", "")), arguments.get("entities", []))
        return self._post(arguments, text=text, entities=entities)

    def editMessageText(self, arguments: Arguments) -> object:
        text, entities = check_text(str(arguments.get("text", "")), arguments.get("entities", []))
        chat = self._world.known(arguments.get("chat_id"))
        post = self._own(chat, arguments)
        keyboard = _keyboard(arguments)
        self._spend(chat)
        if (text, entities, keyboard) == (post.text, post.entities, post.keyboard):
            raise Refused(SAME)
        return self._change(post, text=text, entities=entities, keyboard=keyboard)

    def editMessageReplyMarkup(self, arguments: Arguments) -> object:
        chat = self._world.known(arguments.get("chat_id"))
        post, keyboard = self._own(chat, arguments), _keyboard(arguments)
        if keyboard == post.keyboard:
            raise Refused(SAME)
        return self._change(post, text=post.text, entities=post.entities, keyboard=keyboard)

    def deleteMessage(self, arguments: Arguments) -> object:
        chat = self._world.known(arguments.get("chat_id"))
        self._world.remove(self._world.find(chat, arguments.get("message_id"), "message to delete not found"))
        return True

    def sendMessageDraft(self, arguments: Arguments) -> object:
        text = check_draft(str(arguments.get("text", "")), arguments.get("entities", []))
        chat = self._world.known(arguments.get("chat_id"))
        if not chat.is_direct:
            raise Refused("TEXTDRAFT_PEER_INVALID")
        if int(arguments.get("draft_id", 0)) == 0:
            raise Refused("TEXTDRAFT_ID_INVALID")
        topic = _topic(chat, arguments)
        self._spend(chat)
        self._world.draft(chat, int(arguments["draft_id"]), text, topic)
        return True

    def sendChatAction(self, arguments: Arguments) -> object:
        chat = self._world.known(arguments.get("chat_id"))
        self.typing[chat.name] = self.typing.get(chat.name, 0) + 1
        return True

    def answerCallbackQuery(self, arguments: Arguments) -> object:
        query = str(arguments.get("callback_query_id"))
        if query not in self.presses:
            raise Refused(TOO_OLD)
        self.presses[query] = True
        return True

    def setMessageReaction(self, arguments: Arguments) -> object:
        chat = self._world.known(arguments.get("chat_id"))
        post = self._world.find(chat, arguments.get("message_id"), "message to react not found")
        reactions = [one.get("emoji") for one in arguments.get("reaction", [])]
        if len(reactions) > 1 or any(one not in set(ReactionEmoji) for one in reactions):
            raise Refused("REACTION_INVALID")
        post.reaction = reactions[0] if reactions else None
        self._world.show(post)
        return True

    def _post(self, arguments: Arguments, **more: Any) -> object:  # as the fields of a post are
        chat = self._world.known(arguments.get("chat_id"))
        topic, keyboard = _topic(chat, arguments), _keyboard(arguments)
        reply = self._reply(chat, arguments.get("reply_parameters"))
        self._spend(chat)
        self._world.end_drafts(chat, topic)
        post = self._world.new(chat, self._world.me, topic=topic, keyboard=keyboard, reply_to=reply, **more)
        return self._world.as_json(post)

    def _change(self, post: Post, **more: object) -> object:
        for name, value in more.items():
            setattr(post, name, value)
        post.edits += 1
        self._world.show(post)
        return {**self._world.as_json(post), "edit_date": post.at}

    def _own(self, chat: Chat, arguments: Arguments) -> Post:
        post = self._world.find(chat, arguments.get("message_id"), "message to edit not found")
        if post.user["id"] != BOT_ID:
            raise Refused("message can't be edited")
        return post

    def _reply(self, chat: Chat, reply: dict[str, Any] | None) -> int | None:
        if reply is None:
            return None
        if f"{chat.id}:{reply['message_id']}" in self._world.posts:
            return int(reply["message_id"])
        if not reply.get("allow_sending_without_reply"):
            raise Refused("message to be replied not found")
        return None

    # --- files

    def sendPhoto(self, arguments: Arguments) -> object:
        return self._send_file("photo", arguments)

    def sendVoice(self, arguments: Arguments) -> object:
        return self._send_file("voice", arguments)

    def sendAudio(self, arguments: Arguments) -> object:
        return self._send_file("audio", arguments)

    def sendVideo(self, arguments: Arguments) -> object:
        return self._send_file("video", arguments)

    def sendDocument(self, arguments: Arguments) -> object:
        return self._send_file("document", arguments)

    def _send_file(self, way: str, arguments: Arguments) -> object:
        file = take_file(way, arguments.get(way))
        caption = check_caption(str(arguments.get("caption", "")))
        return self._post(arguments, text=caption, file=file, media=self.shelf.put(file))

    def getFile(self, arguments: Arguments) -> object:
        return self.shelf.find(str(arguments.get("file_id")))

    async def give_file(self, request: web.Request) -> web.StreamResponse:
        """Serve the link that getFile has told."""
        try:
            self._check_token(request.match_info["token"])
            data = self.shelf.data(request.match_info["file"])
        except Refused as refused:
            return refuse(refused)
        return web.Response(body=data, content_type="application/octet-stream")


def refuse(refused: Refused) -> web.Response:
    """How the Bot API says no."""
    text = str(refused)
    prefixes = {400: "Bad Request: ", 403: "Forbidden: ", 409: "Conflict: "}
    body: dict[str, object] = {
        "ok": False,
        "error_code": refused.status,
        "description": prefixes.get(refused.status, "") + text,
    }
    if refused.parameters:
        body["parameters"] = refused.parameters
    return web.json_response(body, status=refused.status)


async def read_arguments(request: web.Request) -> Arguments:
    """The arguments of a call: a form, of which some fields are JSON."""
    form = await request.post()
    return {
        name: json.loads(value) if name in IN_JSON and isinstance(value, str) else value
        for name, value in form.items()
    }


def _topic(chat: Chat, arguments: Arguments) -> int | None:
    if arguments.get("message_thread_id") is None:
        return None
    topic = int(arguments["message_thread_id"])
    if topic not in chat.topics:
        raise Refused("message thread not found")
    return topic


def _keyboard(arguments: Arguments) -> list[list[dict[str, Any]]]:
    markup = arguments.get("reply_markup") or {}
    rows: list[list[dict[str, Any]]] = markup.get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        data = button.get("callback_data")
        if not button.get("text"):
            raise Refused("can't parse inline keyboard button: Text buttons are unallowed")
        if data is not None and not 1 <= len(data.encode()) <= 64:
            raise Refused("BUTTON_DATA_INVALID")
        if data is None and "url" not in button:
            raise Refused("can't parse inline keyboard button: Text buttons are unallowed")
    return rows
