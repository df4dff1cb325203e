import ServerSupport
import TestServer
import TestSupport
import Testing

/// Requests share an HTTP/2 connection only if they have the same identity (T25, T27).
@Suite(.inProcess) struct HTTP2ConnectionsAreNotCoalesced {
  @Test func `T27 T25: requests at the same time share no connection with another name or credential`() throws {
    let gate = HTTP2Gate()
    var options = UpstreamServer.Options()
    options.protocols = ["h2", "http/1.1"]
    let stage = try Stage(
      options: options, handler: UpstreamServer.http2Handler { _ in [.wait(gate)] + .response("late") })
    try stage.scratch.write("second.token", "SECOND-secret")
    // The upstream's certificate is valid for both names.
    let address = "https://127.0.0.1:\(stage.upstream.port)"
    let trust = "ca_file: ca.pem, pins: [\(stage.leaf.pin), \(stage.backup.pin)]"
    let services = """
        address: { upstream: "\(address)/base/", \(trust), credential: canary }
        second: { upstream: "\(stage.origin)/base/", \(trust), credential: second }
      """
    let text = stage.configuration(more: "workers: 1", services: services).replacing(
      "origins: [\"\(stage.origin)\"]", with: "origins: [\"\(stage.origin)\", \"\(address)\"]"
    ).replacing(
      "services:\n",
      with: "  second: { origins: [\"\(stage.origin)\"], bearer: { file: second.token } }\nservices:\n")
    try stage.start(text)
    let clients = try ["api", "address", "second", "api", "second", "address"].map { path in
      let client = try stage.raw()
      try client.send(stage.head("GET", "/\(path)/x"))
      return client
    }
    #expect(eventually { stage.upstream.records.flatMap(\.http2.requests).count == 6 })
    gate.open()
    for client in clients { #expect(try client.response().body == "late") }
    let records = stage.upstream.records
    #expect(records.count == 3)
    for record in records {
      let identities = record.http2.requests.map { [$0.authority, $0["authorization"]] }
      #expect(record.http2.requests.count == 2 && Set(identities).count == 1)
    }
  }
}
