import Credentials
import Secrets
import Policy
import Settings
import TestSupport
import Testing

@Suite struct FingerprintTests {
  private func keyring(_ scratch: Scratch, _ files: String..., after previous: Keyring? = nil) throws -> Keyring {
    try Keyring(
      entries: try files.map {
        Keyring.Entry(grant: try grant($0), scheme: .bearer(.file("\(scratch.path)/\($0)")))
      }, requireLockedMemory: false, after: previous)
  }

  @Test func `equal secrets have equal fingerprints, and different secrets do not`() throws {
    let scratch = try Scratch()
    for (name, secret) in [("a", "tok-1"), ("b", "tok-1"), ("c", "tok-2")] { try scratch.write(name, secret + "\n") }
    let keyring = try keyring(scratch, "a", "b", "c", "missing")
    let prints = (0..<4).map { keyring.fingerprint(ofGrant: $0) }
    #expect(prints[0] != nil && prints[0] == prints[1] && prints[0] != prints[2])
    #expect(prints[3] == nil && keyring.fingerprint(ofGrant: 4) == nil)
    let again = try self.keyring(scratch, "a", after: keyring)
    #expect(again.fingerprint(ofGrant: 0) == prints[0])
    try scratch.write("a", "tok-2\n")
    #expect(again.reload(grant: 0) && again.fingerprint(ofGrant: 0) == prints[2])
  }

  /// Always eight digits, which are not the hexadecimal form of any four sent bytes.
  @Test(arguments: ["x", "00000000000000000000", "deadbeefdeadbeefdeadbeef", String(repeating: "z", count: 4_000)])
  func `a fingerprint reveals nothing of the secret, not even its length`(secret: String) throws {
    let scratch = try Scratch()
    try scratch.write("a", secret)
    let keyring = try keyring(scratch, "a")
    let text = try #require(keyring.fingerprint(ofGrant: 0))
    #expect(text.utf8.count == 8 && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) })
    let line = Array("Authorization: Bearer \(secret)\r\n".utf8)
    for start in 0...(line.count - 4) {
      let part = line[start..<(start + 4)].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(part != text)
    }
  }

  @Test func `the time of the last change stays while the value stays`() throws {
    let scratch = try Scratch()
    try scratch.write("a", "one")
    let first = try keyring(scratch, "a", "none")
    #expect(first.changedAt(ofGrant: 0) > 1_600_000_000 && first.changedAt(ofGrant: 1) == 0)
    #expect(try keyring(scratch, "a", after: first).changedAt(ofGrant: 0) == first.changedAt(ofGrant: 0))
  }
}
