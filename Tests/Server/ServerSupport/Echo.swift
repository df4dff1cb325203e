package import TestServer
import Foundation

/// A response that repeats the secret. The path names the position, the encoding's index, and the split (-1: single
/// bytes).
package struct Echo {
  package enum Position: String, CaseIterable {
    case reason, field, location, interim, length, chunked, closed, trailer, upgraded

    package var isBody: Bool {
      switch self {
      case .reason, .field, .location, .interim, .trailer: false
      case .length, .chunked, .closed, .upgraded: true
      }
    }
  }

  private let path: [Substring]
  private let pieces: [String]
  private var text: String { pieces.joined() }

  package init?(_ request: UpstreamRequest) {
    path = request.path.split(separator: "/")
    guard path.count == 3, let index = Int(path[1]), let split = Int(path[2]),
      let secret = request.text.split(separator: "\r\n").first(where: { $0.hasPrefix("Authorization: Bearer ") })
    else { return nil }
    let form = Echo.forms(of: String(secret.dropFirst("Authorization: Bearer ".count)))[index]
    let text = "<" + form + ">"
    if split < 0 {
      pieces = text.map(String.init)
    } else {
      pieces = [String(text.prefix(split + 1)), String(text.dropFirst(split + 1))].filter { !$0.isEmpty }
    }
  }

  package static func forms(of secret: String) -> [String] {
    let escaped = secret.replacing("/", with: "%2F").replacing("+", with: "%2B").replacing("=", with: "%3D")
    return [secret, escaped, escaped.lowercasedEscapes, secret.replacing("/", with: "\\/")]
      + (0..<3).flatMap { alignment in
        let encoded = (Data(repeating: 120, count: alignment) + Data(secret.utf8)).base64EncodedString()
        // Only characters that contain no bits of neighboring bytes.
        let own = (alignment * 8 + 5) / 6..<(alignment + secret.utf8.count) * 8 / 6
        let form = String(Array(encoded)[own])
        let other = form.replacing("+", with: "-").replacing("/", with: "_")
        return form == other ? [form] : [form, other]
      } + [secret.utf8.map { String(format: "%02x", $0) }.joined()]
  }

  /// - Returns: Whether the connection stays open.
  package func respond(on connection: AcceptedConnection) -> Bool {
    guard let position = Position(rawValue: String(path[0])) else {
      connection.respond("coded", fields: "Content-Encoding: gzip\r\n")
      return true
    }
    switch position {
    case .reason: connection.respond("", status: "200 \(text)")
    case .field: connection.respond("", fields: "X-Echo: \(text)\r\n")
    // A Location with characters that a URL cannot contain is forwarded unchanged.
    case .location: connection.respond("", status: "302 Found", fields: "Location: other:\(text)\r\n")
    case .interim:
      connection.send("HTTP/1.1 103 Early Hints\r\nX-Echo: \(text)\r\n\r\n")
      connection.respond("")
    case .length:
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n")
      for piece in pieces { connection.send(piece) }
    case .chunked, .trailer:
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      let body = position == .chunked ? pieces : ["body"]
      for piece in body { connection.send("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n") }
      connection.send("0\r\n")
      if position == .trailer { connection.send("X-Echo: \(text)\r\n") }
      connection.send("\r\n")
    case .closed:
      connection.send("HTTP/1.1 200 OK\r\n\r\n..")
      for piece in pieces { connection.send(piece) }
    case .upgraded:
      connection.switchProtocols()
      try? connection.write([0x81, UInt8(truncatingIfNeeded: text.utf8.count)])
      for piece in pieces { connection.send(piece) }
    }
    return position != .closed
  }
}

extension String {
  fileprivate var lowercasedEscapes: String {
    replacing("%2F", with: "%2f").replacing("%2B", with: "%2b").replacing("%3D", with: "%3d")
  }
}
