internal import Glibc
internal import Synchronization
internal import System

/// Secrets of environment variables. Read once, then gone from the process's environment block, where any program of the
/// same user could read them; so they are kept here for the keyrings of later configurations.
///
/// Unchecked: `arena` and `values` are touched with the lock held only, which the compiler cannot see.
final class EnvironmentSecrets: @unchecked Sendable {
  private let lock = Mutex<Void>(())
  private let arena = SecretArena()
  private var values: [String: Kept] = [:]

  /// The process has one environment.
  static let ofProcess = EnvironmentSecrets()

  private final class Kept {
    let secret: Secret
    init(_ secret: consuming Secret) { self.secret = secret }
  }

  /// Appends a copy to `secret`; false when the variable was never set.
  func append(_ name: String, to secret: inout Secret) throws(SecretProblem) -> Bool {
    try lock.withLock { _ throws(SecretProblem) in
      try keep(name)
      guard let kept = values[name] else { return false }
      do throws(SystemError) {
        try kept.secret.withBytes { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: SecretSource.env(name).name)
      }
      return true
    }
  }

  private func keep(_ name: String) throws(SecretProblem) {
    guard let value = environmentValue(name) else { return }
    // Whatever it is: an unusable value shall not stay in the environment either
    defer { erase(name) }
    values[name] = Kept(try secretContent(value, name: SecretSource.env(name).name, in: arena))
  }

  private func environmentValue(_ name: String) -> UnsafeRawBufferPointer? {
    guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "=")), let value = getenv(name) else { return nil }
    return UnsafeRawBufferPointer(start: value, count: strlen(value))
  }

  private func erase(_ name: String) {
    guard let value = getenv(name) else { return }
    explicit_bzero(value, strlen(value))
    unsetenv(name)
  }
}
