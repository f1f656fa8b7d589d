"""Section: which secrets and personal data are hidden, and where."""

from typing import Literal, TypeAlias

from pydantic import Field, SecretStr

from bot.settings.base import Section

RedactionAction: TypeAlias = Literal["off", "log", "mask", "hash"]
NamesAction: TypeAlias = Literal["off", "mask"]

EMAIL = "E-mail addresses."
PHONE = "Phone numbers."
CARD = "Numbers of payment and bank cards."
IBAN = "Bank accounts."
NATIONAL_ID = "Numbers that states give to persons."
BIRTH_DATE = "Dates of birth."


class PlaceSettings(Section):
    """What is done in one place: nothing, a line in the log, a mask, or a mask with a keyed hash.

    The bot's own secrets, those of these settings, are masked in every place; that can't be switched off.
    """

    secrets: RedactionAction = Field(
        default="mask", description="Keys, tokens, passwords: off, log, mask, hash."
    )
    email: RedactionAction = Field(default="off", description=EMAIL)
    phone: RedactionAction = Field(default="off", description=PHONE)
    card: RedactionAction = Field(default="off", description=CARD)
    iban: RedactionAction = Field(default="off", description=IBAN)
    national_id: RedactionAction = Field(default="off", description=NATIONAL_ID)
    ip: RedactionAction = Field(default="off", description="Addresses of machines.")
    birth_date: RedactionAction = Field(default="off", description=BIRTH_DATE)


class AuditPlace(PlaceSettings):
    """What the audit log keeps: hashes of what has to be told apart there."""

    email: RedactionAction = Field(default="hash", description=EMAIL)
    phone: RedactionAction = Field(default="hash", description=PHONE)
    iban: RedactionAction = Field(default="hash", description=IBAN)
    national_id: RedactionAction = Field(default="hash", description=NATIONAL_ID)
    card: RedactionAction = Field(default="mask", description=CARD)
    birth_date: RedactionAction = Field(default="mask", description=BIRTH_DATE)


class OutboundPlace(PlaceSettings):
    """What leaves the bot: answers, what tools send, what is asked and shown in any channel.

    Who asks for a phone number wants to read it; nobody has to read a whole card number there, or the number
    that a state gave to a person.
    """

    card: RedactionAction = Field(default="mask", description=CARD)
    national_id: RedactionAction = Field(default="mask", description=NATIONAL_ID)


class LogsPlace(PlaceSettings):
    """What is logged: messages are not, so that there is little else to hide than keys."""


class MemoryPlace(PlaceSettings):
    """What is remembered for long."""

    card: RedactionAction = Field(default="mask", description=CARD)
    national_id: RedactionAction = Field(default="mask", description=NATIONAL_ID)


class ModelPlace(PlaceSettings):
    """What models get to read. Only the bot's own secrets are masked: models work with the rest."""

    secrets: RedactionAction = Field(
        default="off", description="Keys, tokens, passwords: off, log, mask, hash."
    )


class RedactionSettings(Section):
    """Redaction, by place."""

    audit: AuditPlace = AuditPlace()
    outbound: OutboundPlace = OutboundPlace()
    logs: LogsPlace = LogsPlace()
    memory: MemoryPlace = MemoryPlace()
    model_input: ModelPlace = ModelPlace()
    names: NamesAction = Field(
        default="off",
        description="Names and addresses in logs and memory: off, mask; mask needs the extra `pii`.",
    )
    hash_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Key of the hashes; default: a new one at every start, so that they tell nothing later.",
    )
