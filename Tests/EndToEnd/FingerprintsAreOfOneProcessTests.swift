import Foundation
import ServerSupport
import TestSupport
import Testing

/// Under a key of each process: whoever has one cannot try out secrets, nor compare machines.
@Suite(.waits) struct FingerprintsAreOfOneProcess {
  private func fingerprint(_ stage: Stage) throws -> String? {
    let text = try stage.control("status").dropFirst("ok\n".count)
    let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return (status?["credentials"] as? [[String: Any]])?.first?["fingerprint"] as? String
  }

  @Test func `another process has another fingerprint for the same secret`() throws {
    let stage = try Stage()
    try stage.start()
    let first = try fingerprint(stage)
    #expect(first?.utf8.count == 8)
    #expect(stage.daemon!.stop() == 0)
    try stage.start()
    #expect(try fingerprint(stage) != first)
    stage.assertCanary(times: 0)
  }
}
