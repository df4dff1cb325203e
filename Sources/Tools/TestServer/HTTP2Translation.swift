internal import HTTP1

// A test that reads the requests of HTTP/1.1, or writes its responses, also works with HTTP/2.
extension HTTP2Request {
  /// The head as HTTP/1.1 text, with the usual spelling of names.
  package var head: [UInt8] {
    var text = "\(method) \(path.isEmpty ? authority : path) HTTP/1.1\r\n"
    if !authority.isEmpty { text += "Host: \(authority)\r\n" }
    if let name = self[":protocol"] { text += "Upgrade: \(name)\r\n" }
    return Array((text + Self.lines(fields) + "\r\n").utf8)
  }

  static func lines(_ fields: HTTP2Fields) -> String {
    fields.map { $0.name.hasPrefix(":") ? "" : "\(spelled($0.name)): \($0.value)\r\n" }.joined()
  }

  private static let spellings = Dictionary(
    uniqueKeysWithValues: KnownField.allCases.map { ($0.name.lowercased(), $0.name) })

  private static func spelled(_ name: String) -> String {
    let words = name.split(separator: "-", omittingEmptySubsequences: false)
    return spellings[name] ?? words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "-")
  }
}

extension [HTTP2Step] {
  /// The steps that send HTTP/1.1 text: interim heads, a head, and a body with its trailers. Fields about the connection are
  /// left out. Text that is not a response becomes a reset.
  package init(http1 text: [UInt8], isHeadRequest: Bool = false) {
    self = []
    var rest = text[...]
    while true {
      guard let head = Self.take(through: "\r\n\r\n", from: &rest) else {
        self = [.reset(.protocolError)]
        return
      }
      let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
      let words = lines.first?.split(separator: " ") ?? []
      guard words.count > 1, let status = Int(words[1]) else {
        self = [.reset(.protocolError)]
        return
      }
      let fields = Self.fields(lines.dropFirst())
      let kept = fields.filter { !Self.connectionFields.contains($0.name) }
      if status < 200 {
        append(.head(status, kept))
        continue
      }
      if isHeadRequest || rest.isEmpty {
        append(.head(status, kept, ends: true))
      } else if fields.contains(where: { $0.name == "transfer-encoding" }) {
        append(.head(status, kept))
        appendChunks(&rest)
      } else {
        self += [.head(status, kept), .data([UInt8](rest)), .end]
      }
      return
    }
  }

  private mutating func appendChunks(_ rest: inout ArraySlice<UInt8>) {
    while let line = Self.take(through: "\r\n", from: &rest) {
      let digits = String(decoding: line, as: UTF8.self).prefix { $0.isHexDigit }
      guard let size = Int(digits, radix: 16), size > 0 else { break }
      append(.data([UInt8](rest.prefix(size))))
      rest = rest.dropFirst(size + 2)
    }
    let trailers = Self.fields(String(decoding: rest, as: UTF8.self).split(separator: "\r\n")[...])
    append(trailers.isEmpty ? .end : .trailers(trailers))
  }

  private static let connectionFields = [
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
  ]

  private static func fields(_ lines: ArraySlice<Substring>) -> HTTP2Fields {
    lines.compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      return (line[..<colon].lowercased(), String(value))
    }
  }

  /// Removes and returns the bytes through `end`. Returns `nil` if there is no end.
  private static func take(through end: String, from rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let end = [UInt8](end.utf8)
    guard rest.count >= end.count else { return nil }
    for index in rest.startIndex...(rest.endIndex - end.count) where rest[index..<index + end.count] == end[...] {
      defer { rest = rest[(index + end.count)...] }
      return rest[..<(index + end.count)]
    }
    return nil
  }
}
