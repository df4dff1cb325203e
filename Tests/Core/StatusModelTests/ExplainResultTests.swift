import Foundation
import StatusModel
import Testing

@Suite struct ExplainResultTests {
  private func check<Response: ControlResponse>(_ response: Response, _ expected: String) throws {
    #expect(String(decoding: response.json, as: UTF8.self) == expected)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try decoder.decode(Response.self, from: Data(response.json)) == response)
  }

  @Test func `a refused request has null members and no gates`() throws {
    var result = ExplainResult()
    (result.file, result.refusal) = ("/f", "no-rule")
    try check(
      result,
      #"{"file":"/f","refusal":"no-rule","service":null,"rule":null,"credential":null,"refused_now":null,"gates":[]}"#)
  }

  @Test func `a gate has only the members that explain its state`() throws {
    func gate(_ name: String, _ state: String, _ detail: String? = nil) -> ExplainResult.Gate {
      var gate = ExplainResult.Gate()
      (gate.gate, gate.state) = (name, state)
      if let detail { gate.detail = detail }
      return gate
    }
    var suspension = gate("suspension", "credential-suspended", "why")
    suspension.rejections = 3
    suspension.milliseconds = 5_000
    var rate = gate("rate", "open")
    rate.left = UInt64(1) << 63
    rate.milliseconds = 0
    var result = ExplainResult()
    (result.service, result.rule, result.credential) = ("s", 2, "c")
    result.refusedNow = "too-many-requests"
    result.gates = [gate("audit", "open"), gate("concurrency", "too-many-requests", ""), suspension, rate]
    try check(
      result,
      #"{"file":"","refusal":null,"service":"s","rule":2,"credential":"c","refused_now":"too-many-requests","gates":["#
        + #"{"gate":"audit","state":"open"},{"gate":"concurrency","state":"too-many-requests","detail":""},"#
        + #"{"gate":"suspension","state":"credential-suspended","detail":"why","rejections":3,"milliseconds":5000},"#
        + #"{"gate":"rate","state":"open","left":9223372036854775808,"milliseconds":0}]}"#)
  }

  @Test func `a resumption lists the upstreams`() throws {
    var result = ResumeResult()
    result.credential = "a"
    try check(result, #"{"credential":"a","upstreams":[],"token_asked_for":false}"#)
    (result.upstreams, result.tokenAskedFor) = (["https://x.example", "https://y.example"], true)
    try check(
      result,
      #"{"credential":"a","upstreams":["https://x.example","https://y.example"],"token_asked_for":true}"#)
  }
}
