import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An API that repeats the key that it rejects in the body of its error, however it sends that (T64).
@Suite(.inProcess) struct ErrorsDoNotShowKeys {
  private static let key = "sk-proj-CANARY0123456789/abcdef+XYZ"
  private static func text(_ key: String) -> String {
    "{\"error\":{\"message\":\"Incorrect API key provided: \(key)\",\"code\":\"invalid_api_key\"}}\n"
  }

  /// As the upstream sends it: the path says how.
  private static func body(_ coding: String) throws -> [UInt8] {
    let body = Array(text(key).utf8)
    guard coding == "gzip" || coding == "deflate" else { return body }
    let result = try run([
      "sh", "-c", "printf %s \"$0\" | gzip -9 | od -An -v -tx1", text(key).trimmingCharacters(in: .newlines),
    ])
    let bytes = result.output.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
    // Without its head of ten bytes, and sum and length at its end: as servers send it that take RFC 1951 for deflate.
    return coding == "gzip" ? bytes : Array(bytes.dropFirst(10).dropLast(8))
  }

  /// /CODING/FRAMING/SIZE: in pieces of so many bytes, each in its own record.
  private static func answer(_ path: String, _ status: String, on connection: UpstreamConnection) throws {
    let words = path.split(separator: "/").map(String.init)
    let (coding, framing, size) = (words[0], words[1], Int(words[2]) ?? 1)
    let body = try body(coding)
    let fields = coding == "plain" ? "" : "Content-Encoding: \(coding)\r\nETag: \"x\"\r\n"
    let length = framing == "chunked" ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
    connection.say(
      "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nX-Request-Id: 7\r\n\(fields)\(length)\r\n\r\n")
    for start in stride(from: 0, to: body.count, by: size) {
      let piece = Array(body[start..<min(body.count, start + size)])
      if framing == "chunked" { connection.say(String(piece.count, radix: 16) + "\r\n") }
      try connection.write(piece)
      if framing == "chunked" { connection.say("\r\n") }
    }
    if framing == "chunked" { connection.say("0\r\n\r\n") }
  }

  private static func stage(_ status: String, _ service: String = "") throws -> Stage {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() { try? answer(String(request.path), status, on: connection) }
    }
    try stage.scratch.write("canary.token", key)
    try stage.start(
      stage.configuration(service: service, credential: "bearer: { file: canary.token }\n    suspend: off"))
    return stage
  }

  @Test(arguments: ["401 Unauthorized", "404 Not Found", "500 Oops"])
  func `T64: by default the key is masked in an error's body, plain and compressed, at every split`(status: String)
    throws
  {
    let stage = try Self.stage(status)
    let masked = Self.text(String(repeating: "*", count: Self.key.utf8.count))
    var count = 0
    for coding in ["plain", "utf-8", "gzip", "deflate"] {
      for framing in ["length", "chunked"] {
        // Between two bytes a sanitizer takes longer than bytes are held back for.
        for size in isSanitized ? [1_000, 61, 7] : [1_000, 61, 7, 1] {
          let response = try stage.get(
            "/api/\(coding)/\(framing)/\(size)", fields: "Accept-Encoding: gzip, deflate, br\r\n")
          let body = response.text.trimmingCharacters(in: .newlines)
          #expect(body == masked.trimmingCharacters(in: .newlines), "\(coding) \(framing) \(size)")
          #expect(response.head.contains(" \(status)\r\n") && response.head.contains("X-Request-Id: 7\r\n"))
          let isDecoded = coding == "gzip" || coding == "deflate"
          #expect(response.head.contains("Content-Encoding: utf-8\r\n") == (coding == "utf-8"))
          #expect(response.head.contains("chunked") == (isDecoded || framing == "chunked"))
          count += 1
        }
      }
    }
    #expect(stage.recorded.contains("Accept-Encoding: gzip, deflate\r\n") && !stage.recorded.contains(", br"))
    #expect(stage.log.wait(for: .request, ["redacted": 1]) && stage.log.hides(Self.key))
    stage.assertCanary(times: count, secret: Self.key)
  }

  @Test(arguments: ["br", "zstd", "compress"])
  func `T64: an error in a coding that cannot be decoded is withheld, and its status goes on`(coding: String) throws {
    let stage = try Self.stage("401 Unauthorized")
    let response = try stage.get("/api/\(coding)/length/9")
    #expect(response.status == 401 && response.text.contains("urn:bearerd:error:encoded-answer"))
    #expect(response.head.contains("X-Request-Id: 7\r\n") && response.head.contains("application/problem+json"))
    #expect(stage.log.wait(for: .request, ["withheld": "true"]))
    stage.assertCanary(times: 1, secret: Self.key)
  }
}
