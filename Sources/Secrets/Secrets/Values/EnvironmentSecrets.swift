internal import Glibc
internal import Settings
internal import Synchronization
internal import System

/// Secrets from environment variables. Each variable is read once and then removed from the environment.
///
/// `@unchecked`: `arena` and `values` are used only under the lock.
final class EnvironmentSecrets: @unchecked Sendable {
  private let lock = Mutex<Void>(())
  private let arena = SecretArena()
  private var values: [String: SecretBox] = [:]

  static let shared = EnvironmentSecrets()

  /// Appends the variable's value to `secret`, or returns `false` if the variable was never set.
  func append(_ name: String, to secret: inout Secret) throws(SecretProblem) -> Bool {
    try lock.withLock { _ throws(SecretProblem) in
      try importVariable(name)
      guard let entry = values[name] else { return false }
      do throws(SystemError) {
        try entry.secret.withBytes { (bytes) throws(SystemError) in try secret.append(bytes) }
      } catch {
        throw SecretProblem(error, reading: SecretSource.env(name).name)
      }
      return true
    }
  }

  private func importVariable(_ name: String) throws(SecretProblem) {
    guard let value = environmentValue(name) else { return }
    // An unusable value must not stay in the environment either
    defer { erase(name) }
    values[name] = SecretBox(try secretContent(value, name: SecretSource.env(name).name, in: arena))
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
