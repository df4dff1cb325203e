import StatusModel
import TestServer
import ServerSupport
import TestSupport
import Testing

/// `retry` of a service: additional attempts after upstream failures.
@Suite(.inProcess) struct UpstreamFailuresAreRetriedTests {
  private static let unavailable = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno"

  /// Starts a stage whose upstream gives `responses` to `/api/x` in this order, then the last one again and again.
  private func stage(_ service: String, _ responses: [String], asked: Gate = Gate()) throws -> (Stage, Counter) {
    let attempts = Counter()
    let stage = try Stage { connection in
      while let (head, _) = connection.head() {
        guard head.contains("/x ") else {
          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")
          continue
        }
        connection.send(responses[min(attempts.add(), responses.count - 1)])
        asked.open()
      }
    }
    try stage.start(stage.configuration(service: service))
    return (stage, attempts)
  }

  @Test func `a request waits for Retry-After while other requests proceed`() throws {
    let asked = Gate()
    let limited = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno"
    let (stage, attempts) = try stage(
      "retry: { on: [429] }", [limited, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"], asked: asked)
    let client = try stage.raw()
    let time = try seconds {
      try client.send(stage.head("GET"))
      #expect(asked.pass())
      var text = ""
      let other = try seconds { text = try stage.get("/api/other").text }
      #expect(text == "other" && other < 0.9, "\(other) s")
      #expect(try client.response().body == "hi")
    }
    #expect(time >= 0.95 && time < 20, "\(time) s")
    #expect(attempts.count == 2)
    #expect(stage.log.wait(for: .request, ["status": "200", "retries": "1"]))
    stage.assertCanary(times: 3)
  }

  @Test func `a failure that lasts longer than at_most is passed on`() throws {
    let (stage, attempts) = try stage("retry: { at_most: 600ms, attempts: 10 }", [Self.unavailable])
    let time = try seconds {
      let response = try stage.get()
      #expect(response.status == 503 && response.text == "no")
    }
    #expect(time < 20)
    #expect((2...4).contains(attempts.count))
    #expect(stage.log.wait(for: .request, ["status": "503", "retries": .present, "refused": .absent]))
  }

  @Test func `a POST request is sent once`() throws {
    let (stage, attempts) = try stage("retry: {}", [Self.unavailable])
    #expect(try stage.request(stage.head("POST", fields: "Content-Length: 2\r\n"), body: "hi").status == 503)
    #expect(attempts.count == 1)
    #expect(stage.log.wait(for: .request, ["status": "503", "retries": .absent]))
  }

  /// The kernel knows whether a TCP client is gone while bearerd does not read from it.
  @Test func `a TCP client that disconnects after a pipelined request cancels the next attempt`() throws {
    let asked = Gate()
    let limited = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno"
    let (stage, attempts) = try stage("retry: {}", [limited], asked: asked)
    let client = try stage.raw()
    try client.send(stage.head("GET") + stage.head("GET"))
    #expect(asked.pass())
    client.close()
    #expect(stage.log.wait(for: .request, ["status": "499", "aborted": "true"]))
    #expect(attempts.count == 1 && stage.log.lines(of: .request).count == 1)
  }
}
