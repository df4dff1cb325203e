import Foundation
import Log
import ServerSupport
import StatusModel
import TestSupport
import Testing

@Suite(.inProcess) struct ReloadsKeepListeners {
  @Test func `a reload renames a listener and changes its socket's mode`() throws {
    let stage = try Stage()
    let path = stage.scratch.path + "/app.sock"
    func configuration(_ name: String, mode: String) -> String {
      stage.configuration(
        service: "listener: \(name)",
        listener:
          "address: localhost:0\n    allow_users: [\(getuid())]\n  \(name):\n    address: \"unix:\(path)\"\n    mode: \"\(mode)\""
      )
    }
    try stage.start(configuration("first", mode: "0666"))
    try stage.reload(configuration("second", mode: "0660"))
    #expect(stage.log.contains(.reloaded))
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o660)
    let client = try LocalClient(unix: path)
    try client.send("GET /api/x HTTP/1.1\r\nHost: any\r\n\r\n")
    #expect(try client.response().status == 200)
    #expect(stage.daemon!.stop() == 0)
    #expect(stat(path, &status) != 0, "no socket stays behind which nobody stands")
    stage.assertCanary(times: 1)
  }

  @Test func `a reload adds a listener with a used port only on another address`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration())
    let port = try stage.daemon!.port()
    func configuration(_ address: String) -> String {
      stage.configuration(
        listener:
          "address: localhost:0\n    allow_users: [\(getuid())]\n  other:\n    address: \"\(address):\(port)\""
      )
    }
    try stage.reload(configuration("127.0.0.2"))
    #expect(stage.log.contains(.reloaded))
    try stage.reload(configuration("127.0.0.1"))
    #expect(stage.log.contains(.reloadFailed), "the address of the first listener")
    #expect(try stage.get().status == 200)
    stage.assertCanary(times: 1)
  }

  @Test func `a secret whose directory is created later is found without a reload`() throws {
    let stage = try Stage()
    try stage.start(stage.configuration(credential: "bearer: { file: later/canary.token }"))
    #expect(try stage.get().status == 503)
    try FileManager.default.createDirectory(atPath: stage.scratch.path + "/later", withIntermediateDirectories: true)
    chmod(stage.scratch.path + "/later", 0o700)
    try stage.scratch.write("later/canary.token", stage.canary + "\n")
    let deadline = ContinuousClock.now + .seconds(20)
    var status = 0
    while status != 200, ContinuousClock.now < deadline { status = try stage.get().status }
    #expect(status == 200)
    let next = stage.canary + "-next"
    try stage.scratch.write("later/canary.token", next + "\n")
    stage.log.wait(for: .credentialChanged, ["credential": "canary", "credential_generation": 2])
    #expect(try stage.get().status == 200)
    #expect(stage.recorded.contains("Authorization: Bearer \(next)\r\n"))
  }
}
