"""What hooks of other systems are called here."""

import msgspec


class Foreign(msgspec.Struct, frozen=True):
    """A hook of another system.

    Attributes:
        ours: The point that takes its place; empty where there is none.
        how: What else there is to know.
    """

    system: str
    theirs: str
    ours: str
    how: str = ""


OPENCLAW = "OpenClaw"
EVENTS = "OpenClaw, internal events"
TIDGI = "TidGi-Desktop"

FOREIGN: tuple[Foreign, ...] = (
    Foreign(EVENTS, "agent:bootstrap", "bootstrap", "`AddFile`, `RemoveFile`"),
    Foreign(EVENTS, "command:new", "command", "look at `command`"),
    Foreign(EVENTS, "command:reset", "command", "look at `command`"),
    Foreign(EVENTS, "command:stop", "agent_end", "`/stop` waits for no hook; the turn ends as `killed`"),
    Foreign(EVENTS, "session:start", "session_start"),
    Foreign(EVENTS, "session:end", "session_end"),
    Foreign(EVENTS, "gateway:startup", "gateway_start"),
    Foreign(EVENTS, "gateway:shutdown", "gateway_stop"),
    Foreign(EVENTS, "message:received", "message_received"),
    Foreign(EVENTS, "message:transcribed", "prompt", "transcripts stand in the messages"),
    Foreign(EVENTS, "message:preprocessed", "prompt"),
    Foreign(EVENTS, "message:sent", "message_sent"),
    Foreign(EVENTS, "messages[]", "message_received", "return `Reply(text=…)`; at `command`, too"),
    Foreign(OPENCLAW, "before_agent_start", "before_agent_start", "`Inject`, `Override`"),
    Foreign(OPENCLAW, "agent_end", "agent_end"),
    Foreign(OPENCLAW, "before_compaction", "before_compaction"),
    Foreign(OPENCLAW, "after_compaction", "after_compaction"),
    Foreign(
        OPENCLAW,
        "before_tool_call",
        "before_tool_call",
        "`params`: `ChangeArguments`; `block`: `Deny`; `requireApproval`: `RequireApproval`",
    ),
    Foreign(OPENCLAW, "after_tool_call", "after_tool_call"),
    Foreign(OPENCLAW, "tool_result_persist", "tool_result_persist"),
    Foreign(OPENCLAW, "message_received", "message_received"),
    Foreign(OPENCLAW, "message_sending", "message_sending", "`cancel`: `Drop`"),
    Foreign(OPENCLAW, "message_sent", "message_sent"),
    Foreign(OPENCLAW, "session_start", "session_start"),
    Foreign(OPENCLAW, "session_end", "session_end"),
    Foreign(OPENCLAW, "gateway_start", "gateway_start"),
    Foreign(OPENCLAW, "gateway_stop", "gateway_stop"),
    Foreign(OPENCLAW, "before_model_resolve", "before_model_call", "`ChangeRequest` with another `model`"),
    Foreign(OPENCLAW, "agent_turn_prepare", "before_agent_start"),
    Foreign(OPENCLAW, "before_prompt_build", "before_agent_start"),
    Foreign(OPENCLAW, "before_agent_reply", "message_received", "`Reply`"),
    Foreign(OPENCLAW, "before_agent_finalize", "response_complete", "revise: `NextRound`; finalize: `None`"),
    Foreign(OPENCLAW, "llm_input", "before_model_call"),
    Foreign(OPENCLAW, "llm_output", "response_complete"),
    Foreign(OPENCLAW, "model_call_started", "before_model_call"),
    Foreign(OPENCLAW, "model_call_ended", "response_complete", "once a round, not once a call"),
    Foreign(OPENCLAW, "inbound_claim", "message_received", "`Reply`"),
    Foreign(OPENCLAW, "before_dispatch", "message_received"),
    Foreign(OPENCLAW, "reply_dispatch", "message_sending"),
    Foreign(
        OPENCLAW, "before_message_write", "message_sending", "`tool_result_persist` for results of tools"
    ),
    Foreign(
        OPENCLAW, "subagent_*", "before_tool_call", "sub-agents are begun by a tool; `call.depth` tells them"
    ),
    Foreign(OPENCLAW, "cron_changed", "", "not there: look at the calls of the tool in `after_tool_call`"),
    Foreign(OPENCLAW, "before_install", "", "not there: nothing is installed while the bot runs"),
    Foreign(OPENCLAW, "next-turn injection", "before_agent_start", "`Inject`; each turn comes here once"),
    Foreign(TIDGI, "processPrompts", "prompt"),
    Foreign(TIDGI, "finalizePrompts", "before_model_call"),
    Foreign(TIDGI, "userMessageReceived", "message_received"),
    Foreign(TIDGI, "agentStatusChanged", "status_changed"),
    Foreign(TIDGI, "responseUpdate", "response_update"),
    Foreign(TIDGI, "responseComplete", "response_complete", "`NextRound` for another round"),
    Foreign(TIDGI, "postProcess", "message_sending"),
    Foreign(TIDGI, "toolExecuted", "after_tool_call"),
)
