"""A process of its own that finds the article on a page; hostile pages may break it and nothing else.

It is started by file, not as a module, and imports nothing of the bot. It gets the URL, a line, and then the
page on standard input, and gives a JSON object with text, title and date on standard output.
"""

import json
import sys

import trafilatura

MAX_TEXT = 2_000_000  # characters
MAX_MEMORY = 2 * 1024**3  # bytes of address space


def main() -> None:
    """Read, find, write."""
    _bound()
    url, _, page = sys.stdin.buffer.read().decode().partition("\n")
    tree = trafilatura.load_html(page)
    about = trafilatura.extract_metadata(tree) if tree is not None else None
    text = trafilatura.extract(
        tree,
        url=url,
        output_format="markdown",
        include_links=True,
        include_formatting=True,
        include_comments=False,
    )
    found = {
        "text": (text or "")[:MAX_TEXT],
        "title": (about and about.title) or "",
        "date": (about and about.date) or "",
    }
    sys.stdout.write(json.dumps(found))


def _bound() -> None:
    if sys.platform != "win32":
        import resource  # not there on Windows

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
