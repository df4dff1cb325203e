import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// After a clock change, bearerd validates certificates and pins again. Nothing else changes (T57).
@Suite(.waits, .enabled(if: SteppedClock.isPossible)) struct ClockChangeTests {
  static let hour = 3_600

  /// A stage with a long-lived authority. Either the leaf or the intermediate has the given validity.
  private struct Scene {
    let stage: Stage
    let clock: SteppedClock

    init(
      ends: Int = 240 * hour, began: Int = -240 * hour, isLeaf: Bool = true, service: String = "",
      credential: String = "bearer: { file: canary.token }", options: UpstreamServer.Options = .init(),
      handler: (@Sendable (AcceptedConnection) -> Void)? = nil
    ) throws {
      stage = try Stage(options: options, handler: handler)
      let authority = try Self.certificate(-240 * hour, 240 * hour) { $0.isCA = true }
      let intermediate = try Self.certificate(
        isLeaf ? -240 * hour : began, isLeaf ? 240 * hour : ends, issuer: authority
      ) { $0.isCA = true }
      let leaf = try Self.certificate(
        isLeaf ? began : -240 * hour, isLeaf ? ends : 240 * hour, issuer: intermediate, reusing: stage.leaf
      ) { $0.dnsNames = ["localhost"] }
      try stage.upstream.replaceCertificates([leaf, intermediate])
      try stage.scratch.write("ca.pem", authority.pem)
      clock = try SteppedClock(stage.scratch)
      try clock.start(stage, stage.configuration(service: service, credential: credential, more: "workers: 1"))
    }

    private static func certificate(
      _ notBefore: Int, _ notAfter: Int, issuer: Certificate? = nil, reusing: Certificate? = nil,
      change: (inout Certificate.Options) -> Void
    ) throws -> Certificate {
      var options = Certificate.Options()
      (options.notBefore, options.notAfter) = (notBefore, notAfter)
      options.commonName = "\(UInt64.random(in: 0 ... .max))"
      change(&options)
      return try Certificate(options, issuer: issuer, reusingKeyOf: reusing)
    }

    /// Checks that the next request is refused with `code`, and that the upstream gets a handshake but no data.
    func assertRefusal(_ code: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let before = stage.upstream.records.count
      let response = try stage.get()
      #expect(response.status == 502, sourceLocation: sourceLocation)
      #expect(response.text.contains("urn:bearerd:error:\(code)\""), "\(response.text)", sourceLocation: sourceLocation)
      #expect(stage.upstream.wait { $0.count > before && $0[before].isFinished }, sourceLocation: sourceLocation)
      let records = stage.upstream.records
      try #require(records.count == before + 1, sourceLocation: sourceLocation)
      #expect(records[before].bytes.isEmpty && !records[before].isResumed, sourceLocation: sourceLocation)
    }
  }

  struct Step: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let seconds: Int
    var ends = 240 * hour
    var began = -240 * hour
    var isLeaf = true
    /// Seconds from now.
    var pinsExpire: Int?
    var code = "certificate-expired"

    var service: String {
      pinsExpire.map { "pins_expire: \(Date(timeIntervalSinceNow: Double($0)).ISO8601Format())" } ?? ""
    }
  }

  static let steps = [
    Step(testDescription: "past the end of the certificate", seconds: hour, ends: hour / 2),
    Step(testDescription: "before its beginning", seconds: -hour, began: -hour / 2),
    Step(testDescription: "past the end of the intermediate", seconds: hour, ends: hour / 2, isLeaf: false),
    Step(testDescription: "before its beginning, too", seconds: -hour, began: -hour / 2, isLeaf: false),
    Step(testDescription: "past pins_expire", seconds: hour, pinsExpire: hour / 2, code: "pins-expired"),
  ]

  @Test(arguments: steps)
  func `T57: a kept connection is not used while the clock is outside the validity of certificate and pins`(step: Step)
    throws
  {
    let scene = try Scene(ends: step.ends, began: step.began, isLeaf: step.isLeaf, service: step.service)
    #expect(try scene.stage.get().status == 200)
    #expect(try scene.stage.get().status == 200)
    #expect(scene.stage.upstream.records.count == 1)
    try scene.clock.step(step.seconds)
    try scene.assertRefusal(step.code)
    #expect(scene.stage.log.wait(for: .clockStepped, ["seconds": "\(step.seconds)"]))
    #expect(scene.stage.upstream.wait { $0[0].isFinished })
    try scene.clock.step(0)
    #expect(try scene.stage.get().status == 200)
    scene.stage.assertCanary(times: 3)
  }

  @Test func `T57: an HTTP/2 connection in use takes no request while the clock is outside the validity`() throws {
    let gate = HTTP2Gate()
    var options = UpstreamServer.Options()
    options.protocols = ["h2"]
    let scene = try Scene(
      ends: Self.hour / 2, options: options,
      handler: UpstreamServer.http2Handler {
        $0.path == "/base/slow" ? [.wait(gate)] + .response("slow") : .response("hi")
      })
    let slow = try scene.stage.raw()
    try slow.send(scene.stage.head("GET", "/api/slow"))
    #expect(scene.stage.upstream.wait { $0.first?.http2.requests.count == 1 })
    #expect(try scene.stage.get().text == "hi" && scene.stage.upstream.records.count == 1)
    try scene.clock.step(Self.hour)
    try scene.assertRefusal("certificate-expired")
    // The request in progress goes on.
    gate.open()
    #expect(try slow.response().body == "slow")
    scene.stage.assertCanary(times: 2)
  }

  @Test(arguments: steps, [0x0303, 0x0304] as [Int32])
  func `T57: a TLS session is not resumed while the clock is outside the validity of certificate and pins`(
    step: Step, version: Int32
  ) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let scene = try Scene(
      ends: step.ends, began: step.began, isLeaf: step.isLeaf, service: step.service, options: options,
      handler: Stage.closingEach)
    for _ in 0..<2 { #expect(try scene.stage.get().status == 200) }
    #expect(scene.stage.upstream.records.map(\.isResumed) == [false, true])
    try scene.clock.step(step.seconds)
    try scene.assertRefusal(step.code)
    try scene.clock.step(0)
    #expect(try scene.stage.get().status == 200)
    scene.stage.assertCanary(times: 3)
  }

  @Test func `T57: clock changes do not affect connections, requests and programs if the certificate stays valid`()
    throws
  {
    let scratch = try Scratch()
    let runs = scratch.path + "/runs"
    let helper = try scratch.write(
      "helper", "#!/bin/sh\necho run >> \(runs)\necho COMMANDED-secret\n", mode: 0o700)
    let (requested, proceed) = (Gate(), Gate())
    let scene = try Scene(credential: "bearer: { command: [\(helper)], ttl: 30m }") { connection in
      while let (head, _) = connection.head() {
        if head.contains("/slow") {
          requested.open()
          proceed.pass()
        }
        connection.respond("\(connection.number)")
      }
    }
    let client = try scene.stage.raw()
    for seconds in [0, Self.hour, 0, -Self.hour, 0] {
      try scene.clock.step(seconds)
      try client.send(scene.stage.head("GET"))
      #expect(try client.response().body == "0")
      // Also change the clock during a request.
      try client.send(scene.stage.head("GET", "/api/slow"))
      #expect(requested.pass())
      try scene.clock.step(-seconds)
      proceed.open()
      #expect(try client.response().body == "0")
    }
    #expect(scene.stage.upstream.records.count == 1)
    #expect(scene.stage.log.lines(of: .clockStepped).count > 3)
    // The output of the program has not aged.
    #expect(try String(contentsOfFile: runs, encoding: .utf8) == "run\n")
    scene.stage.assertCanary(times: 10, secret: "COMMANDED-secret")
  }

  @Test(arguments: [0x0303, 0x0304] as [Int32])
  func `T57: TLS sessions are still resumed after the clock changes by an hour`(version: Int32) throws {
    var options = UpstreamServer.Options()
    options.tlsVersion = version
    let scene = try Scene(options: options, handler: Stage.closingEach)
    for seconds in [0, 0, Self.hour, 0, -Self.hour] {
      try scene.clock.step(seconds)
      #expect(try scene.stage.get().status == 200)
    }
    #expect(scene.stage.upstream.records.map(\.isResumed).prefix(3) == [false, true, true])
    scene.stage.assertCanary(times: 5)
  }

  /// The secret was sent when the WebSocket was opened. Only the upstream or a reload ends the WebSocket.
  @Test func `T57: a WebSocket continues after its certificate has expired, and new requests are refused`() throws {
    let scene = try Scene(ends: Self.hour / 2, handler: Stage.echoing())
    let socket = try scene.stage.upgraded()
    try scene.clock.step(Self.hour)
    #expect(try scene.stage.echoes(socket))
    try scene.assertRefusal("certificate-expired")
    #expect(try scene.stage.echoes(socket))
    scene.stage.assertCanary(times: 1)
  }
}
