@_spi(SecretBytes) package import Credentials
package import System

/// A refresh token that is kept in a file, for the source that it was granted to and no other: whoever changes the token
/// endpoint, the client's id or the configured first token makes what is stored worthless, and begins anew with what is
/// configured (T38, T39).
package struct StoredLogin: ~Copyable {
  package let refreshToken: Secret

  /// What a file holds, or would: in locked pages of its own, on its way to or from another thread.
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
    package static func read(_ path: String, mustLock: Bool) throws(SecretProblem) -> Content? { nil }

    /// Any thread. Takes as long as the file system takes; see `PrivateFile.replace`.
    package func write(_ path: String) throws(SystemError) {
      try PrivateFile.replace(path, with: memory, count: count)
    }
  }

  /// - Parameters:
  ///   - secrets: its `.refreshToken`, if there is one, is the configured first one.
  ///   - salt: 16 random bytes.
  package static func encode(
    _ refreshToken: borrowing Secret, of source: TokenSource, _ secrets: TokenSecrets, salt: [UInt8], mustLock: Bool
  ) throws(SecretProblem) -> Content {
    throw SecretProblem("not yet")
  }

  /// - Parameter secrets: its `.refreshToken`, if there is one, is the configured first one.
  /// - Returns: nil: it belongs to another endpoint, client, or first token.
  package static func decode(
    _ content: Content, of source: TokenSource, _ secrets: TokenSecrets, in arena: SecretArena
  ) throws(SecretProblem) -> StoredLogin? {
    throw SecretProblem("not yet")
  }
}
