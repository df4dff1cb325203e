internal import CYAML

struct YAMLFailure: Error {
  let location: TextLocation
  let message: String
  var help: String?
}

struct YAMLEvent {
  enum Kind {
    case streamEnd, documentStart, alias
    case scalar(String, isPlain: Bool)
    case sequenceStart, mappingStart
    /// The end of a sequence, mapping or document.
    case end
  }
  let kind: Kind
  let hasAnchor: Bool
  let hasTag: Bool
  let location: TextLocation
  let range: MaskedRange
}

func withYAMLParser<Result>(_ text: [UInt8], file: Int, _ body: (inout YAMLParser) -> Result) -> Result {
  let raw = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
  defer { raw.deallocate() }
  // The call can fail only if there is no memory.
  precondition(yaml_parser_initialize(raw) == 1, "no memory for the YAML parser")
  defer { yaml_parser_delete(raw) }
  return text.withUnsafeBufferPointer { bytes in
    let empty: StaticString = ""
    yaml_parser_set_input_string(raw, bytes.baseAddress ?? empty.utf8Start, bytes.count)
    yaml_parser_set_encoding(raw, YAML_UTF8_ENCODING)
    var parser = YAMLParser(raw: raw, file: file)
    return body(&parser)
  }
}

/// Reads events from libyaml, and translates its errors.
struct YAMLParser {
  fileprivate let raw: UnsafeMutablePointer<yaml_parser_t>
  fileprivate let file: Int

  mutating func next() throws(YAMLFailure) -> YAMLEvent {
    var event = yaml_event_t()
    guard yaml_parser_parse(raw, &event) == 1 else { throw failure() }
    defer { yaml_event_delete(&event) }
    let start = event.start_mark
    let end = event.end_mark
    var hasAnchor = false
    var hasTag = false
    let kind: YAMLEvent.Kind
    switch event.type {
    case YAML_STREAM_END_EVENT:
      kind = .streamEnd
    case YAML_DOCUMENT_START_EVENT:
      kind = .documentStart
    case YAML_ALIAS_EVENT:
      kind = .alias
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      hasAnchor = scalar.anchor != nil
      hasTag = scalar.tag != nil
      let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      kind = .scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
    case YAML_SEQUENCE_START_EVENT:
      hasAnchor = event.data.sequence_start.anchor != nil
      hasTag = event.data.sequence_start.tag != nil
      kind = .sequenceStart
    case YAML_MAPPING_START_EVENT:
      hasAnchor = event.data.mapping_start.anchor != nil
      hasTag = event.data.mapping_start.tag != nil
      kind = .mappingStart
    // A C enumeration can have unknown cases. All other known events are ends.
    default:
      kind = .end
    }
    return YAMLEvent(
      kind: kind, hasAnchor: hasAnchor, hasTag: hasTag, location: location(start, to: end),
      range: MaskedRange(
        startLine: start.line &+ 1, startColumn: start.column &+ 1, endLine: end.line &+ 1, endColumn: end.column &+ 1))
  }

  private func failure() -> YAMLFailure {
    let problem = raw.pointee.problem.map { String(cString: $0) } ?? "not YAML"
    let isAtMark = raw.pointee.error == YAML_SCANNER_ERROR || raw.pointee.error == YAML_PARSER_ERROR
    guard isAtMark else { return YAMLFailure(location: TextLocation(file: file), message: "not YAML: \(problem)") }
    let mark = raw.pointee.problem_mark
    let here = location(mark, to: mark)
    let isOfCharacter = problem == "found character that cannot start any token"
    if isOfCharacter, raw.pointee.buffer.pointer?.pointee == UInt8(ascii: "\t") {
      return YAMLFailure(
        location: here, message: "not YAML: the line is indented with a tab", help: "indent with spaces, not tabs")
    }
    var message = "not YAML: \(problem)"
    // For this problem, libyaml names the following token, which does not help.
    if !isOfCharacter, let context = raw.pointee.context {
      message += " (\(String(cString: context)) that began on line \(raw.pointee.context_mark.line &+ 1))"
    }
    return YAMLFailure(location: here, message: message, help: Self.help(for: problem))
  }

  /// Returns advice on an error message of libyaml, or `nil` if there is none.
  private static func help(for problem: String) -> String? {
    switch problem {
    case "mapping values are not allowed in this context":
      "check the indentation, and put quotes around a value with \": \" in it"
    case "found character that cannot start any token":
      "put quotes around a value that begins with @, ` or %"
    case "could not find expected ':'":
      "write a colon and a space after the key"
    case "did not find expected key", "did not find expected '-' indicator":
      "check the indentation: entries of the same mapping must begin in the same column"
    case "did not find expected ',' or ']'", "did not find expected ',' or '}'":
      "a bracket is not closed, or a comma is missing"
    case "found unexpected end of stream":
      "a quote is not closed"
    default: nil
    }
  }

  private func location(_ start: yaml_mark_t, to end: yaml_mark_t) -> TextLocation {
    let length = end.line == start.line && end.column > start.column ? end.column &- start.column : 1
    return TextLocation(file: file, line: start.line &+ 1, column: start.column &+ 1, length: length)
  }
}
