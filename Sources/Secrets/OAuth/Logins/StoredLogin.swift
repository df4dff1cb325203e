internal import Crypto
internal import Glibc
import Primitives
@_spi(SecretBytes) package import Secrets
package import Settings
package import System

/// A login in a file: a token, or a record that the login has ended (T46). bearerd ignores the file if the digests of
/// the token endpoint and client ID (`for`), or of the first refresh token (`first`), do not match the configuration.
/// ```
/// bearerd login 1
/// for SALT:DIGEST
/// first DIGEST, or -
/// refresh_token TOKEN, or access_token UNTIL TOKEN, or logged_out, or refused
/// ```
package struct StoredLogin: ~Copyable {
  package enum Kind: Sendable, Equatable {
    case refreshToken
    /// `until` is the token's expiry in seconds since 1970. `nil` if unknown.
    case accessToken(until: Int64?)
    /// The user has logged out. A restart must not use the configured refresh token again.
    case loggedOut
    /// The server has rejected the refresh token. A restart must not use the configured refresh token again.
    case refused

    var hasToken: Bool {
      switch self {
      case .refreshToken, .accessToken: true
      case .loggedOut, .refused: false
      }
    }
  }

  /// The refresh or access token. `nil` after a logout or a refusal.
  package var token: Secret?
  package let kind: Kind

  /// The content of a login file, in its own locked pages.
  /// `@unchecked Sendable`, because it never changes.
  package final class Content: @unchecked Sendable {
    fileprivate let memory: LockedMemory
    fileprivate let count: Int

    fileprivate init(_ memory: LockedMemory, count: Int) {
      self.memory = memory
      self.count = count
    }

    /// Reads a login file. Can be called on any thread, and blocks.
    /// - Returns: `nil` if there is no file.
    package static func read(_ path: String, mustLock: Bool) throws(SystemError) -> Content? {
      let read = try PrivateFile.read(path, maximum: StoredLogin.longest, mustLock: mustLock)
      return read.map { Content($0.memory, count: $0.count) }
    }

    /// Replaces a login file. Can be called on any thread, and blocks.
    package func write(_ path: String) throws(SystemError) {
      try PrivateFile.replace(path, with: memory, count: count)
    }

    fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]) }
  }

  /// Maximum size of a login file, in bytes.
  private static let longest = TokenGrant.longestToken + 256
  private static let version = "bearerd login 1\nfor "

  /// Encodes a login file with a token.
  /// - Parameters:
  ///   - secrets: the secret `.refreshToken`, if present, is the refresh token from the configuration.
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

  /// Encodes the file that records the end of a login.
  /// - Parameter kind: `.loggedOut` or `.refused`.
  package static func encodeEndMarker(
    _ kind: Kind = .loggedOut, of source: TokenSource, _ secrets: TokenSecrets, salt: [UInt8], mustLock: Bool
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
      let binding = try Binding(source, secrets, salt: salt, in: arena)
      let memory = try LockedMemory(byteCount: longest, mustLock: mustLock)
      var text = try Secret(capacity: 512, in: arena)
      try text.append(version)
      try text.append("\(ASCII.hexadecimal(salt)):\(binding.endpoint)\nfirst \(binding.first ?? "-")\n\(kind.words)")
      try addToken(&text)
      try text.append("\n")
      text.withBytes { memory.bytes.copyMemory(from: $0) }
      return Content(memory, count: text.count)
    } catch {
      throw SecretProblem(error, storing: source)
    }
  }

  /// Decodes a login file. Throws if the file is damaged or of a later version.
  /// - Parameter secrets: the secret `.refreshToken`, if present, is the refresh token from the configuration.
  /// - Returns: `nil` if the login belongs to another endpoint, client or configured refresh token.
  package static func decode(
    _ content: Content, of source: TokenSource, _ secrets: TokenSecrets, in arena: SecretArena
  ) throws(SecretProblem) -> StoredLogin? {
    var rest = content.bytes[...]
    guard skip(version, from: &rest),
      let salt = read(until: ":", 32, from: &rest).flatMap(decodedHex), salt.count == 16,
      let endpoint = read(until: "\n", 64, from: &rest), skip("first ", from: &rest),
      let first = read(until: "\n", 64, from: &rest), let kind = readKind(from: &rest), rest.last == 0x0A
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
      let binding = try Binding(source, secrets, salt: salt, in: arena)
      // The login stays valid without a configured first token. A different first token replaces the login.
      guard endpoint == binding.endpoint, binding.first == nil || binding.first == first else { return nil }
      if !kind.hasToken { return StoredLogin(token: nil, kind: kind) }
      let secret = try Secret.copy(of: UnsafeRawBufferPointer(rebasing: token), in: arena)
      return StoredLogin(token: secret, kind: kind)
    } catch {
      throw SecretProblem(error, storing: source)
    }
  }

  // MARK: file format

  /// Whether the bytes are a valid token (RFC 6749 appendix A.17).
  private static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.count <= TokenGrant.longestToken && bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
  }

  private static func readKind(from rest: inout Slice<UnsafeRawBufferPointer>) -> Kind? {
    if skip("refresh_token ", from: &rest) { return .refreshToken }
    if skip("logged_out", from: &rest) { return .loggedOut }
    if skip("refused", from: &rest) { return .refused }
    guard skip("access_token ", from: &rest), let end = read(until: " ", 19, from: &rest) else { return nil }
    if end == "-" { return .accessToken(until: nil) }
    guard let seconds = Int64(end), seconds > 0, String(seconds) == end else { return nil }
    return .accessToken(until: seconds)
  }

  private static func skip(_ text: String, from rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
    guard rest.starts(with: text.utf8) else { return false }
    rest = rest.dropFirst(text.utf8.count)
    return true
  }

  /// Reads text of at most `count` bytes that ends before `end`, and skips `end`. `nil` if there is no `end`.
  private static func read(
    until end: Unicode.Scalar, _ count: Int, from rest: inout Slice<UnsafeRawBufferPointer>
  ) -> String? {
    guard let index = rest.prefix(count + 1).firstIndex(of: UInt8(ascii: end)) else { return nil }
    defer { rest = rest[(index + 1)...] }
    return String(decoding: rest[..<index], as: UTF8.self)
  }

  private static func decodedHex(_ text: String) -> [UInt8]? {
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
    case .loggedOut: "logged_out"
    case .refused: "refused"
    }
  }
}

/// The digests in a login file, in hexadecimal.
private struct Binding {
  let endpoint: String
  /// Digest of the configured first refresh token. `nil` if there is none.
  let first: String?

  init(_ source: TokenSource, _ secrets: TokenSecrets, salt: [UInt8], in arena: SecretArena) throws(SystemError) {
    endpoint = try salt.span.withUnsafeBytes { (salt) throws(SystemError) in
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
    self.init("the login of \(source.credential) cannot be prepared: \(error)", isTransient: error.isTransient)
  }
}
