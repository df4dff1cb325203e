import Credentials
import Secrets
import Policy
import Settings
import TestSupport
import Testing

/// The version of a secret identifies its bytes, across reloads of the configuration.
@Suite struct SecretVersionTests {
  private func keyring(_ file: String, after previous: Keyring? = nil) throws -> Keyring {
    let grant = Grant(name: "a", origins: [try origin("https://a.test")], callers: nil, fieldNames: ["authorization"])
    return try Keyring(
      entries: [Keyring.Entry(grant: grant, scheme: .bearer(.file(file)))], requireLockedMemory: false, after: previous)
  }

  @Test func `a reload keeps the version of an unchanged secret and increments the version otherwise`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("a.token", "first\n")
    let first = try keyring(file)
    #expect(first.secretVersion(ofGrant: 0) == 1)
    let same = try keyring(file, after: first)
    #expect(same.secretVersion(ofGrant: 0) == 1)
    try scratch.write("a.token", "second\n")
    let other = try keyring(file, after: same)
    #expect(other.secretVersion(ofGrant: 0) == 2)
    let gone = try keyring(scratch.path + "/none", after: other)
    #expect(!gone.isAvailable(grant: 0) && gone.secretVersion(ofGrant: 0) == 3)
    let back = try keyring(file, after: gone)
    #expect(back.isAvailable(grant: 0) && back.secretVersion(ofGrant: 0) == 4)
  }
}
