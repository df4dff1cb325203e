"""What h11 makes of request heads: a line of hexadecimal for each, with the bytes that follow it; a line of JSON back."""

import json
import sys

import h11


def text(data):
    return bytes(data).decode("latin-1")


def read(data):
    connection = h11.Connection(our_role=h11.SERVER)
    connection.receive_data(data)
    body = b""
    read = {}
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            read["method"] = text(event.method)
            read["target"] = text(event.target)
            read["fields"] = [text(name) + ": " + text(value) for name, value in event.headers]
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return dict(read, body=text(body), rest=text(connection.trailing_data[0]))
        else:
            return dict(read, error="the message does not end")


for line in open(sys.argv[1], encoding="ascii"):
    try:
        answer = read(bytes.fromhex(line))
    except h11.RemoteProtocolError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))
