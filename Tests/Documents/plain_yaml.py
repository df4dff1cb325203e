"""A parser for the part of YAML that the pages use, because Python's standard library has none.

It reads block and flow mappings and sequences, quoted and plain scalars, literal blocks and comments. Scalars stay as they are written,
with their quotation marks, so that `dump` writes them back unchanged. It rejects everything else.
"""
import json
import re

KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'\[\]{},#&*!|>%@`-][^:#]*?|[^\s"'\[\]{},#&*!|>%@`][^\s:]+)\s*:(?:\s+|$)""")
PLAIN = re.compile(r"(?:[^,\[\]{}:#\s]|:(?=[^\s,\[\]{}])|(?<=\S)#|[ \t]+(?=[^\s#,\[\]{}:])|[ \t]+(?=:[^\s]))+")
QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")


class Wrong(ValueError):
    def __init__(self, line, reason):
        super().__init__(reason)
        self.line = line


def parse(text):
    """Returns dictionaries, lists and scalars. A scalar is the text as written; nothing is ''."""
    reader = Reader(text)
    value = reader.block(-1)
    if reader.peek():
        raise Wrong(reader.row + 1, f"unexpected indentation: {reader.peek()[1]}")
    return value


def dump(value, indent=0):
    """Returns the value in block style."""
    space = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{space}{key}:{below(item, indent)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{space}-{below(item, indent)}" for item in value)
    return f"{space}{flow(value)}\n"


def below(item, indent):
    return "\n" + dump(item, indent + 1) if isinstance(item, (dict, list)) and item else f" {flow(item)}\n"


def flow(value):
    return {dict: "{}", list: "[]"}.get(type(value)) or str(value)


def text_of(scalar):
    """Returns a scalar without its quotation marks."""
    if scalar.startswith('"'):
        return json.loads(scalar)
    return scalar[1:-1].replace("''", "'") if scalar.startswith("'") else scalar


class Reader:
    def __init__(self, text):
        self.lines, self.row = text.split("\n"), 0

    def peek(self):
        """Returns indentation and text of the next line that is not empty, or None."""
        while self.row < len(self.lines):
            line = self.lines[self.row]
            if "\t" in line[: len(line) - len(line.lstrip())]:
                raise Wrong(self.row + 1, "a tab in the indentation")
            text = line.strip()
            if text and not text.startswith("#") and text != "---":
                return len(line) - len(line.lstrip()), text
            self.row += 1
        return None

    def block(self, outer, same=False):
        """Reads the value whose lines are indented by more than `outer`; a sequence by as much, too, if `same`."""
        line = self.peek()
        if not line:
            return ""
        indent, text = line
        is_item = text == "-" or text.startswith("- ")
        if indent < outer or (indent == outer and not (same and is_item)):
            return ""
        if is_item:
            return self.sequence(indent)
        if KEY.match(text):
            return self.mapping(indent)
        return self.inline(text, indent)

    def sequence(self, indent):
        items = []
        while (line := self.peek()) and line[0] == indent and (line[1] == "-" or line[1].startswith("- ")):
            rest = line[1][1:].strip()
            if not rest or rest.startswith("#"):
                self.row += 1
                items.append(self.block(indent))
            else:
                # The item begins as if it had a line of its own, with spaces in place of the dash.
                raw = self.lines[self.row]
                self.lines[self.row] = raw[:indent] + " " + raw[indent + 1 :]
                items.append(self.block(indent))
        return items

    def mapping(self, indent):
        found = {}
        while (line := self.peek()) and line[0] == indent and (key := KEY.match(line[1])):
            row = self.row + 1
            if key[1] in found:
                raise Wrong(row, f"the key {key[1]} is there twice")
            rest = line[1][key.end() :]
            if re.match(r"[|>][+-]?\s*(#|$)", rest):
                found[key[1]] = self.literal(indent)
            elif not rest or rest.startswith("#"):
                self.row += 1
                found[key[1]] = self.block(indent, same=True)
            else:
                found[key[1]] = self.inline(rest, indent)
        if line and line[0] == indent:
            raise Wrong(self.row + 1, f"not a key with a value: {line[1]}")
        if line and line[0] > indent:
            raise Wrong(self.row + 1, f"unexpected indentation: {line[1]}")
        return found

    def literal(self, indent):
        self.row += 1
        lines = []
        while self.row < len(self.lines):
            line = self.lines[self.row]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            lines.append(line.strip())
            self.row += 1
        return json.dumps("\n".join(lines))

    def inline(self, text, indent):
        """Reads a scalar, or a flow collection, which may go on in the lines below."""
        row = self.row + 1
        self.row += 1
        while text[0] in "[{" and not closed(text):
            line = self.peek()
            if not line:
                raise Wrong(row, "a bracket is not closed")
            text += "\n" + line[1]
            self.row += 1
        if text[0] not in "[{\"'":
            return re.split(r"\s+#", text, maxsplit=1)[0].strip()
        try:
            value, rest = self.value(text)
        except ValueError as error:
            raise Wrong(row, str(error)) from None
        if rest.strip() and not rest.strip().startswith("#"):
            raise Wrong(row, f"unexpected text: {rest.strip()}")
        return value

    def value(self, text):
        """Returns a value in flow style, and the text after it."""
        text = skip(text)
        if text.startswith("["):
            return self.collection(text[1:], "]", [])
        if text.startswith("{"):
            return self.collection(text[1:], "}", {})
        scalar = QUOTED.match(text) or PLAIN.match(text)
        if not scalar:
            raise ValueError(f"a value was expected: {text[:40]}")
        return scalar[0].strip(), text[scalar.end() :]

    def collection(self, text, end, found):
        while not (text := skip(text)).startswith(end):
            if not text:
                raise ValueError("a bracket is not closed")
            key, text = self.value(text)
            if end == "}":
                text = skip(text)
                if not re.match(r":(\s|$)", text) and not (text.startswith(":") and key[0] in "\"'"):
                    raise ValueError(f"the key {key} has no value")
                if key in found:
                    raise ValueError(f"the key {key} is there twice")
                found[key], text = self.value(text[1:])
            else:
                found.append(key)
            text = skip(text)
            if text.startswith(","):
                text = text[1:]
            elif not text.startswith(end):
                raise ValueError(f"a comma or {end} was expected: {text[:40]}")
        return found, text[1:]


def skip(text):
    """Leaves out spaces and comments."""
    while (rest := re.sub(r"\A(\s+|#[^\n]*(\n|\Z))", "", text)) != text:
        text = rest
    return text


def closed(text):
    depth, position = 0, 0
    while position < len(text):
        if quoted := QUOTED.match(text, position):
            position = quoted.end()
            continue
        if text[position] == "#" and text[position - 1].isspace():
            position = text.find("\n", position) if "\n" in text[position:] else len(text)
            continue
        depth += (text[position] in "[{") - (text[position] in "]}")
        if depth == 0:
            return True
        position += 1
    return False
