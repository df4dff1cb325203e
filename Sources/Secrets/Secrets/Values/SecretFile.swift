internal import Glibc
package import System

/// Reads a secret from a file, after checks of the file's owner, mode and size.
package struct SecretFile {
  let path: String
  /// The name of a systemd credential; `nil` for any other file.
  let unitCredential: String?

  private static let usualSize = 4096
  /// Maximum size of any secret in bytes, also of secrets from other sources.
  static let maximumSize = 65_536

  static func forSystemdCredential(_ name: String) throws(SecretProblem) -> SecretFile {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")) else {
      throw SecretProblem("\(name) is not a valid name of a systemd credential", isMissing: true)
    }
    guard let directory = systemdCredentialDirectory else { throw missingUnitCredential(name) }
    return SecretFile(path: "\(directory)/\(name)", unitCredential: name)
  }

  static var systemdCredentialDirectory: String? {
    guard let value = getenv("CREDENTIALS_DIRECTORY"), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  package struct Content {
    /// The locked pages that contain the secret. The reader must wipe them.
    @_spi(SecretBytes) public let memory: LockedMemory
    /// Number of bytes of the secret, which begins at the start of `memory`.
    @_spi(SecretBytes) public let count: Int
    /// Modification time in seconds since 1970.
    let modified: Int64
  }

  func read(mustLock: Bool) throws(SecretProblem) -> Content {
    // One page is enough for nearly all secrets, and the limit for locked memory is often low
    for capacity in [Self.usualSize, Self.maximumSize] {
      if let content = try read(capacity: capacity, mustLock: mustLock) { return content }
    }
    throw SecretProblem("\(path) is larger than 64 KiB, which is too large for a secret")
  }

  /// Reads and checks the file; `nil` if it has more than `capacity` bytes.
  private func read(capacity: Int, mustLock: Bool) throws(SecretProblem) -> Content? {
    let memory: LockedMemory
    do { memory = try LockedMemory(byteCount: capacity, mustLock: mustLock) } catch {
      throw SecretProblem(error, reading: path)
    }
    guard let (count, status, mount) = try content(into: memory) else { return nil }
    try checkAccess(status, on: mount)
    let secret = try secretBytes(UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]), name: path)
    return Content(memory: memory, count: secret.count, modified: status.modified / 1_000_000_000)
  }

  private func content(
    into scratch: LockedMemory
  ) throws(SecretProblem) -> (count: Int, status: FileStatus, mount: MountKind)? {
    do {
      let walk = try FileWalk(path).validated()
      let (count, status) = try FileReader.read(walk, into: scratch)
      return (count, status, walk.mount)
    } catch {
      switch error.errno {
      case ENOENT, ENOTDIR:
        if let unitCredential { throw Self.missingUnitCredential(unitCredential) }
        throw SecretProblem(
          "\(path) does not exist: write the secret into it, then chmod 0600 \(path)", isMissing: true)
      case EFBIG: return nil
      case EINVAL: throw SecretProblem("\(path) is not a regular file")
      case EAGAIN:
        throw SecretProblem(
          "\(path) changed while bearerd read it: to change a secret, write a new file and rename it",
          isTransient: error.isTransient)
      case EACCES:
        throw SecretProblem(
          "\(path) cannot be read by uid \(Users.currentUID): chown \(Users.currentUID) \(path)"
            + MountedSecret.help(MountKind.unopened))
      case EPERM: throw SecretProblem("\(path) is not used: \(error)")
      default: throw SecretProblem(error, reading: path)
      }
    }
  }

  /// Throws if another user can read the file or could have written it (T44).
  private func checkAccess(_ status: FileStatus, on mount: MountKind) throws(SecretProblem) {
    // On a read-only mount, any owner is allowed. On a container's mount for secrets, any user may read: the
    // configuration check warns about that.
    guard status.owner == 0 || status.owner == Users.currentUID || mount.isReadOnly else {
      throw SecretProblem(
        "\(path) belongs to uid \(status.owner), who could change it: chown root \(path), or chown \(Users.currentUID) \(path)"
          + MountedSecret.help(mount))
    }
    // systemd grants bearerd access with an ACL, whose mask appears as the group's permission bits
    let groupMayRead = unitCredential != nil || (status.owner == 0 && isMember(of: status.group))
    let usual: UInt32 = groupMayRead ? 0o037 : 0o077
    let forbidden: UInt32 = mount.isSecretMount ? MountedSecret.forbiddenPermissions : usual
    guard status.mode & forbidden == 0 else {
      let mode = String(status.mode, radix: 8)
      let wanted = groupMayRead ? "0640" : "0600"
      throw SecretProblem(
        "\(path) is open to others (mode 0\(mode)): chmod \(wanted) \(path)" + MountedSecret.help(mount))
    }
  }

  private func isMember(of group: UInt32) -> Bool {
    if group == getegid() { return true }
    let count = getgroups(0, nil)
    guard count > 0 else { return false }
    var groups = [gid_t](repeating: 0, count: Int(count))
    return getgroups(count, &groups) > 0 && groups.contains(group)
  }

  private static func missingUnitCredential(_ name: String) -> SecretProblem {
    SecretProblem(
      "systemd passed no credential \(name): add LoadCredential=\(name):/path/to/the/secret to the unit, and restart it",
      isMissing: true)
  }
}
