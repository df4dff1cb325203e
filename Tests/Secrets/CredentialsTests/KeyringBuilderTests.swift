import Policy
import TestSupport
import Testing

@testable import Credentials
@testable import Secrets

/// A keyring in the making (T60): a loop makes it bit by bit, and what happens meanwhile counts (T44, T46).
@Suite struct KeyringBuilderTests {
  private let scratch: Scratch
  private let files = FileValues()

  init() throws { scratch = try Scratch() }

  private func source(_ number: Int, _ value: String) throws -> SecretSource {
    let source = SecretSource.file(try scratch.write("token\(number)", value))
    files.take(SecretFileSnapshot(of: source, mustLock: false))
    return source
  }

  private func plan(_ count: Int) throws -> KeyringPlan {
    KeyringPlan(
      try (0..<count).map {
        Keyring.Entry(grant: try grant("c\($0)"), scheme: .bearer(try source($0, "value \($0)".padded)))
      })
  }

  private func draft(
    _ plan: KeyringPlan, loggedOut: Set<String> = [], after previous: Keyring? = nil
  ) throws -> KeyringBuilder {
    try KeyringBuilder(plan, requireLockedMemory: false, files: files, loggedOut: loggedOut, after: previous)
  }

  private func whole(_ draft: KeyringBuilder) throws -> Keyring {
    _ = try draft.goOn(pending: []) { true }
    return try #require(draft.keyring)
  }

  @Test func `T60: it is made credential by credential, and no further than there is time for`() throws {
    let draft = try draft(plan(40))
    for count in 1..<40 {
      #expect(try !draft.goOn(pending: []) { false })
      #expect(draft.slots.count == count && draft.keyring == nil)
    }
    var asked = 0
    _ = try draft.goOn(pending: []) {
      asked += 1
      return true
    }
    #expect(asked == 1 && draft.keyring?.grantCount == 40)
  }

  @Test func `T60: what an earlier keyring has ready of the same contents is not made again`() throws {
    let plan = try plan(3)
    let first = try whole(draft(plan))
    // The same bytes, read again; and another value.
    _ = try (source(0, "value 0".padded), source(1, "another".padded))
    let second = try whole(draft(plan, after: first))
    #expect(second.patterns(ofGrant: 0) === first.patterns(ofGrant: 0))
    #expect(second.patterns(ofGrant: 2) === first.patterns(ofGrant: 2))
    #expect(second.patterns(ofGrant: 1) !== first.patterns(ofGrant: 1))
    #expect((0..<3).map { second.generation(ofGrant: $0) } == [1, 2, 1])
    #expect(try (0..<3).map { try sent(second, $0) } == [line("value 0"), line("another"), line("value 2")])
  }

  @Test func `T60: the same contents, read again, make nothing anew`() throws {
    let keyring = try whole(draft(plan(1)))
    let before = try #require(keyring.patterns(ofGrant: 0))
    let same = try source(0, "value 0".padded)
    #expect(keyring.reload(file: same) == [] && keyring.patterns(ofGrant: 0) === before)
    let other = try source(0, "another".padded)
    #expect(keyring.reload(file: other) == [0] && keyring.patterns(ofGrant: 0) !== before)
    let back = try source(0, "value 0".padded)
    #expect(keyring.reload(file: back) == [0])
    #expect(try sent(keyring, 0) == line("value 0"))
  }

  @Test func `T60: a value that changes meanwhile is made ready once, for both`() throws {
    let plan = try plan(2)
    let first = try whole(draft(plan))
    let draft = try draft(plan, after: first)
    let second = try whole(draft)
    let file = try source(1, "another".padded)
    #expect(first.reload(file: file) == [1])
    draft.reload(file: file, pending: [], loggedOut: [])
    #expect(second.patterns(ofGrant: 1) === first.patterns(ofGrant: 1))
    #expect(try sent(second, 1) == line("another"))
  }

  @Test(arguments: [0, 1]) func `T44: a file that changes meanwhile is in what is made and in what is still to be made`(
    number: Int
  ) throws {
    let plan = try plan(2)
    let first = try whole(draft(plan))
    let draft = try draft(plan, after: first)
    _ = try draft.goOn(pending: []) { false }
    #expect(draft.slots.count == 1)
    draft.reload(file: try source(number, "another".padded), pending: [], loggedOut: [])
    #expect(try sent(whole(draft), number) == line("another"))
  }

  @Test(arguments: ["c0", "c1"], [false, true]) func `T46: what is logged out meanwhile stays logged out`(
    credential: String, isBefore: Bool
  ) throws {
    let plan = try plan(2)
    let first = try whole(draft(plan))
    let draft = try draft(plan, loggedOut: isBefore ? [credential] : [], after: first)
    _ = try draft.goOn(pending: []) { false }
    if !isBefore {
      first.logOut(credential, isCurrent: true)
      draft.logOut(credential)
    }
    let index = credential == "c0" ? 0 : 1
    let second = try whole(draft)
    #expect(second.isLoggedOut(grant: index) && !second.isAvailable(grant: index))
    #expect(!second.isLoggedOut(grant: 1 - index) && second.isAvailable(grant: 1 - index))
    let same = try source(index, "value \(index)".padded)
    #expect(second.reload(file: same, loggedOut: [credential]) == [] && !second.isAvailable(grant: index))
  }

  @Test func `T44: a value that has gone is not taken from an earlier keyring`() throws {
    let plan = try plan(1)
    let first = try whole(draft(plan))
    let gone = SecretSource.file("\(scratch.path)/token0")
    #expect(run("rm '\(scratch.path)/token0'").isSuccess)
    files.take(SecretFileSnapshot(of: gone, mustLock: false))
    #expect(try !whole(draft(plan, after: first)).isAvailable(grant: 0))
    #expect(first.reload(file: gone) == [0])
    _ = try source(0, "value 0".padded)
    #expect(try sent(whole(draft(plan, after: first)), 0) == line("value 0"))
  }

  @Test func `T60: what is left of a keyring goes credential by credential`() throws {
    var remains = KeyringRemains(try whole(draft(plan(3))))
    #expect((0..<3).map { _ in remains.dismantle { false } } == [false, false, true])
  }

  private func line(_ value: String) -> String { "Bearer \(value.padded)" }

  /// As an upstream has it.
  private func sent(_ keyring: Keyring, _ index: Int) throws -> String {
    let upstream = try Upstream()
    do {
      var session = try upstream.session(grant: "c\(index)")
      let head = Array("GET / HTTP/1.1\r\nHost: upstream.test\r\n".utf8)
      try keyring.authorize(grant: index, head: head, over: &session)
    }
    let field = "Authorization: "
    let lines = upstream.finish()[0].split(separator: "\r\n")
    return try #require(lines.first { $0.hasPrefix(field) }.map { String($0.dropFirst(field.count)) })
  }
}

extension String {
  /// Long enough to be looked for, and of one word.
  fileprivate var padded: String { replacing(" ", with: "-") + "-0123456789" }
}
