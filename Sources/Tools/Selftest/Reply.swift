internal import Console

extension Reply {
  /// The status codes of all responses, including interim responses.
  var statuses: [Int] { text.matches(of: #/HTTP/1\.1 (\d\d\d) /#).compactMap { Int($0.1) } }

  var isRefusal: Bool { status == 0 || (status >= 400 && code != nil) }

  var summary: String { status == 0 ? "no response" : "\(status)\(code.map { " \($0)" } ?? "")" }

  var body: String { text.firstRange(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? "" }

  var unchunkedBody: String {
    var rest = Substring(body)
    var text = ""
    while let end = rest.firstRange(of: "\r\n"), let size = Int(rest[..<end.lowerBound], radix: 16), size > 0 {
      text += rest[end.upperBound...].prefix(size)
      rest = rest[end.upperBound...].dropFirst(size).drop { $0 == "\r\n" }
    }
    return text
  }

  func isCompleteAndKeptAlive(toHead: Bool) -> Bool {
    guard status >= 200, let length = values("Content-Length").first.flatMap({ Int($0) }) else { return false }
    return (toHead || body.utf8.count >= length) && !values("Connection").contains("close")
  }

  func values(_ name: String) -> [String] { fieldValues(name, in: head) }
}

/// Returns the values of all fields with this name, or with a name that some servers confuse with it.
func fieldValues(_ name: String, in head: String) -> [String] {
  head.split(separator: "\r\n").dropFirst().compactMap { (line: Substring) -> String? in
    guard let colon = line.firstIndex(of: ":"), folded(String(line[..<colon])) == folded(name) else { return nil }
    return String(line[line.index(after: colon)...].drop { $0 == " " })
  }
}
