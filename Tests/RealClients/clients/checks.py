"""For the clients that are libraries: `check` prints one line and ends the client at the first failure."""
import os
import sys
import traceback

BASE = os.environ["BASE"]
CLIENT = os.environ["CLIENT"]


def check(what):
    """Runs the function at once, under the name that is printed."""

    def run(body):
        try:
            body()
        except Exception:
            print(f"FAILED  {CLIENT}: {what}")
            traceback.print_exc(limit=-2, file=sys.stdout)
            sys.exit(1)
        print(f"ok      {CLIENT}: {what}", flush=True)

    return run
