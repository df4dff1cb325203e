@testable @_spi(SecretBytes) import Credentials
@testable @_spi(SecretBytes) import Secrets
import Glibc
import Policy
import System
import TestSupport
import Testing

/// What a logout leaves of a credential in memory (T46).
@Suite struct KeyringLogoutTests {
  private static func keyring(_ names: [String: String], files: FileValues = FileValues(), after: Keyring? = nil)
    throws
    -> Keyring
  {
    try Keyring(
      entries: names.sorted { $0.key < $1.key }.map { name, file in
        Keyring.Entry(grant: try grant(name), scheme: .bearer(.file(file)))
      }, requireLockedMemory: false, files: files, after: after)
  }

  private static func grant(_ name: String) throws -> Grant {
    Grant(
      name: name, origins: [try Origin(parsing: "https://a.example.com")], callers: nil, fieldNames: ["authorization"])
  }

  private func look(_ keyring: Keyring, at path: String) {
    keyring.fileContents.take(SecretFileSnapshot(of: .file(path), mustLock: false))
    _ = keyring.reload(file: .file(path))
  }

  @Test func `T46: the same value does not come back, and another one does`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path])
    #expect(keyring.isAvailable(grant: 0))
    keyring.logOut("a", isCurrent: true)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    #expect(keyring.fingerprint(ofGrant: 0) == nil && keyring.patterns(ofGrant: 0) == nil)
    #expect(keyring.status(ofGrant: 0).problem?.contains("was logged out") == true)
    look(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    keyring.logOut("a", isCurrent: true)
    look(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0), "nor after a second one")
    try scratch.write("a.token", "two-secret")
    look(keyring, at: path)
    #expect(keyring.isAvailable(grant: 0) && !keyring.isLoggedOut(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem == nil && keyring.generation(ofGrant: 0) == 2)
  }

  @Test func `T46: what its file held by then is no other value, and what it holds later is`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path, "b": path])
    try scratch.write("a.token", "two-secret")
    keyring.fileContents.take(SecretFileSnapshot(of: .file(path), mustLock: false))
    keyring.logOut("a", isCurrent: true)
    #expect(keyring.reload(file: .file(path), loggedOut: ["a"]) == [1], "who did not log out gets it")
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    look(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    try scratch.write("a.token", "three-secret")
    look(keyring, at: path)
    #expect(keyring.isAvailable(grant: 0) && !keyring.isLoggedOut(grant: 0))
  }

  @Test func `T46: nor does it come back with a file that was gone meanwhile`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path])
    unlink(path)
    look(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && !keyring.isLoggedOut(grant: 0))
    keyring.logOut("a", isCurrent: true)
    try scratch.write("a.token", "one-secret")
    look(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    try scratch.write("a.token", "two-secret")
    look(keyring, at: path)
    #expect(keyring.isAvailable(grant: 0))
  }

  @Test func `T46: who has the same file keeps it`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path, "b": path])
    keyring.logOut("a", isCurrent: true)
    _ = keyring.reload(file: .file(path))
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1))
    #expect(keyring.status(ofGrant: 1).problem == nil)
    look(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1))
  }

  @Test func `T46: what went out together with it does not, until it is there again`() throws {
    let scratch = try Scratch()
    let (one, two) = (try scratch.write("a.token", "one-secret"), try scratch.write("b.token", "two-secret"))
    let (a, b) = (try Self.grant("a"), try Self.grant("b"))
    func header(_ name: String, _ path: String) -> AuthScheme {
      .headers([HeaderTemplate(name: name, prefix: "", value: .secret(.file(path)))])
    }
    let together = Grant(name: "a+b", origins: a.origins, callers: nil, fieldNames: ["x-a", "x-b"], parts: [a, b])
    let keyring = try Keyring(
      entries: [
        Keyring.Entry(grant: a, scheme: header("X-A", one)), Keyring.Entry(grant: b, scheme: header("X-B", two)),
        Keyring.Entry(grant: together, scheme: .all([header("X-A", one), header("X-B", two)])),
      ], requireLockedMemory: false, files: FileValues())
    #expect(keyring.isAvailable(grant: 2))
    keyring.logOut("a", isCurrent: true)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1) && !keyring.isAvailable(grant: 2))
    // Another value of the other one is no reason, nor is a look at the same one.
    try scratch.write("b.token", "three-secret")
    look(keyring, at: two)
    look(keyring, at: one)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1) && !keyring.isAvailable(grant: 2))
    #expect(keyring.isLoggedOut(grant: 2))
    try scratch.write("a.token", "four-secret")
    look(keyring, at: one)
    #expect(keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 2))
  }

  @Test func `a later configuration reads it anew`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let files = FileValues()
    let keyring = try Self.keyring(["a": path], files: files)
    keyring.logOut("a", isCurrent: true)
    files.take(SecretFileSnapshot(of: .file(path), mustLock: false))
    let next = try Self.keyring(["a": path], files: files, after: keyring)
    #expect(next.isAvailable(grant: 0) && !next.isLoggedOut(grant: 0))
  }

  /// A request that began before a reload may still hold the earlier one.
  @Test func `T46: what an earlier configuration used is not wiped where a later one uses it for somebody else`() throws
  {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let files = FileValues()
    let earlier = try Self.keyring(["a": path], files: files)
    let later = try Self.keyring(["b": path], files: files, after: earlier)
    earlier.logOut("a", isCurrent: false)
    later.logOut("a", isCurrent: true)
    #expect(!earlier.isAvailable(grant: 0) && later.isAvailable(grant: 0))
    _ = later.reload(file: .file(path))
    #expect(later.isAvailable(grant: 0) && later.status(ofGrant: 0).problem == nil)
  }

  @Test func `T46: a token is withdrawn, and whoever asks hears why`() throws {
    let values = TokenValues()
    let source = TokenSource(
      credential: "a", endpoint: try Endpoint(parsing: "https://login.example.com/t"), grant: .clientCredentials,
      client: TokenClient(id: "b", authentication: .none))
    var token = try Secret(capacity: 8, in: SecretArena())
    try token.append("t-1")
    values.take(source, token)
    switch values.withdraw(source) {
    case .some(let token): #expect(token.withBytes { $0.elementsEqual("t-1".utf8) })
    case .none: Issue.record("there is none")
    }
    let isGone = values.withdraw(source) == nil
    #expect(isGone && values.isKnown(source))
  }
}
