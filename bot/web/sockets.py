"""The WebSocket protocol of the server: uvicorn's, but for a shutdown that meets a closing client."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State


class SocketProtocol(WebSocketsSansIOProtocol):
    """Closes at shutdown whatever its client is doing; uvicorn's own raises, and leaves the others open."""

    def shutdown(self) -> None:
        """Close the connection, with a close frame if the client has not sent its own."""
        if self.handshake_complete and not self.close_sent and self.conn.state is not State.OPEN:
            self.stop_keepalive()
            self.transport.close()
        else:
            super().shutdown()
