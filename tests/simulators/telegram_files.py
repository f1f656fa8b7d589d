"""The files of the Telegram simulator.

Rules (Bot API, "Sending files", sendPhoto, getFile): photos have 10 MB, other files 50 MB on their way up
(413) and 20 MB on their way down; a photo comes in several sizes and without a name, a voice note without
one. From developers' reports: a photo that is none is IMAGE_PROCESS_FAILED.
"""

from typing import Any

from aiohttp import web

from tests.simulators.platform import File, UploadKind
from tests.simulators.telegram_text import Refused

MB = 2**20
FIELDS: dict[str, UploadKind] = {
    "photo": "image",
    "voice": "voice",
    "audio": "audio",
    "video": "video",
    "document": "file",
}
IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"RIFF")  # how JPEG, PNG and WebP begin


def take_file(way: str, sent: object) -> File:
    """Check a file that the bot sends as a photo, a voice note, …"""
    if not isinstance(sent, web.FileField):
        raise Refused(f"there is no {way} in the request")
    data = sent.file.read()
    if len(data) > (10 if way == "photo" else 50) * MB:
        raise Refused("Request Entity Too Large", status=413)
    if way == "photo" and not data.startswith(IMAGES):
        raise Refused("IMAGE_PROCESS_FAILED")
    return File(name=sent.filename, data=data, mime=sent.content_type, kind=FIELDS[way])


class Shelf:
    """Keeps files under their ids."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}

    def put(self, file: File) -> dict[str, Any]:
        """Keep a file; gives what a message says of it."""
        file_id = f"file{len(self._files)}"
        self._files[file_id] = file
        found: dict[str, Any] = {"file_id": file_id, "file_unique_id": file_id, "file_size": len(file.data)}
        if file.kind == "image":
            small = {**found, "file_id": f"{file_id}s", "file_size": 1, "width": 90, "height": 90}
            self._files[f"{file_id}s"] = file
            return {"photo": [small, {**found, "width": 800, "height": 800}]}
        found["mime_type"] = file.mime
        if file.kind == "voice":
            return {"voice": {**found, "duration": 1}}
        found["file_name"] = file.name
        if file.kind == "audio":
            return {"audio": {**found, "duration": 1}}
        if file.kind == "video":
            return {"video": {**found, "duration": 1, "width": 640, "height": 360}}
        return {"document": found}

    def find(self, file_id: str) -> dict[str, Any]:
        """The answer of getFile."""
        file = self._files.get(file_id)
        if file is None:
            raise Refused("wrong file_id or the file is temporarily unavailable")
        if len(file.data) > 20 * MB:
            raise Refused("file is too big")
        return {"file_id": file_id, "file_unique_id": file_id, "file_path": f"documents/{file_id}.bin"}

    def data(self, file_id: str) -> bytes:
        """What is behind a link."""
        if file_id not in self._files:
            raise Refused("Not Found", status=404)
        return self._files[file_id].data
