import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An upstream that repeats the credential in any encoding, at any position and in any pieces (T33).
@Suite(.inProcess) struct SecretsAreMaskedInResponses {
  /// A secret with characters that the encodings escape.
  private static let secret = "CANARY-x7Kq/9+dE3~~~~Zw2/hL+4="

  private static let stars = String(repeating: "*", count: secret.utf8.count)

  private static func stage(_ redact: String?) throws -> Stage {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest(), Echo(request)?.respond(on: connection) ?? false {}
    }
    try stage.scratch.write("canary.token", secret)
    try stage.start(stage.configuration(service: redact.map { "redact: \($0)" } ?? ""))
    return stage
  }

  @Test(arguments: Echo.Position.allCases)
  func `T33: the secret is masked in every part and encoding of a response`(position: Echo.Position) throws {
    let stage = try Self.stage("all")
    let forms = Echo.forms(of: Self.secret)
    #expect(forms.count >= 9)
    for (index, form) in forms.enumerated() {
      for split in Self.splits(form.utf8.count) {
        let response = try ask(stage, position, form: index, split: split)
        let expected = "<" + String(repeating: "*", count: form.utf8.count) + ">"
        #expect(response.contains(expected), "\(form) \(split): \(response)")
        #expect(!response.contains(form))
      }
    }
    #expect(stage.log.wait(for: .request, ["redacted": 1]))
    for form in forms { #expect(stage.log.hides(form)) }
    stage.assertCanary(times: Self.splits(9).count * forms.count, secret: Self.secret)
  }

  /// Positions of the split: none, in the middle, before the last byte, and -1 for single bytes.
  /// With a sanitizer, single bytes arrive more slowly than the redaction timeout.
  private static func splits(_ count: Int) -> [Int] { [0, 1, count / 2, count - 1] + (isSanitized ? [] : [-1]) }

  @Test(arguments: [nil, "headers", "errors"])
  func `T33: heads and trailers are searched by default, and bodies of successes are not`(redact: String?) throws {
    let stage = try Self.stage(redact)
    for position in Echo.Position.allCases {
      let response = try ask(stage, position, form: 0, split: 3)
      #expect(response.contains("<" + (position.isBody ? Self.secret : Self.stars) + ">"), "\(position)")
    }
    // Accept-Encoding is forwarded, and so is a compressed response.
    #expect(try stage.get("/api/coded/0/0", fields: "Accept-Encoding: gzip\r\n").status == 200)
    #expect(stage.recorded.contains("Accept-Encoding: gzip\r\n"))
    stage.assertCanary(times: Echo.Position.allCases.count + 1, secret: Self.secret)
  }

  @Test func `T33: redact: off disables the search`() throws {
    let stage = try Self.stage("off")
    for position in Echo.Position.allCases {
      #expect(try ask(stage, position, form: 0, split: 3).contains("<\(Self.secret)>"), "\(position)")
    }
    #expect(!stage.log.contains(.request, ["redacted": .present]))
    stage.assertCanary(times: Echo.Position.allCases.count, secret: Self.secret)
  }

  @Test func `T33: with redact: all a compressed response is refused`() throws {
    let stage = try Self.stage("all")
    let response = try stage.get("/api/coded/0/0", fields: "Accept-Encoding: gzip\r\n")
    #expect(response.status == 502 && response.text.contains("encoded-answer"))
    #expect(stage.recorded.contains("Accept-Encoding: identity\r\n") && !stage.recorded.contains("gzip"))
    stage.assertCanary(times: 1, secret: Self.secret)
  }

  @Test func `T33: WebSocket extensions are removed, and masked frames keep their length`() throws {
    let stage = try Self.stage("all")
    let client = try stage.raw()
    try client.send(
      stage.head(
        "GET", "/api/upgraded/0/0", fields: Stage.upgradeFields + "Sec-WebSocket-Extensions: permessage-deflate\r\n"))
    #expect(try client.head().hasPrefix("HTTP/1.1 101 "))
    // A text frame of a server: its length, and the masked text.
    let text = "<" + Self.stars + ">"
    #expect(try client.exactly(2 + text.utf8.count) == [0x81, UInt8(text.utf8.count)] + Array(text.utf8))
    #expect(!stage.recorded.contains("Sec-WebSocket-Extensions"))
    stage.assertCanary(times: 1, secret: Self.secret)
  }

  /// The upstream sends words that end like the beginning of the secret, and waits for a reaction.
  @Test func `T33: bytes that could begin the secret are delayed only briefly`() throws {
    let answered = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.switchProtocols()
      for word in ["BASIC", "C", "CAN"] {
        connection.send(word)
        guard answered.pass() else { return }
      }
      connection.send("ARY-")
      _ = answered.pass()
    }
    try stage.start(stage.configuration(service: "redact: all"))
    let client = try stage.upgraded()
    for word in ["BASIC", "C", "CAN"] {
      #expect(try client.exactly(word.utf8.count) == Array(word.utf8))
      answered.open()
    }
    #expect(try client.exactly(4).count == 4)
    answered.open()
    stage.assertCanary(times: 1)
  }

  /// The end of a line cannot be part of the secret.
  @Test func `T33: the search does not delay events`() throws {
    let gate = Gate()
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
      for _ in 0..<50 where gate.pass() { connection.send("data: CANARY-\n\n") }
    }
    try stage.start(stage.configuration(service: "redact: all"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    _ = try client.head()
    for _ in 0..<50 {
      gate.open()
      #expect(try client.line() == "f")
      #expect(try client.line(endingWith: "\n\n") == "data: CANARY-\n\n")
      _ = try client.line()
    }
    stage.assertCanary(times: 1)
  }

  /// Every byte could begin the secret, so the search takes several turns of the loop.
  @Test(arguments: ["", "Transfer-Encoding: chunked\r\n"])
  func `T60: a body that is expensive to search is forwarded completely, with its end`(framing: String) throws {
    let text = Array(String(repeating: "CA%43A&CANAR\\", count: 20_000).utf8)
    let stage = try Stage { connection in
      guard connection.head() != nil else { return }
      let body =
        framing.isEmpty
        ? text : text.flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8)
      try? connection.write(Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\(framing)\r\n".utf8) + body)
    }
    try stage.start(stage.configuration(service: "redact: all"))
    let client = try stage.raw()
    try client.send(stage.head("GET"))
    let head = try client.head()
    var body: [UInt8] = []
    if head.contains("chunked") {
      try client.chunks { body += $0 }
    } else {
      while case let piece = try client.read(), !piece.isEmpty { body += piece }
    }
    #expect(body == text)
    stage.assertCanary(times: 1)
  }

  // MARK: -

  /// Returns head and body of the response as one text, without chunk sizes.
  private func ask(_ stage: Stage, _ position: Echo.Position, form: Int, split: Int) throws -> String {
    let client = try stage.raw()
    defer { client.close() }
    let upgrade = position == .upgraded ? Stage.upgradeFields : "TE: trailers\r\n"
    try client.send(stage.head("GET", "/api/\(position)/\(form)/\(split)", fields: upgrade))
    var text = ""
    if position == .interim { text += try client.head() }
    let head = try client.head()
    text += head + "\r\n"
    if head.contains("Transfer-Encoding: chunked") {
      var body: [UInt8] = []
      let trailers = try client.chunks { body += $0 }
      return text + String(decoding: body, as: UTF8.self) + trailers.joined(separator: "\r\n")
    }
    if head.contains("Content-Length") {
      let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }.flatMap {
        Int($0.dropFirst(16))
      }
      return text + String(decoding: try client.exactly(length ?? 0), as: UTF8.self)
    }
    // The frame header has two bytes.
    return text + String(decoding: try client.exactly(2), as: UTF8.self) + (try client.line(endingWith: ">"))
  }
}
