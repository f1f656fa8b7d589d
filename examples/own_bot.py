"""A bot of one's own: a tool for the model, a command for people, and a hook on what is sent.

python examples/own_bot.py
"""

from random import randint

from bot import Bot, Context
from bot.hooks import Change, MessageSending

bot = Bot(name="Dicey")


@bot.tool
def roll(sides: int = 6) -> str:
    """Roll a die.

    Args:
        sides: How many sides it has.
    """
    return str(randint(1, max(1, sides)))


@bot.command
async def dice(context: Context, sides: int = 6) -> str:
    """Roll a die."""
    return f"{context.message.sender.name or 'You'} rolled {randint(1, max(1, sides))}."


@bot.hook("message_sending")
async def sign(event: MessageSending) -> Change:
    return Change(text=f"{event.text}\n\n— Dicey")


if __name__ == "__main__":
    bot.run()
