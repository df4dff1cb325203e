"""What hyper-h2 makes of HTTP/2 frames: on each line a role, and frames in hexadecimal with spaces between them; a line of JSON
back, with the events of each frame up to the first error."""

import json
import sys

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

HEADS = (h2.events.RequestReceived, h2.events.ResponseReceived, h2.events.InformationalResponseReceived)
POST = [(":method", "POST"), (":scheme", "https"), (":authority", "a.test"), (":path", "/")]


def text(data):
    return (data if isinstance(data, bytes) else data.encode()).decode("latin-1")


def fields(event):
    return [text(name) + "=" + text(value) for name, value in event.headers or []]


def describe(event):
    """The event in words, or None if it is not compared."""
    stream = getattr(event, "stream_id", 0)
    if isinstance(event, HEADS):
        return ["head", stream, fields(event)]
    if isinstance(event, h2.events.TrailersReceived):
        return ["trailers", stream, fields(event)]
    if isinstance(event, h2.events.DataReceived):
        return ["data", stream, [str(len(event.data))]] if event.data else None
    if isinstance(event, h2.events.StreamEnded):
        return ["end", stream, []]
    if isinstance(event, h2.events.StreamReset):
        return ["reset", stream, ["peer" if event.remote_reset else "own"]]
    return None


def opened(is_client):
    # Not normalized: cookies stay separate.
    config = h2.config.H2Configuration(client_side=is_client, header_encoding=None, normalize_inbound_headers=False)
    connection = h2.connection.H2Connection(config=config)
    connection.initiate_connection()
    if is_client:
        for stream in (1, 3):
            connection.send_headers(stream, POST)
    preface = b"" if is_client else b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    connection.receive_data(preface + bytes.fromhex("000000040000000000" "000000040100000000"))
    connection.data_to_send()
    return connection


def read(line):
    role, *frames = line.split()
    connection = opened(role == "client")
    answer = []
    for frame in frames:
        try:
            events = connection.receive_data(bytes.fromhex(frame))
        except h2.exceptions.ProtocolError as error:
            return {"events": answer, "error": type(error).__name__ + ": " + str(error)}
        for event in events:
            if isinstance(event, h2.events.DataReceived) and event.flow_controlled_length:
                connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        words = [words for words in map(describe, events) if words]
        if any(kind == "reset" and by == ["own"] for kind, _, by in words):
            return {"events": answer, "error": "reset"}
        answer.append(words)
    return {"events": answer, "error": None}


for line in open(sys.argv[1], encoding="ascii"):
    print(json.dumps(read(line)))
