@testable import Gateway
import HTTP1
import Policy
import Primitives
import Testing

@Suite struct OutputTests {
  @Test func `T25: the output of an event contains nothing of the previous event`() {
    var output = Output()
    output.results.actions = [.sendHead, .sendBody, .sendToClient, .close]
    output.toClient.append("an answer")
    output.upstreamRequest.begin(method: Array("GET".utf8).span, authority: [])
    output.results.grant = ConfigurationScoped(7, generation: 1)
    output.results.caller = Caller(uid: 1000)
    output.results.isChallenged = true
    output.results.upstreamStatus = 401
    output.toUpstream.append("a body")
    output.results.clientBody = 1..<3
    output.results.upstreamBody = 2..<5
    output.changed = [1, 2]
    output.response.begin(200, reason: "OK")
    output.response.fields.append("A: 1\r\n")
    output.trailers.append("T: 1\r\n")
    output.begin()
    #expect(output.results.actions.isEmpty && output.results.grant == nil && output.results.caller == nil)
    #expect(!output.results.isChallenged && output.results.upstreamStatus == 0)
    #expect(output.toClient.isEmpty && output.upstreamRequest.line.isEmpty && output.toUpstream.isEmpty)
    #expect(output.results.clientBody.isEmpty && output.results.upstreamBody.isEmpty && output.changed.isEmpty)
    #expect(output.response.status == 0 && output.response.reason.isEmpty && output.response.fields.isEmpty)
    #expect(output.trailers.isEmpty)
  }
}
