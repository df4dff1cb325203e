"""For scripts that go on after a failure, and end with it."""


class Findings:
    """Called, it prints one line, and what was found instead of what was wanted."""

    def __init__(self, name):
        self.name = name
        self.failed = False

    def __call__(self, what, condition, found=None):
        print(f"{'ok      ' if condition else 'FAILED  '}{self.name}: {what}", flush=True)
        if not condition:
            self.failed = True
            print(f"        found {found}")
