"""Traces: a span for each turn and its steps, sent to a real collector, without a word of what was said."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bot.app import App
from bot.settings.tracing import TracingSettings
from tests.agent.rig import inbound
from tests.bots import settings_for
from tests.simulators.model import ModelServer

SECRET = "the cat is called Tiger"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Span]]]:
    """A collector on loopback, and what it has got."""
    got: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = ExportTraceServiceRequest.FromString(body)
            got.extend(
                span for one in request.resource_spans for scope in one.scope_spans for span in scope.spans
            )
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", got
    server.shutdown()
    thread.join()
    server.server_close()


def attributes_of(span: Span) -> dict[str, str | int]:
    """Its attributes, texts and numbers."""
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


async def test_a_turn_is_a_trace_of_its_model_calls_without_their_texts(
    tmp_path: Path, collector: tuple[str, list[Span]]
) -> None:
    endpoint, got = collector
    async with ModelServer() as model:
        settings = settings_for(
            tmp_path,
            model="test-model",
            openai={"base_url": model.url, "api_key": "sk-none"},
            tracing={"endpoint": endpoint},
        )
        async with App(settings) as app:
            await app.bus.publish(inbound(SECRET))
            await app.drain()

    spans = {span.name: span for span in got}
    turn, call = spans["invoke_agent Switchboard"], spans["chat test-model"]
    assert call.parent_span_id == turn.span_id
    assert call.trace_id == turn.trace_id
    assert attributes_of(turn)["gen_ai.conversation.id"] == "web:default:main"
    assert attributes_of(turn)["switchboard.reason"] == "done"
    assert attributes_of(call)["gen_ai.operation.name"] == "chat"
    assert int(attributes_of(call)["gen_ai.usage.output_tokens"]) > 0
    assert turn.start_time_unix_nano <= call.start_time_unix_nano <= call.end_time_unix_nano
    assert not any(SECRET.encode() in span.SerializeToString() for span in got)


async def test_a_collector_that_is_away_costs_no_turn(tmp_path: Path) -> None:
    async with ModelServer() as model:
        settings = settings_for(
            tmp_path,
            openai={"base_url": model.url, "api_key": "sk-none"},
            tracing={"endpoint": "http://127.0.0.1:9/v1/traces"},
        )
        async with App(settings) as app:
            await app.bus.publish(inbound("hello"))
            await app.drain()
            lines = await app.store.history.recent(inbound("x").session)

    assert lines[-1].reason == "done"


def test_without_an_address_nothing_is_traced() -> None:
    assert TracingSettings().endpoint is None
