import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

/// OpenSSL does not check the certificate of a resumed session. bearerd only resumes sessions that were checked under
/// the current configuration (T21).
@Suite(.inProcess) struct ResumedSessionsAreChecked {
  /// Sends two requests. The second one resumes the session of the first one.
  private func resume(_ stage: Stage) throws {
    #expect(try stage.get().status == 200)
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.map(\.isResumed) == [false, true])
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T21: a second connection resumes the session of the first connection, with pins`(_ version: Int32) throws {
    let stage = try Stage.closingEach(tlsVersion: version)
    try stage.start()
    try resume(stage)
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.map(\.isResumed) == [false, true, true])
    stage.assertCanary(times: 3)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T21: after a reload with other pins, the session is not resumed and the new pins apply`(_ version: Int32) throws
  {
    let stage = try Stage.closingEach(tlsVersion: version)
    try stage.start()
    try resume(stage)
    let other = [try Stage.leaf(issuer: stage.ca).pin, stage.backup.pin]
    try stage.reload(stage.configuration(pins: other))
    #expect(try stage.get().text.contains("urn:bearerd:error:pin-mismatch"))
    let records = stage.upstream.finish()
    #expect(records.count == 3 && !records[2].isResumed && records[2].bytes.isEmpty)
    stage.assertCanary(times: 2)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T21: after a reload with another authority, the session is not resumed and the new authority applies`(
    _ version: Int32
  ) throws {
    let stage = try Stage.closingEach(tlsVersion: version)
    try stage.start()
    try resume(stage)
    var options = Certificate.Options()
    options.isCA = true
    // The same path with another certificate: the content of the file counts.
    try stage.scratch.write("ca.pem", try Certificate(options).pem)
    try stage.daemon!.reload()
    #expect(try stage.get().text.contains("urn:bearerd:error:certificate-invalid"))
    let records = stage.upstream.finish()
    #expect(records.count == 3 && !records[2].isResumed && records[2].bytes.isEmpty)
    stage.assertCanary(times: 2)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T21: a second name of the same server does not resume the session of the first name`(_ version: Int32) throws {
    let stage = try Stage.closingEach(tlsVersion: version)
    let port = stage.upstream.port
    let second = """
        numeric:
          upstream: https://127.0.0.1:\(port)/base/
          ca_file: ca.pem
          pins: [\(stage.leaf.pin), \(stage.backup.pin)]
          credential: canary
      """
    let configuration = stage.configuration(services: second).replacing(
      "origins: [\"\(stage.origin)\"]", with: "origins: [\"\(stage.origin)\", \"https://127.0.0.1:\(port)\"]")
    try stage.start(configuration)
    try resume(stage)
    #expect(try stage.get("/numeric/x").status == 200)
    #expect(stage.upstream.records.map(\.isResumed) == [false, true, false])
    #expect(stage.upstream.records[0].serverName == "localhost" && stage.upstream.records[2].serverName == nil)
    stage.assertCanary(times: 3)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T21: the first connection after a reload makes a full handshake, even if nothing has changed`(_ version: Int32)
    throws
  {
    let stage = try Stage.closingEach(tlsVersion: version)
    try stage.start()
    try resume(stage)
    try stage.daemon!.reload()
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.map(\.isResumed) == [false, true, false])
    stage.assertCanary(times: 3)
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T21 T22: services with different pins on one host share no session`(_ version: Int32) throws {
    let stage = try Stage.closingEach(tlsVersion: version)
    let other = try Stage.leaf(issuer: stage.ca).pin
    let second = """
        strict:
          upstream: \(stage.origin)/base/
          ca_file: ca.pem
          pins: [\(other), \(stage.backup.pin)]
          credential: canary
      """
    try stage.start(stage.configuration(services: second))
    try resume(stage)
    #expect(try stage.get("/strict/x").text.contains("pin-mismatch"))
    let records = stage.upstream.finish()
    #expect(records.count == 3 && !records[2].isResumed && records[2].bytes.isEmpty)
    stage.assertCanary(times: 2)
  }
}

/// A connection is used with only one credential (T25).
@Suite(.inProcess) struct CredentialsShareNoConnection {
  @Test func `T25: two credentials on one host do not resume each other's sessions`() throws {
    for version in [0x0303, 0x0304] as [Int32] {
      let stage = try Stage.closingEach(tlsVersion: version)
      try stage.scratch.write("second.token", "SECOND-secret")
      try stage.start(stage.withSecondCredential())
      for path in ["/api/x", "/second/x", "/api/x", "/second/x"] { #expect(try stage.get(path).status == 200) }
      #expect(stage.upstream.records.map(\.isResumed) == [false, false, true, true])
      stage.assertCanary(times: 2)
    }
  }

  @Test func `T25 T47: a reload closes idle connections`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get().status == 200)
    #expect(!stage.upstream.records[0].isFinished)
    try stage.daemon!.reload()
    #expect(stage.upstream.wait { $0[0].isFinished })
    #expect(try stage.get().status == 200)
    #expect(stage.upstream.records.count == 2)
    stage.assertCanary(times: 2)
  }

  @Test func `T25 T47: a reload closes idle connections of another service while a request is pending`() throws {
    let gate = Gate()
    let stage = try Stage(
      handler: UpstreamServer.httpHandler { request in
        if request.text.hasPrefix("GET /base/held ") { gate.pass() }
        return Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8)
      })
    try stage.start(
      stage.configuration(
        services: """
            other:
              upstream: \(stage.origin)/other/
              ca_file: ca.pem
              pins: [\(stage.leaf.pin), \(stage.backup.pin)]
              credential: canary
          """))
    // A pending request keeps its configuration in use.
    let pending = try stage.client()
    try pending.send(stage.head("GET", "/api/held"))
    #expect(eventually { stage.recorded.contains("GET /base/held ") })
    for path in ["/api/x", "/other/x"] { #expect(try stage.get(path).status == 200) }
    #expect(stage.upstream.records.count { !$0.isFinished } == 3)
    try stage.daemon!.reload()
    #expect(stage.upstream.wait { $0.count(where: \.isFinished) == 2 })
    gate.open()
    #expect(try pending.response().status == 200)
    stage.assertCanary(times: 3)
  }
}
