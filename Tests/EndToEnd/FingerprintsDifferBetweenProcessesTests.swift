import Foundation
import ServerSupport
import TestSupport
import Testing

/// Fingerprints depend on a random key of the process, so that they cannot be compared with guesses or other machines.
@Suite(.waits) struct FingerprintsDifferBetweenProcesses {
  private func fingerprint(_ stage: Stage) throws -> String? {
    let text = try stage.control("status").dropFirst("ok\n".count)
    let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return (status?["credentials"] as? [[String: Any]])?.first?["fingerprint"] as? String
  }

  @Test func `the fingerprint of a secret differs between two processes`() throws {
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
