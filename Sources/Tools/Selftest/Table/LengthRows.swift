/// Requests with a malformed head, whose end two parsers could find at different positions (T16).
enum LengthRows {
  static let all = doubles + lengths + codings + lines

  /// An empty body in chunked coding, with a smuggled request after it.
  private static let ended = "0\r\n\r\n{smuggled}"
  private static let start = "{method} {path} HTTP/1.1\r\nHost: {host}\r\n"

  private static func row(_ status: Int, _ fields: String, _ body: String) -> AttackRow {
    raw(status, fields.replacing("\r\n", with: ", "), "\(start)\(fields)\r\n\r\n\(body)")
  }

  private static func raw(_ status: Int, _ name: String, _ text: String) -> AttackRow {
    AttackRow(16, name, text, .refused([status]))
  }

  /// Requests with two lengths of the body (RFC 9112 sections 6.1 and 6.3).
  private static let doubles: [AttackRow] =
    [
      "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
      "Content-Length: 0\r\nTransfer-Encoding: chunked", "Content-Length: 4\r\ntransfer-encoding: Chunked",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ].map { row(400, $0, ended) }
    + [
      "Content-Length: 5\r\nContent-Length: 0", "Content-Length: 5\r\ncontent-length: 5", "Content-Length: 5, 5",
      "Content-Length: 5, 0", "Content-Length: 5,",
    ].map { row(400, $0, "hello{smuggled}") }
    + [
      row(400, "Content-Length: 0\r\nContent-Length: 44", "{smuggled}"),
      row(400, "Content-Length: 0, 44", "{smuggled}"),
    ]

  /// Requests with a malformed Content-Length field, such as `+5` or `0x5` (RFC 9110 section 8.6).
  private static let lengths: [AttackRow] =
    ["Content-Length:", "Content-Length: \t", "Content-Length: +0", "Content-Length: -1", "Content-Length: 0x0"].map {
      row(400, $0, "{smuggled}")
    }
    + [
      "Content-Length: +5", "Content-Length: -5", "Content-Length: 5.0", "Content-Length: 0x5", "Content-Length: 5 5",
      "Content-Length: 5;", "Content-Length: \"5\"", "Content-Length: 1_0", "Content-Length: 5e0",
      "Content-Length: \u{665}", "Content-Length: 5\u{0B}", "Content-Length: 5\0",
      "Content-Length: 9223372036854775808", "Content-Length: 18446744073709551616",
      "Content-Length: 18446744073709551621", "Content-Length: 4294967301000000000000000000", "Content-Length : 5",
      "Content-Length\u{0B}: 5", " Content-Length: 5", "Content-Length: 5\rX: y", "X: y\nContent-Length: 5",
      "X: y\rContent-Length: 5", "Connection: Content-Length\r\nContent-Length: 5", "Host: {host}\r\nContent-Length: 5",
    ].map { row(400, $0, "hello{smuggled}") }

  /// Requests with transfer codings other than a single `chunked` in its exact spelling (RFC 9112 sections 6.1 and 7).
  private static let codings: [AttackRow] =
    ["Transfer-Encoding: xchunked", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked"].map {
      row(501, $0, ended)
    }
    + [
      "Transfer-Encoding: chunked, identity", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked;q=1",
      "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked,", "Transfer-Encoding: ,chunked",
      "Transfer-Encoding:", "Transfer-Encoding:\u{0B}chunked", "Transfer-Encoding: \u{0B}chunked",
      "Transfer-Encoding: chunked\0", "Transfer-Encoding: chun\rked", "Transfer-Encoding : chunked",
      "Transfer-Encoding:\r\n chunked", "X: y\r\n Transfer-Encoding: chunked", "X: y\nTransfer-Encoding: chunked",
      "Transfer-Encoding\0: chunked", "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked",
    ].map { row(400, $0, ended) }
    + [
      raw(
        400, "a coding in HTTP/1.0",
        "{method} {path} HTTP/1.0\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n\(ended)")
    ]

  private static let lines: [AttackRow] = [
    raw(505, "HTTP/0.9", "{method} {path}\r\n\r\n{smuggled}"),
    raw(505, "HTTP/0.9 with fields", "{method} {path}\r\nHost: {host}\r\n\r\n{smuggled}"),
    raw(505, "HTTP/0.9 by name", "{method} {path} HTTP/0.9\r\nHost: {host}\r\n\r\n{smuggled}"),
    raw(505, "HTTP/2.0", "{method} {path} HTTP/2.0\r\nHost: {host}\r\n\r\n{smuggled}"),
    raw(505, "a version in the next line", "{method} {path}\r\nX: HTTP/1.1\r\nHost: {host}\r\n\r\n{smuggled}"),
    raw(400, "bare line feeds", "{method} {path} HTTP/1.1\nHost: {host}\n\n{smuggled}"),
    raw(400, "a bare line feed after a field", "{method} {path} HTTP/1.1\r\nHost: {host}\n\r\n{smuggled}"),
    raw(400, "a bare line feed after the head", "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\n{smuggled}"),
    raw(400, "a bare carriage return", "{method} {path} HTTP/1.1\r\nHost: {host}\r\r\n\r\n{smuggled}"),
    raw(400, "a NUL", "\(start)X: y\0z\r\n\r\n{smuggled}"),
    raw(400, "a vertical tab in the request line", "{method} {path}\u{0B}HTTP/1.1\r\nHost: {host}\r\n\r\n{smuggled}"),
    raw(400, "two spaces in the request line", "{method}  {path} HTTP/1.1\r\nHost: {host}\r\n\r\n{smuggled}"),
    raw(400, "a space after the request line", "{method} {path} HTTP/1.1 \r\nHost: {host}\r\n\r\n{smuggled}"),
    row(417, "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 5", "hello{smuggled}"),
    row(417, "Expect: 100-continue, x\r\nContent-Length: 5", "hello{smuggled}"),
  ]
}
