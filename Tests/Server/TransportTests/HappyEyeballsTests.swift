import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess, .enabled(if: loopbackHasBothFamilies)) struct HappyEyeballs {
  private func stage(address: String) throws -> Stage {
    var options = UpstreamServer.Options()
    options.address = address
    return try Stage(options: options)
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func `a name with two addresses of which one refuses works`(address: String) throws {
    let stage = try stage(address: address)
    try stage.start()
    #expect(try stage.get().text == "hello")
    stage.assertCanary(times: 1)
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func `an address that swallows connections costs less than the connect timeout`(address: String) throws {
    let (stage, hole) = try withFreePort {
      let stage = try self.stage(address: address)
      return (stage, try BlackHole(family: address == "::1" ? AF_INET : AF_INET6, port: stage.upstream.port))
    }
    defer { withExtendedLifetime(hole) {} }
    try stage.start()
    let time = try seconds {
      let answer = try stage.get()
      #expect(answer.text == "hello")
    }
    #expect(time < 9, "\(time) s")
    stage.assertCanary(times: 1)
  }

  @Test func `two that swallow connections cost the connect timeout once`() throws {
    let stage = try Stage()
    let (hole, other) = try withFreePort {
      let hole = try BlackHole(family: AF_INET)
      return (hole, try BlackHole(family: AF_INET6, port: hole.port))
    }
    defer { withExtendedLifetime((hole, other)) {} }
    let text = stage.configuration(service: "timeouts: { connect: 2s }")
    try stage.start(text.replacingOccurrences(of: stage.origin, with: "https://localhost:\(hole.port)"))
    let time = try seconds {
      let answer = try stage.get()
      #expect(answer.status == 504)
    }
    #expect(time > 1.9 && time < 3.9, "\(time) s")
  }
}

/// What `make` makes with one port in both families. The port that the first takes may belong to another test in the second: then
/// another one is tried.
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
