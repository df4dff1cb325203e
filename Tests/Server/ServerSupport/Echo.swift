package import TestServer
import Foundation

/// What the path asks for: the place, the form's number, where it is split (-1: everywhere).
package struct Echo {
  package enum Place: String, CaseIterable {
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
        // Without the characters that hold bits of neighbours as well.
        let own = (alignment * 8 + 5) / 6..<(alignment + secret.utf8.count) * 8 / 6
        let form = String(Array(encoded)[own])
        let other = form.replacing("+", with: "-").replacing("/", with: "_")
        return form == other ? [form] : [form, other]
      } + [secret.utf8.map { String(format: "%02x", $0) }.joined()]
  }

  /// - Returns: whether the connection goes on.
  package func answer(on connection: UpstreamConnection) -> Bool {
    guard let place = Place(rawValue: String(path[0])) else {
      connection.answer("coded", fields: "Content-Encoding: gzip\r\n")
      return true
    }
    switch place {
    case .reason: connection.answer("", status: "200 \(text)")
    case .field: connection.answer("", fields: "X-Echo: \(text)\r\n")
    // A place in which `<` and `>` may not stand is passed on as it is.
    case .location: connection.answer("", status: "302 Found", fields: "Location: other:\(text)\r\n")
    case .interim:
      connection.say("HTTP/1.1 103 Early Hints\r\nX-Echo: \(text)\r\n\r\n")
      connection.answer("")
    case .length:
      connection.say("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n")
      for piece in pieces { connection.say(piece) }
    case .chunked, .trailer:
      connection.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      let body = place == .chunked ? pieces : ["body"]
      for piece in body { connection.say("\(String(piece.utf8.count, radix: 16))\r\n\(piece)\r\n") }
      connection.say("0\r\n")
      if place == .trailer { connection.say("X-Echo: \(text)\r\n") }
      connection.say("\r\n")
    case .closed:
      connection.say("HTTP/1.1 200 OK\r\n\r\n..")
      for piece in pieces { connection.say(piece) }
    case .upgraded:
      connection.switchProtocols()
      try? connection.write([0x81, UInt8(truncatingIfNeeded: text.utf8.count)])
      for piece in pieces { connection.say(piece) }
    }
    return place != .closed
  }
}

extension String {
  fileprivate var lowercasedEscapes: String {
    replacing("%2F", with: "%2f").replacing("%2B", with: "%2b").replacing("%3D", with: "%3d")
  }
}
