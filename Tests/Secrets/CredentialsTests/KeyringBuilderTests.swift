import HTTP1
import Policy
import Settings
import TestSupport
import Testing

@testable import Credentials
@testable import Secrets

/// A keyring is built in small steps (T60). Changes and logouts during the build count (T44, T46).
@Suite struct KeyringBuilderTests {
  private let scratch: Scratch
  private let files = FileValues()

  init() throws { scratch = try Scratch() }

  private func source(_ number: Int, _ value: String) throws -> SecretSource {
    let source = SecretSource.file(try scratch.write("token\(number)", value))
    files.store(SecretFileSnapshot(of: source, mustLock: false))
    return source
  }

  private func plan(_ count: Int) throws -> KeyringPlan {
    KeyringPlan(
      try (0..<count).map {
        Keyring.Entry(grant: try grant("c\($0)"), scheme: .bearer(try source($0, "value \($0)".padded)))
      })
  }

  private func builder(
    _ plan: KeyringPlan, loggedOut: Set<String> = [], after previous: Keyring? = nil
  ) throws -> KeyringBuilder {
    try KeyringBuilder(plan, requireLockedMemory: false, files: files, loggedOut: loggedOut, after: previous)
  }

  private func built(_ builder: KeyringBuilder) throws -> Keyring {
    _ = try builder.build(pending: []) { true }
    return try #require(builder.keyring)
  }

  @Test func `T60: a keyring is built one credential at a time, while there is time`() throws {
    let builder = try self.builder(plan(40))
    for count in 1..<40 {
      #expect(try !builder.build(pending: []) { false })
      #expect(builder.slots.count == count && builder.keyring == nil)
    }
    var checks = 0
    _ = try builder.build(pending: []) {
      checks += 1
      return true
    }
    #expect(checks == 1 && builder.keyring?.grantCount == 40)
  }

  @Test func `T60: prepared values of an earlier keyring are reused if the contents are the same`() throws {
    let plan = try plan(3)
    let first = try built(builder(plan))
    // Rereads the same bytes of the first file, and a new value of the second.
    _ = try (source(0, "value 0".padded), source(1, "another".padded))
    let second = try built(builder(plan, after: first))
    #expect(second.patterns(ofGrant: 0) === first.patterns(ofGrant: 0))
    #expect(second.patterns(ofGrant: 2) === first.patterns(ofGrant: 2))
    #expect(second.patterns(ofGrant: 1) !== first.patterns(ofGrant: 1))
    #expect((0..<3).map { second.secretVersion(ofGrant: $0) } == [1, 2, 1])
    #expect(try (0..<3).map { try sent(second, $0) } == [line("value 0"), line("another"), line("value 2")])
  }

  @Test func `T60: reading the same contents again prepares nothing`() throws {
    let keyring = try built(builder(plan(1)))
    let before = try #require(keyring.patterns(ofGrant: 0))
    let same = try source(0, "value 0".padded)
    #expect(keyring.reload(file: same) == [] && keyring.patterns(ofGrant: 0) === before)
    let other = try source(0, "another".padded)
    #expect(keyring.reload(file: other) == [0] && keyring.patterns(ofGrant: 0) !== before)
    let back = try source(0, "value 0".padded)
    #expect(keyring.reload(file: back) == [0])
    #expect(try sent(keyring, 0) == line("value 0"))
  }

  @Test func `T60: a value that changes during a build is prepared once for both keyrings`() throws {
    let plan = try plan(2)
    let first = try built(builder(plan))
    let builder = try self.builder(plan, after: first)
    let second = try built(builder)
    let file = try source(1, "another".padded)
    #expect(first.reload(file: file) == [1])
    builder.reload(file: file, pending: [], loggedOut: [])
    #expect(second.patterns(ofGrant: 1) === first.patterns(ofGrant: 1))
    #expect(try sent(second, 1) == line("another"))
  }

  @Test(arguments: [0, 1])
  func `T44: a file that changes during a build is updated in finished and pending credentials`(
    number: Int
  ) throws {
    let plan = try plan(2)
    let first = try built(builder(plan))
    let builder = try self.builder(plan, after: first)
    _ = try builder.build(pending: []) { false }
    #expect(builder.slots.count == 1)
    builder.reload(file: try source(number, "another".padded), pending: [], loggedOut: [])
    #expect(try sent(built(builder), number) == line("another"))
  }

  @Test(arguments: ["c0", "c1"], [false, true])
  func `T46: a credential that is logged out during a build stays logged out`(
    credential: String, isBefore: Bool
  ) throws {
    let plan = try plan(2)
    let first = try built(builder(plan))
    let builder = try self.builder(plan, loggedOut: isBefore ? [credential] : [], after: first)
    _ = try builder.build(pending: []) { false }
    if !isBefore {
      first.logOut(credential, isCurrent: true)
      builder.logOut(credential)
    }
    let index = credential == "c0" ? 0 : 1
    let second = try built(builder)
    #expect(second.isLoggedOut(grant: index) && !second.isAvailable(grant: index))
    #expect(!second.isLoggedOut(grant: 1 - index) && second.isAvailable(grant: 1 - index))
    let same = try source(index, "value \(index)".padded)
    #expect(second.reload(file: same, loggedOut: [credential]) == [] && !second.isAvailable(grant: index))
  }

  @Test func `T44: a removed value is not taken from an earlier keyring`() throws {
    let plan = try plan(1)
    let first = try built(builder(plan))
    let gone = SecretSource.file("\(scratch.path)/token0")
    #expect(run("rm '\(scratch.path)/token0'").isSuccess)
    files.store(SecretFileSnapshot(of: gone, mustLock: false))
    #expect(try !built(builder(plan, after: first)).isAvailable(grant: 0))
    #expect(first.reload(file: gone) == [0])
    _ = try source(0, "value 0".padded)
    #expect(try sent(built(builder(plan, after: first)), 0) == line("value 0"))
  }

  @Test func `T60: a keyring is released one credential at a time`() throws {
    var retired = RetiredKeyring(try built(builder(plan(3))))
    #expect((0..<3).map { _ in retired.release { false } } == [false, false, true])
  }

  private func line(_ value: String) -> String { "Bearer \(value.padded)" }

  /// The Authorization value that an upstream receives.
  private func sent(_ keyring: Keyring, _ index: Int) throws -> String {
    let upstream = try Upstream()
    do {
      var session = try upstream.session(grant: "c\(index)")
      try keyring.authorize(grant: index, request: OutgoingRequest("GET / HTTP/1.1"), over: &session)
    }
    let field = "Authorization: "
    let lines = upstream.finish()[0].split(separator: "\r\n")
    return try #require(lines.first { $0.hasPrefix(field) }.map { String($0.dropFirst(field.count)) })
  }
}

extension String {
  /// A value without spaces that is long enough to be masked.
  fileprivate var padded: String { replacing(" ", with: "-") + "-0123456789" }
}
