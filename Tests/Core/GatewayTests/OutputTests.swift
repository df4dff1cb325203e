@testable import Gateway
import HTTP1
import Policy
import Primitives
import Testing

@Suite struct OutputTests {
  @Test func `T25: the output of an event contains nothing of the previous event`() {
    var output = Output()
    output.actions = [.sendHead, .sendBody, .sendToClient, .close]
    output.toClient.append("an answer")
    output.upstreamRequest.begin(method: Array("GET".utf8).span, authority: [])
    output.grant = ConfigurationScoped(7, generation: 1)
    output.caller = Caller(uid: 1000)
    output.isChallenged = true
    output.upstreamStatus = 401
    output.toUpstream.append("a body")
    output.clientBody = 1..<3
    output.upstreamBody = 2..<5
    output.changed = [1, 2]
    output.reset()
    #expect(output.actions.isEmpty && output.grant == nil && output.caller == nil)
    #expect(!output.isChallenged && output.upstreamStatus == 0)
    #expect(output.toClient.isEmpty && output.upstreamRequest.line.isEmpty && output.toUpstream.isEmpty)
    #expect(output.clientBody.isEmpty && output.upstreamBody.isEmpty && output.changed.isEmpty)
  }
}
