"""Markdown of people and of models as HTML that can do nothing.

HTML in it stays text, links lead to the web or to mail only, and an image is a link: who reads a message
asks no server for anything.
"""

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

MAX_RICH: Final = 20_000  # characters; what is longer is shown as plain text
SAFE: Final = ("http://", "https://", "mailto:")
LINK: Final = {"target": "_blank", "rel": "noopener noreferrer nofollow"}


class Renderer(RendererHTML):
    """The usual one, but for links and images."""

    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """A link opens beside the page, and tells nobody where it was."""
        attributes = tokens[index].attrs
        if not _is_safe(str(attributes.get("href", ""))):  # one that leads nowhere
            attributes.pop("href", None)
        attributes.update(LINK)
        return self.renderToken(tokens, index, options, env)

    def image(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """An image is not loaded; who wants to see it follows the link."""
        url, label = str(tokens[index].attrs.get("src", "")), tokens[index].content or "image"
        attributes = {"class": "picture", **({"href": url} if _is_safe(url) else {}), **LINK}
        written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        return f"<a{written}>{escape(label)}</a>"


def _is_safe(url: str) -> bool:
    return url.strip().lower().startswith(SAFE)


def _make() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=Renderer)
    made.enable(["table", "strikethrough"])
    made.validateLink = _is_safe  # type: ignore[method-assign]  # how the library wants it done
    return made


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return _make()


@lru_cache(maxsize=1_000)
def to_html(text: str) -> str:
    """Render Markdown; what is very long stays plain text."""
    return _render(text)


@lru_cache(maxsize=50)
def growing_to_html(text: str) -> str:
    """Render an answer as far as it is written; kept no longer than all pages that look have shown it."""
    return _render(text)


def _render(text: str) -> str:
    if len(text) > MAX_RICH:
        return f'<p class="plain">{escape(text)}</p>'
    html: str = _markdown().render(text)
    return html
