import StatusModel
import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// A logout of a registry's credential also ends the use of the tokens that the registry issued for it (T46).
@Suite(.inProcess) struct RegistryLogoutTests {
  @Test func `T46: a logout ends a registry's tokens, and bearerd requests new ones after the password changes`()
    throws
  {
    let (stage, server) = try RegistryServer.stage(configuration: "control: control.sock")
    func pull() throws -> LocalClient.Response { try stage.get("/api/v2/a/manifests/1") }
    for _ in 0..<2 { #expect(try pull().status == 200) }
    #expect(server.asked.count == 1)
    let report = try stage.logOut()
    #expect(report["kind"] as? String == "registry" && report.cut["idle"] == 1)
    for _ in 0..<3 { #expect(try pull().isRefused("login-required")) }
    #expect(server.asked.count == 1)
    server.change { $0.password = "another" }
    try stage.scratch.write("canary.token", "another\n")
    #expect(stage.log.wait(for: .credentialChanged))
    #expect(try pull().status == 200)
    #expect(server.asked.count == 2)
  }
}
