import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess, .enabled(if: loopbackHasBothFamilies)) struct HappyEyeballsTests {
  private func stage(address: String) throws -> Stage {
    var options = UpstreamServer.Options()
    options.address = address
    return try Stage(options: options)
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func `a request succeeds if one of two addresses refuses`(address: String) throws {
    let stage = try stage(address: address)
    try stage.start()
    #expect(try stage.get().text == "hello")
    stage.assertCanary(times: 1)
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func `an unresponsive address delays a request by less than the connect timeout`(address: String) throws {
    let (stage, hole) = try withFreePort {
      let stage = try self.stage(address: address)
      return (stage, try BlackHole(family: address == "::1" ? AF_INET : AF_INET6, port: stage.upstream.port))
    }
    defer { withExtendedLifetime(hole) {} }
    try stage.start()
    let time = try seconds {
      let response = try stage.get()
      #expect(response.text == "hello")
    }
    #expect(time < 9, "\(time) s")
    stage.assertCanary(times: 1)
  }

  @Test func `two unresponsive addresses share one connect timeout`() throws {
    let stage = try Stage()
    let (hole, other) = try withFreePort {
      let hole = try BlackHole(family: AF_INET)
      return (hole, try BlackHole(family: AF_INET6, port: hole.port))
    }
    defer { withExtendedLifetime((hole, other)) {} }
    let text = stage.configuration(service: "timeouts: { connect: 2s }")
    try stage.start(text.replacingOccurrences(of: stage.origin, with: "https://localhost:\(hole.port)"))
    let time = try seconds {
      let response = try stage.get()
      #expect(response.status == 504)
    }
    #expect(time > 1.9 && time < 3.9, "\(time) s")
  }
}

/// Retries `make`, which needs one port in both families: a port that is free in one family may be in use in the other.
private func withFreePort<Made>(_ make: () throws -> Made) throws -> Made {
  for _ in 0..<20 {
    if let made = try? make() { return made }
  }
  return try make()
}

private let loopbackHasBothFamilies: Bool = {
  let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(descriptor) }
  return Loopback.withAddress(family: AF_INET6, port: 0) { bind(descriptor, $0, $1) } == 0
}()
