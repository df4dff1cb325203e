@testable import Credentials
import Secrets
import Glibc
import Settings
import TestSupport
import Testing

/// Secrets that change while the daemon runs (T44).
@Suite struct RotationTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private func token(_ keyring: Keyring) throws -> String? {
    guard let line = try? sent(keyring).split(separator: "\r\n").last else { return nil }
    return String(line.dropFirst("Authorization: Bearer ".count))
  }

  @Test func `a changed file gets a new version, and the same bytes do not`() throws {
    let path = try scratch.write("token", "one")
    let keyring = try keyring(.bearer(.file(path)))
    #expect(keyring.directories == [scratch.path])
    #expect(keyring.reload(directories: [scratch.path]) == [])
    try scratch.write("token", "two\n")
    #expect(keyring.reload(directories: ["/elsewhere"]) == [])
    #expect(try token(keyring) == "one")
    #expect(keyring.reload(directories: [scratch.path]) == [0])
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 2, problem: nil))
    #expect(try token(keyring) == "two")
    try scratch.write("token", "two")
    #expect(keyring.reload(directories: [scratch.path]) == [])
    #expect(keyring.status(ofGrant: 0).secretVersion == 2)
  }

  @Test(arguments: ["", "\n", "half\nwritten", "a b", "\u{FEFF}x"])
  func `an unusable value leaves the last good value in use`(
    content: String
  ) throws {
    let path = try scratch.write("token", "good")
    let keyring = try keyring(.bearer(.file(path)))
    try scratch.write("token", content)
    #expect(keyring.reload(directories: [scratch.path]) == [])
    let status = keyring.status(ofGrant: 0)
    #expect(status.secretVersion == 1)
    #expect(status.problem != nil)
    #expect(try token(keyring) == "good")
    try scratch.write("token", "better")
    #expect(keyring.reload(directories: [scratch.path]) == [0])
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 2, problem: nil))
    #expect(try token(keyring) == "better")
  }

  @Test func `a file that others can write leaves the last good value in use`() throws {
    let path = try scratch.write("token", "good")
    let keyring = try keyring(.bearer(.file(path)))
    try scratch.write("token", "evil", mode: 0o666)
    #expect(keyring.reload(directories: [scratch.path]) == [])
    #expect(keyring.status(ofGrant: 0).problem?.contains("chmod") == true)
    #expect(try token(keyring) == "good")
  }

  @Test func `a deleted file removes its value, and a new file restores the value`() throws {
    let path = try scratch.write("token", "one")
    let keyring = try keyring(.bearer(.file(path)))
    unlink(path)
    #expect(keyring.reload(directories: [scratch.path]) == [0])
    #expect(keyring.status(ofGrant: 0).problem != nil)
    #expect(keyring.reload(directories: [scratch.path]) == [])
    #expect(try token(keyring) == nil)
    try scratch.write("token", "one")
    #expect(keyring.reload(directories: [scratch.path]) == [0])
    #expect(keyring.status(ofGrant: 0) == Keyring.Status(secretVersion: 2, problem: nil))
    #expect(try token(keyring) == "one")
  }

  @Test func `a Kubernetes swap of ..data is noticed`() throws {
    // token -> ..data/token, ..data -> ..1
    for (version, token) in [("..1", "one"), ("..2", "two"), ("..3", "three")] {
      try #require(mkdir("\(scratch.path)/\(version)", 0o700) == 0)
      try scratch.write("\(version)/token", token)
    }
    try #require(symlink("..1", "\(scratch.path)/..data") == 0)
    try #require(symlink("..data/token", "\(scratch.path)/token") == 0)
    let keyring = try keyring(.bearer(.file("\(scratch.path)/token")))
    #expect(keyring.directories == [scratch.path, "\(scratch.path)/..1"])
    #expect(try token(keyring) == "one")
    for (version, value) in [("..2", "two"), ("..3", "three")] {
      try #require(symlink(version, "\(scratch.path)/..data_tmp") == 0)
      try #require(rename("\(scratch.path)/..data_tmp", "\(scratch.path)/..data") == 0)
      #expect(keyring.reload(directories: [scratch.path]) == [0])
      #expect(try token(keyring) == value)
      #expect(keyring.directories == [scratch.path, "\(scratch.path)/\(version)"])
    }
  }

  @Test func `every link on a path is watched in its own directory`() throws {
    for name in ["a", "b", "b/v1", "c"] { try #require(mkdir("\(scratch.path)/\(name)", 0o700) == 0) }
    try scratch.write("b/v1/token", "t0k")
    try #require(symlink("v1", "\(scratch.path)/b/current") == 0)
    try #require(symlink("../b", "\(scratch.path)/c/up") == 0)
    try #require(symlink("\(scratch.path)/c/./up/../b/current/token", "\(scratch.path)/a/token") == 0)
    let keyring = try keyring(.bearer(.file("\(scratch.path)/a/token")))
    #expect(keyring.status(ofGrant: 0).problem == nil)
    #expect(keyring.directories == ["a", "b", "b/v1", "c"].map { "\(scratch.path)/\($0)" })
  }

  @Test func `circular links are refused`() throws {
    try #require(symlink("loop", "\(scratch.path)/loop") == 0)
    let keyring = try keyring(.bearer(.file("\(scratch.path)/loop")))
    #expect(keyring.status(ofGrant: 0).problem != nil)
    #expect(keyring.directories == [scratch.path])
  }

  @Test func `a reload returns only the grants that changed`() throws {
    let one = try scratch.write("one", "1")
    let two = try scratch.write("two", "2")
    let keyring = try Keyring(
      entries: [
        Keyring.Entry(grant: try grant("one"), scheme: .bearer(.file(one))),
        Keyring.Entry(grant: try grant("two"), scheme: .bearer(.file(two))),
        Keyring.Entry(
          grant: try grant("both"), scheme: .basic(user: .secret(.file(one)), password: .secret(.file(two)))),
      ], requireLockedMemory: false)
    try scratch.write("two", "2b")
    #expect(keyring.reload(directories: [scratch.path]) == [1, 2])
    #expect((0..<4).map { keyring.status(ofGrant: $0).secretVersion } == [1, 2, 2, 0])
  }

  @Test func `each of 300 rotations gets a new version`() throws {
    let path = try scratch.write("token", "start")
    let keyring = try keyring(.bearer(.file(path)))
    for round in 0..<300 {
      try scratch.write("token", String(repeating: "x", count: 1 + round * 37 % 9000))
      _ = keyring.reload(directories: [scratch.path])
    }
    #expect(keyring.status(ofGrant: 0).secretVersion == 301)
    #expect(try token(keyring)?.count == 1 + 299 * 37 % 9000)
  }

  @Test func `T44: a new configuration sends the old value until all files of the credential are read`() throws {
    let user = SecretSource.file(try scratch.write("user", "old"))
    let password = SecretSource.file(try scratch.write("password", "old-secret"))
    let entry = Keyring.Entry(grant: try grant(), scheme: .basic(user: .secret(user), password: .secret(password)))
    let files = FileValues()
    let first = try Keyring(entries: [entry], requireLockedMemory: false, files: files)
    let old = try sent(first)
    try scratch.write("user", "new")
    try scratch.write("password", "new-secret")
    files.store(SecretFileSnapshot(of: user, mustLock: false))
    let second = try Keyring(
      entries: [entry], requireLockedMemory: false, files: files, pending: [password], after: first)
    #expect(try sent(second) == old, "not the new user with the old password")
    let other = try Keyring(entries: [entry], requireLockedMemory: false, files: files, pending: [password])
    #expect(!other.isAvailable(grant: 0))
    files.store(SecretFileSnapshot(of: password, mustLock: false))
    #expect(second.reload(file: password) == [0] && other.reload(file: password) == [0])
    #expect(try sent(second) != old)
    #expect(try sent(second) == sent(other))
  }
}
