import Credentials
import Secrets
import Policy
import TestSupport
import Testing

/// A credential's generation says of its bytes what they are, through every reload of the configuration.
@Suite struct GenerationTests {
  private func keyring(_ file: String, after previous: Keyring? = nil) throws -> Keyring {
    let grant = Grant(name: "a", origins: [try origin("https://a.test")], callers: nil, fieldNames: ["authorization"])
    return try Keyring(
      entries: [Keyring.Entry(grant: grant, scheme: .bearer(.file(file)))], requireLockedMemory: false, after: previous)
  }

  @Test func `a reload with the same secret keeps the generation, one with another counts on`() throws {
    let scratch = try Scratch()
    let file = try scratch.write("a.token", "first\n")
    let first = try keyring(file)
    #expect(first.generation(ofGrant: 0) == 1)
    let same = try keyring(file, after: first)
    #expect(same.generation(ofGrant: 0) == 1)
    try scratch.write("a.token", "second\n")
    let other = try keyring(file, after: same)
    #expect(other.generation(ofGrant: 0) == 2)
    let gone = try keyring(scratch.path + "/none", after: other)
    #expect(!gone.isAvailable(grant: 0) && gone.generation(ofGrant: 0) == 3)
    let back = try keyring(file, after: gone)
    #expect(back.isAvailable(grant: 0) && back.generation(ofGrant: 0) == 4)
  }
}
