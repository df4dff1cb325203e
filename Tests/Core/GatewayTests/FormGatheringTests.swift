import Gateway
import Testing

@Suite struct FormGatheringTests {
  @Test(arguments: [false, true])
  func `a form that is being buffered is sent whole, also if a reload ends the signing of forms`(isChunked: Bool) throws
  {
    var played = Conversation(try snapshot(signsForms: true))
    played.opensImmediately = false
    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 6"
    let (first, rest) = isChunked ? ("2\r\na=\r\n", "4\r\nbody\r\n0\r\n\r\n") : ("a=", "body")
    played.client(get("Content-Type: application/x-www-form-urlencoded", framing, method: "POST") + first)
    #expect(played.phase == .awaitingUpstream && played.log.isEmpty)
    let new = try snapshot(generation: 2)
    played.snapshot = new
    played.apply { $0.configurationChanged(new, output: &$1) }
    #expect(played.log.isEmpty)
    played.client(rest)
    #expect(played.log == ["open"])
    played.ready()
    let end = isChunked ? "\r\n\r\n6\r\na=body\r\n0\r\n\r\n" : "\r\n\r\na=body"
    #expect(played.request.hasSuffix(end))
  }
}
