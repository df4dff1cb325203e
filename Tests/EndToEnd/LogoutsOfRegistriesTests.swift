import TestServer
import Foundation
import Log
import ServerSupport
import TestSupport
import Testing

/// What a registry's token server has granted goes with the credential that it was granted for (T46).
@Suite(.waits) struct LogoutsOfRegistries {
  @Test func `T46: a registry's tokens are wiped, and fetched anew once there is another password`() throws {
    let server = RegistryServer()
    let stage = try Stage(handler: { server.serve($0) })
    try server.start(try Stage.leaf(issuer: stage.ca))
    server.change { $0.password = stage.canary }
    let registry =
      "registry: { realm: \"\(server.realm)\", user: deploy, password: { file: canary.token }, ca_file: ca.pem }"
    let daemon = try stage.start(stage.configuration(credential: registry, more: "control: control.sock"))
    func ask() throws -> LocalClient.Response { try stage.get("/api/v2/a/manifests/1") }
    for _ in 0..<2 { #expect(try ask().status == 200) }
    #expect(server.asked.count == 1)
    let report = try stage.logOut()
    #expect(report["kind"] as? String == "registry" && report.cut["idle"] == 1)
    for _ in 0..<3 { #expect(try ask().isRefused("login-required")) }
    if isRoot, !isSanitized {
      #expect(try ForeignMemory.places(of: stage.canary, in: daemon.pid, isEverywhere: true) == [])
      #expect(try ForeignMemory.places(of: "Bearer REGISTRY-TOKEN", in: daemon.pid, isEverywhere: true) == [])
    }
    #expect(server.asked.count == 1)
    server.change { $0.password = "another" }
    try stage.scratch.write("canary.token", "another\n")
    #expect(daemon.log.wait(for: .credentialChanged))
    #expect(try ask().status == 200)
    #expect(server.asked.count == 2)
  }
}
