"""`model get` and `model list`."""

import asyncio

from bot.app import load_filled
from bot.models.demo import demo_model_path, has_model
from bot.models.download import get_model, progress_bar
from bot.models.probe import list_models
from bot.operations.terminal import say
from bot.settings import load_settings


def model_get(if_needed: bool) -> int:
    """`model get`: fetch the demo model."""
    settings = load_settings()
    if if_needed and (settings.effective_provider != "local" or settings.local.gguf is not None):
        return 0
    if has_model(settings.data_dir):
        if not if_needed:
            say(f"The model is there already: {demo_model_path(settings.data_dir)}")
        return 0
    with progress_bar() as progress:
        path = get_model(settings.data_dir, progress)
    say(f"The demo model is ready: {path}")
    return 0


def model_list() -> int:
    """`model list`: what the provider offers."""
    settings = load_filled()
    if settings.effective_provider == "local":
        say(str(settings.local.gguf or demo_model_path(settings.data_dir)))
        return 0
    for name in asyncio.run(list_models(settings.openai)):
        say(name)
    return 0
