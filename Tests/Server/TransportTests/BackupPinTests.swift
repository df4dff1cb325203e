import StatusModel
import TestServer
import Foundation
import ServerSupport
import TestSupport
import Testing

@Suite(.inProcess) struct BackupPin {
  @Test func `if only the backup pin matches, this is logged once and shown in status and metrics`() throws {
    let stage = try Stage()
    let configuration = stage.configuration(pins: [stage.backup.pin, stage.leaf.pin], more: "control: control.sock")
    try stage.start(configuration)
    #expect(try stage.get().status == 200)
    // The next request needs another handshake.
    try stage.reload(configuration)
    #expect(try stage.get().status == 200)
    #expect(
      stage.log.lines(of: .backupPin).map { [$0["upstream"], $0["first"], $0["matched"]] } == [
        [stage.origin, stage.backup.pin, stage.leaf.pin]
      ])
    let metrics = String(try stage.control("metrics"))
    #expect(metrics.contains("bearerd_pin_matched{service=\"api\",pin=\"\(stage.leaf.pin)\"} 1\n"))
    let expiry = "bearerd_expiry_timestamp_seconds{what=\"upstream-certificate\",name=\"api\"} "
    let shown = try #require(metrics.split(separator: "\n").first { $0.hasPrefix(expiry) })
    let left = try #require(Double(shown.dropFirst(expiry.count))) - Date().timeIntervalSince1970
    #expect((80_000...90_000).contains(left))
  }

  @Test func `if the first pin matches, nothing is logged`() throws {
    let stage = try Stage()
    try stage.start()
    #expect(try stage.get().status == 200)
    #expect(stage.log.lines(of: .backupPin).isEmpty)
  }

  @Test func `pins that expire within 7 days are logged at the start, and again only after a change`() throws {
    let stage = try Stage()
    let expires = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 5.5 * 86_400))
    let configuration = stage.configuration(service: "pins_expire: \(expires)")
    try stage.start(configuration)
    #expect(stage.log.wait(for: .expiresSoon, ["what": "pins"]))
    try stage.reload(configuration)
    #expect(
      stage.log.lines(of: .expiresSoon).map { [$0["what"], $0["name"], $0["days"]] } == [["pins", "services.api", "5"]])
  }
}
