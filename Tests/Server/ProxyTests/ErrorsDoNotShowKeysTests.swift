import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// An API that repeats the rejected key in its error body (T64).
@Suite(.inProcess) struct ErrorsDoNotShowKeys {
  private static let key = "sk-proj-CANARY0123456789/abcdef+XYZ"
  private static func text(_ key: String) -> String {
    "{\"error\":{\"message\":\"Incorrect API key provided: \(key)\",\"code\":\"invalid_api_key\"}}\n"
  }

  /// Returns the body in the content coding that the path names.
  private static func body(_ coding: String) throws -> [UInt8] {
    let body = Array(text(key).utf8)
    guard coding == "gzip" || coding == "deflate" else { return body }
    let result = try run([
      "sh", "-c", "printf %s \"$0\" | gzip -9 | od -An -v -tx1", text(key).trimmingCharacters(in: .newlines),
    ])
    let bytes = result.output.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
    // Raw deflate (RFC 1951), as many servers send it: without the gzip header and trailer.
    return coding == "gzip" ? bytes : Array(bytes.dropFirst(10).dropLast(8))
  }

  /// Sends a response for the path `/CODING/FRAMING/SIZE`, in TLS records of `SIZE` bytes.
  private static func respond(_ path: String, _ status: String, on connection: AcceptedConnection) throws {
    let words = path.split(separator: "/").map(String.init)
    let (coding, framing, size) = (words[0], words[1], Int(words[2]) ?? 1)
    let body = try body(coding)
    let fields = coding == "plain" ? "" : "Content-Encoding: \(coding)\r\nETag: \"x\"\r\n"
    let length = framing == "chunked" ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
    connection.send(
      "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nX-Request-Id: 7\r\n\(fields)\(length)\r\n\r\n")
    for start in stride(from: 0, to: body.count, by: size) {
      let piece = Array(body[start..<min(body.count, start + size)])
      if framing == "chunked" { connection.send(String(piece.count, radix: 16) + "\r\n") }
      try connection.write(piece)
      if framing == "chunked" { connection.send("\r\n") }
    }
    if framing == "chunked" { connection.send("0\r\n\r\n") }
  }

  private static func stage(_ status: String, _ service: String = "") throws -> Stage {
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() { try? respond(String(request.path), status, on: connection) }
    }
    try stage.scratch.write("canary.token", key)
    try stage.start(
      stage.configuration(service: service, credential: "bearer: { file: canary.token }\n    suspend: off"))
    return stage
  }

  @Test(arguments: ["401 Unauthorized", "404 Not Found", "500 Oops"])
  func `T64: the key is masked in error bodies by default, plain and compressed, at every split`(status: String)
    throws
  {
    let stage = try Self.stage(status)
    let masked = Self.text(String(repeating: "*", count: Self.key.utf8.count))
    var count = 0
    for coding in ["plain", "utf-8", "gzip", "deflate"] {
      for framing in ["length", "chunked"] {
        // With a sanitizer, single bytes arrive more slowly than the redaction timeout.
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
  func `T64: an error body in an unsupported coding is replaced, and its status is kept`(coding: String) throws {
    let stage = try Self.stage("401 Unauthorized")
    let response = try stage.get("/api/\(coding)/length/9")
    #expect(response.status == 401 && response.text.contains("urn:bearerd:error:encoded-answer"))
    #expect(response.head.contains("X-Request-Id: 7\r\n") && response.head.contains("application/problem+json"))
    #expect(stage.log.wait(for: .request, ["withheld": "true"]))
    stage.assertCanary(times: 1, secret: Self.key)
  }
}
