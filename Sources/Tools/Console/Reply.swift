/// An HTTP response as text, as a client received it.
package struct Reply {
  package let text: String

  package init(_ bytes: [UInt8]) { text = String(decoding: bytes, as: UTF8.self) }

  /// The status code. 0 if the text is not an HTTP/1.1 response.
  package var status: Int {
    text.hasPrefix("HTTP/1.1 ") ? Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0 : 0
  }

  /// The error code if bearerd itself made the response. `nil` for an upstream's response.
  package var code: String? {
    guard let line = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Proxy-Status: bearerd; error=") })
    else { return nil }
    return line.split(separator: "details=\"").last.map { String($0.prefix { $0 != "\"" }).harmless }
  }

  package var head: String { text.firstRange(of: "\r\n\r\n").map { String(text[..<$0.lowerBound]) } ?? text }
}
