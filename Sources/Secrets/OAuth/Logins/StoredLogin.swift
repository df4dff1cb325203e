internal import Crypto
internal import Glibc
internal import Policy
import Primitives
@_spi(SecretBytes) package import Secrets
package import System

/// A refresh token that is kept in a file, for the source that it was granted to and no other: a change of the token
/// endpoint, the client's id or the configured first token makes what is stored worthless, and what is configured is used
/// again. Where a server gives a person's login no refresh token, it is the access token itself.
///
/// The file has four lines, and nothing else; the last one is `logged_out` after a logout (T46), and `refused` where the server
/// has said that the refresh token is worth nothing (RFC 6749 section 5.2): without that, the next start would begin with the
/// configured first token again.
/// ```
/// bearerd login 1
/// for SALT:DIGEST
/// first DIGEST, or -
/// refresh_token TOKEN, or access_token UNTIL TOKEN, or logged_out, or refused
/// ```
package struct StoredLogin: ~Copyable {
  package enum Kind: Sendable, Equatable {
    case refreshToken
    /// `until`: when the token expires, in seconds since 1970; nil: the server did not say.
    case accessToken(until: Int64?)
    /// The login was logged out.
    case ended
    /// The server takes the refresh token no more.
    case refused

    /// Whether a token stands behind the word.
    var hasToken: Bool {
      switch self {
      case .refreshToken, .accessToken: true
      case .ended, .refused: false
      }
    }
  }

  /// nil: of one that has ended, or was refused.
  package var token: Secret?
  package let kind: Kind

  /// The content of a login's file: in locked pages of its own, on its way to or from another thread.
  ///
  /// Unchecked: nothing in it changes after it was made, and its pages are wiped with it.
  package final class Content: @unchecked Sendable {
    fileprivate let memory: LockedMemory
    fileprivate let count: Int

    fileprivate init(_ memory: LockedMemory, count: Int) {
      self.memory = memory
      self.count = count
    }

    /// Any thread. Takes as long as the file system takes.
    /// - Returns: nil: there is no file.
    package static func read(_ path: String, mustLock: Bool) throws(SystemError) -> Content? {
      let read = try PrivateFile.read(path, maximum: StoredLogin.longest, mustLock: mustLock)
      return read.map { Content($0.memory, count: $0.count) }
    }

    /// Any thread. Takes as long as the file system takes; see `PrivateFile.replace`.
    package func write(_ path: String) throws(SystemError) {
      try PrivateFile.replace(path, with: memory, count: count)
    }

    fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]) }
  }

  /// Bytes of a file.
  private static let longest = TokenGrant.longestToken + 256
  private static let version = "bearerd login 1\nfor "

  /// - Parameters:
  ///   - secrets: its `.refreshToken`, if there is one, is the configured first one.
  ///   - salt: 16 random bytes.
  package static func encode(
    _ token: borrowing Secret, _ kind: Kind = .refreshToken, of source: TokenSource, _ secrets: TokenSecrets,
    salt: [UInt8], mustLock: Bool
  ) throws(SecretProblem) -> Content {
    guard salt.count == 16 else { throw SecretProblem("there are no random bytes for a login") }
    guard token.withBytes({ isToken($0) }) else {
      throw SecretProblem(
        "the token of \(source.credential) is empty, too long or has a control character")
    }
    return try encode(kind, of: source, secrets, salt: salt, mustLock: mustLock) { (text) throws(SystemError) in
      try text.append(" ")
      try token.withBytes { (bytes) throws(SystemError) in try text.append(bytes) }
    }
  }

  /// Encodes what takes a login's place when it is over: it holds for the same endpoint, client and first token.
  /// - Parameter kind: without a token.
  package static func encodeEnd(
    _ kind: Kind = .ended, of source: TokenSource, _ secrets: TokenSecrets, salt: [UInt8], mustLock: Bool
  ) throws(SecretProblem) -> Content {
    guard salt.count == 16 else { throw SecretProblem("there are no random bytes for the end of a login") }
    return try encode(kind, of: source, secrets, salt: salt, mustLock: mustLock) { _ in }
  }

  private static func encode(
    _ kind: Kind, of source: TokenSource, _ secrets: TokenSecrets, salt: [UInt8], mustLock: Bool,
    _ addToken: (inout Secret) throws(SystemError) -> Void
  ) throws(SecretProblem) -> Content {
    do throws(SystemError) {
      let arena = SecretArena()
      arena.mustLock = mustLock
      let marks = try Marks(source, secrets, salt: salt, in: arena)
      let memory = try LockedMemory(byteCount: longest, mustLock: mustLock)
      var text = try Secret(capacity: 512, in: arena)
      try text.append(version)
      try text.append("\(ASCII.hexadecimal(salt)):\(marks.place)\nfirst \(marks.first ?? "-")\n\(kind.words)")
      try addToken(&text)
      try text.append("\n")
      text.withBytes { memory.bytes.copyMemory(from: $0) }
      return Content(memory, count: text.count)
    } catch {
      throw SecretProblem(error, storing: source)
    }
  }

  /// Fails if it is no such file: damaged, or of a later version.
  /// - Parameter secrets: its `.refreshToken`, if there is one, is the configured first one.
  /// - Returns: nil: it belongs to another endpoint, client, or first token.
  package static func decode(
    _ content: Content, of source: TokenSource, _ secrets: TokenSecrets, in arena: SecretArena
  ) throws(SecretProblem) -> StoredLogin? {
    var rest = content.bytes[...]
    guard take(version, from: &rest), let salt = take(until: ":", 32, from: &rest).flatMap(octets), salt.count == 16,
      let place = take(until: "\n", 64, from: &rest), take("first ", from: &rest),
      let first = take(until: "\n", 64, from: &rest), let kind = readKind(from: &rest), rest.last == 0x0A
    else {
      let next = source.isByLogin ? "log in again" : "put a new refresh token into its source"
      throw SecretProblem(
        "\(source.store ?? "the stored login") is not a login file of this version: remove it, and \(next)")
    }
    let token = rest.dropLast()
    guard kind.hasToken ? isToken(token) : token.isEmpty else {
      throw SecretProblem("\(source.store ?? "the stored login") is damaged: remove it")
    }
    do throws(SystemError) {
      let marks = try Marks(source, secrets, salt: salt, in: arena)
      // If the first token is gone, the login goes on; if another one has taken its place, it begins anew with that.
      guard place == marks.place, marks.first == nil || marks.first == first else { return nil }
      if !kind.hasToken { return StoredLogin(token: nil, kind: kind) }
      var secret = try Secret(capacity: token.count, in: arena)
      try secret.append(UnsafeRawBufferPointer(rebasing: token))
      return StoredLogin(token: secret, kind: kind)
    } catch {
      throw SecretProblem(error, storing: source)
    }
  }

  // MARK: the text

  /// RFC 6749 appendix A.17.
  private static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.count <= TokenGrant.longestToken && bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  private static func readKind(from rest: inout Slice<UnsafeRawBufferPointer>) -> Kind? {
    if take("refresh_token ", from: &rest) { return .refreshToken }
    if take("logged_out", from: &rest) { return .ended }
    if take("refused", from: &rest) { return .refused }
    guard take("access_token ", from: &rest), let end = take(until: " ", 19, from: &rest) else { return nil }
    if end == "-" { return .accessToken(until: nil) }
    guard let seconds = Int64(end), seconds > 0, String(seconds) == end else { return nil }
    return .accessToken(until: seconds)
  }

  private static func take(_ text: String, from rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// At most `count` bytes up to `end`, which goes, too.
  private static func take(
    until end: Unicode.Scalar, _ count: Int, from rest: inout Slice<UnsafeRawBufferPointer>
  ) -> String? {
    guard let index = rest.prefix(count + 1).firstIndex(of: UInt8(ascii: end)) else { return nil }
    defer { rest = rest[(index + 1)...] }
    return String(decoding: rest[..<index], as: UTF8.self)
  }

  private static func octets(_ text: String) -> [UInt8]? {
    let bytes = ASCII.bytes(hexadecimal: text.utf8)
    // Only the form that bearerd writes: lower case.
    return bytes.map { ASCII.hexadecimal($0) } == text ? bytes : nil
  }
}

extension StoredLogin.Kind {
  fileprivate var words: String {
    switch self {
    case .refreshToken: "refresh_token"
    case .accessToken(let end): "access_token \(end.map { String($0) } ?? "-")"
    case .ended: "logged_out"
    case .refused: "refused"
    }
  }
}

/// Marks of what a login was granted for: salted digests, in hexadecimal.
private struct Marks {
  /// Digest of the endpoint and the client's id.
  let place: String
  /// Digest of the configured first token; nil: there is none.
  let first: String?

  init(_ source: TokenSource, _ secrets: TokenSecrets, salt: [UInt8], in arena: SecretArena) throws(SystemError) {
    place = try salt.span.withUnsafeBytes { (salt) throws(SystemError) in
      var text = try Secret(capacity: 256, in: arena)
      try text.append("\(source.endpoint)\u{0}\(source.client.id)")
      return try text.withBytes { (text) throws(SystemError) in try Self.digest(text, salt) }
    }
    first = try secrets.withBytes(of: .refreshToken) { (token) throws(SystemError) in
      try salt.span.withUnsafeBytes { (salt) throws(SystemError) in try Self.digest(token, salt) }
    }
  }

  private static func digest(_ text: UnsafeRawBufferPointer, _ salt: UnsafeRawBufferPointer) throws(SystemError)
    -> String
  {
    guard let digest = keyedDigest(of: text, key: salt) else { throw SystemError(operation: "SHA-256", errno: ENOMEM) }
    return ASCII.hexadecimal(digest)
  }
}

extension SecretProblem {
  fileprivate init(_ error: SystemError, storing source: TokenSource) {
    self.init("the login of \(source.credential) cannot be prepared: \(error)", isPassing: error.isPassing)
  }
}
