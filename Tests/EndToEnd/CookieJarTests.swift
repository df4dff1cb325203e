import Foundation
import ServerSupport
import TestServer
import TestSupport
import Testing

/// With `cookies: jar`, bearerd keeps an upstream's cookies in memory for secrets (T34).
@Suite(.waits, .enabled(if: isRoot && !isSanitized, "only root sees the memory of others")) struct CookieJarTests {
  @Test(arguments: [1, 3])
  func `T46: cookies are only in memory for secrets, and a logout wipes the cookies of its own credential`(
    workers: Int
  ) throws {
    let secret = UUID().uuidString
    let stage = try Stage { connection in
      while let request = try? connection.readRequest() {
        let name = request.text.contains("Bearer \(Stage.secondSecret)\r\n") ? "second" : "first"
        let isNew = request.text.hasPrefix("GET /base/set ")
        connection.respond("hello", fields: isNew ? "Set-Cookie: sid=JAR-\(name)-\(secret); Path=/\r\n" : "")
      }
    }
    try stage.start(
      stage.addSecondCredential(
        in: stage.configuration(service: "cookies: jar", more: "control: control.sock\nworkers: \(workers)\n")
      ).replacing("credential: second }", with: "credential: second, cookies: jar }"))
    let pid = stage.daemon!.pid
    func mappings(_ name: String, includesSecrets: Bool) throws -> [String] {
      try ForeignMemory.mappings(containing: "JAR-\(name)-\(secret)", in: pid, includesSecrets: includesSecrets)
    }
    for service in ["api", "second"] { #expect(try stage.get("/\(service)/set").status == 200) }
    // Later requests overwrite the heads of these responses.
    for service in ["api", "second"] { #expect(try stage.get("/\(service)/x").status == 200) }
    #expect(try mappings("first", includesSecrets: true) != [] && mappings("second", includesSecrets: true) != [])
    #expect(try stage.logOut().cut["cookies"] == 1)
    #expect(try mappings("first", includesSecrets: true) == [])
    #expect(try mappings("second", includesSecrets: false) == [])
    #expect(try mappings("second", includesSecrets: true) != [])
    stage.assertCanary(times: 0, as: "JAR-nobody", secret: secret)
  }
}
