@testable @_spi(SecretBytes) import Credentials
@testable @_spi(SecretBytes) import Secrets
import Glibc
import Policy
import Settings
import System
import TestSupport
import Testing

/// The effect of a logout on the keyring (T46).
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

  private func reread(_ keyring: Keyring, at path: String) {
    keyring.fileContents.store(SecretFileSnapshot(of: .file(path), mustLock: false))
    _ = keyring.reload(file: .file(path))
  }

  @Test func `T46: after a logout, the same value stays unusable, and a new value is usable`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path])
    #expect(keyring.isAvailable(grant: 0))
    keyring.logOut("a", isCurrent: true)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    #expect(keyring.fingerprint(ofGrant: 0) == nil && keyring.patterns(ofGrant: 0) == nil)
    #expect(keyring.status(ofGrant: 0).problem?.contains("was logged out") == true)
    reread(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    keyring.logOut("a", isCurrent: true)
    reread(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0), "also after a second logout")
    try scratch.write("a.token", "two-secret")
    reread(keyring, at: path)
    #expect(keyring.isAvailable(grant: 0) && !keyring.isLoggedOut(grant: 0))
    #expect(keyring.status(ofGrant: 0).problem == nil && keyring.secretVersion(ofGrant: 0) == 2)
  }

  @Test func `T46: the value in the file at the time of a logout stays unusable, and a later value is usable`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path, "b": path])
    try scratch.write("a.token", "two-secret")
    keyring.fileContents.store(SecretFileSnapshot(of: .file(path), mustLock: false))
    keyring.logOut("a", isCurrent: true)
    #expect(
      keyring.reload(file: .file(path), loggedOut: ["a"]) == [1], "the credential without a logout gets the new value")
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    reread(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    try scratch.write("a.token", "three-secret")
    reread(keyring, at: path)
    #expect(keyring.isAvailable(grant: 0) && !keyring.isLoggedOut(grant: 0))
  }

  @Test func `T46: a value stays unusable if its file was missing during the logout`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path])
    unlink(path)
    reread(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && !keyring.isLoggedOut(grant: 0))
    keyring.logOut("a", isCurrent: true)
    try scratch.write("a.token", "one-secret")
    reread(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isLoggedOut(grant: 0))
    try scratch.write("a.token", "two-secret")
    reread(keyring, at: path)
    #expect(keyring.isAvailable(grant: 0))
  }

  @Test func `T46: a logout does not affect another credential with the same file`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let keyring = try Self.keyring(["a": path, "b": path])
    keyring.logOut("a", isCurrent: true)
    _ = keyring.reload(file: .file(path))
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1))
    #expect(keyring.status(ofGrant: 1).problem == nil)
    reread(keyring, at: path)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1))
  }

  @Test func `T46: a combined credential is unusable while one of its parts is logged out`() throws {
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
    // A new value of b does not help, nor does rereading the same value of a.
    try scratch.write("b.token", "three-secret")
    reread(keyring, at: two)
    reread(keyring, at: one)
    #expect(!keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 1) && !keyring.isAvailable(grant: 2))
    #expect(keyring.isLoggedOut(grant: 2))
    try scratch.write("a.token", "four-secret")
    reread(keyring, at: one)
    #expect(keyring.isAvailable(grant: 0) && keyring.isAvailable(grant: 2))
  }

  @Test func `a later configuration makes a logged-out value usable again`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a.token", "one-secret")
    let files = FileValues()
    let keyring = try Self.keyring(["a": path], files: files)
    keyring.logOut("a", isCurrent: true)
    files.store(SecretFileSnapshot(of: .file(path), mustLock: false))
    let next = try Self.keyring(["a": path], files: files, after: keyring)
    #expect(next.isAvailable(grant: 0) && !next.isLoggedOut(grant: 0))
  }

  /// A request that started before a reload may still use the earlier configuration.
  @Test func `T46: a logout keeps a value that another credential of a later configuration uses`() throws {
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

  @Test func `T46: a withdrawn token is returned once, and is no longer available`() throws {
    let values = TokenValues()
    let source = TokenSource(
      credential: "a", endpoint: try Endpoint(parsing: "https://login.example.com/t"), grant: .clientCredentials,
      client: TokenClient(id: "b", authentication: .none))
    var token = try Secret(capacity: 8, in: SecretArena())
    try token.append("t-1")
    values.store(source, token)
    switch values.withdraw(source) {
    case .some(let token): #expect(token.withBytes { $0.elementsEqual("t-1".utf8) })
    case .none: Issue.record("there is none")
    }
    let isGone = values.withdraw(source) == nil
    #expect(isGone && values.isKnown(source))
  }
}
