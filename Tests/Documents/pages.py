"""The fenced blocks and the inline commands of a Markdown page."""
import re
import textwrap

FENCE = re.compile(r"( *)```(\w*)\s*$")
INTERNET = "<!-- internet -->"


class Block:
    """A fenced block. `line` is the line of its fence, so that line 1 of the text is `line + 1` of the page."""

    def __init__(self, page, line, language, text, needs_internet):
        self.page, self.line, self.language = page, line, language
        self.text, self.needs_internet = text, needs_internet

    @property
    def first_line(self):
        return self.text.split("\n", 1)[0].strip()


class Page:
    """A page's blocks, and its inline code with the line of each."""

    def __init__(self, name, text):
        self.name, self.text, self.blocks, self.inline = name, text, [], []
        opened, language, lines, marked, before = None, "", [], False, ""
        for number, line in enumerate(text.splitlines(), 1):
            fence = FENCE.match(line)
            if opened and fence and not fence[2]:
                self.blocks.append(Block(name, opened, language, textwrap.dedent("\n".join(lines)) + "\n", marked))
                opened, before = None, ""
            elif opened:
                lines.append(line)
            elif fence:
                opened, language, lines, marked = number, fence[2], [], before == INTERNET
            else:
                before = line.strip() or before
                self.inline += [(number, code.replace(r"\|", "|")) for code in re.findall(r"`([^`]+)`", line)]
        if opened:
            raise ValueError(f"{name}:{opened}: this block has no end")

    def of(self, *languages):
        return [block for block in self.blocks if block.language in languages]
