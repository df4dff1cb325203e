internal import Glibc
package import System

/// A secret in a file: who may own it, who may read it, how large it may be.
package struct SecretFile {
  let path: String
  /// The credential's name, if systemd put the file there: systemd sets the mode in ways of its own. nil: any other file.
  let unitCredential: String?

  private static let usualSize = 4096
  /// The most bytes that a secret may have, wherever it comes from.
  static let maximumSize = 65_536

  /// Below $CREDENTIALS_DIRECTORY.
  static func ofUnit(_ name: String) throws(SecretProblem) -> SecretFile {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")) else {
      throw SecretProblem("\(name) is not a valid name of a systemd credential", isMissing: true)
    }
    guard let directory = unitDirectory else { throw missingUnitCredential(name) }
    return SecretFile(path: "\(directory)/\(name)", unitCredential: name)
  }

  static var unitDirectory: String? {
    guard let value = getenv("CREDENTIALS_DIRECTORY"), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// The bytes of a file, in pages of its own.
  package struct Content {
    /// To be wiped by its reader.
    @_spi(SecretBytes) public let memory: LockedMemory
    /// Bytes of it that are the secret, from the first one on.
    @_spi(SecretBytes) public let count: Int
    /// Seconds since 1970.
    let modified: Int64
  }

  func read(mustLock: Bool) throws(SecretProblem) -> Content {
    // One page does for nearly all, and what a process may lock is often little
    for room in [Self.usualSize, Self.maximumSize] {
      if let content = try read(room: room, mustLock: mustLock) { return content }
    }
    throw SecretProblem("\(path) is larger than 64 KiB, which is too large for a secret")
  }

  /// nil: does not fit.
  private func read(room: Int, mustLock: Bool) throws(SecretProblem) -> Content? {
    let memory: LockedMemory
    do { memory = try LockedMemory(byteCount: room, mustLock: mustLock) } catch {
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
      let walk = try FileWalk(path).judged()
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
          isPassing: error.isPassing)
      case EACCES:
        throw SecretProblem(
          "\(path) cannot be read by uid \(Users.currentUID): chown \(Users.currentUID) \(path)"
            + MountedSecret.help(MountKind.here))
      case EPERM: throw SecretProblem("\(path) is not used: \(error)")
      default: throw SecretProblem(error, reading: path)
      }
    }
  }

  /// Refuses a file that another user can read or could have written (T44). On a read-only mount no user can write, and on one
  /// as containers have for secrets every mode is readable; the configuration's check warns of that.
  private func checkAccess(_ status: FileStatus, on mount: MountKind) throws(SecretProblem) {
    guard status.owner == 0 || status.owner == Users.currentUID || mount.isReadOnly else {
      throw SecretProblem(
        "\(path) belongs to uid \(status.owner), who could change it: chown root \(path), or chown \(Users.currentUID) \(path)"
          + MountedSecret.help(mount))
    }
    // systemd grants us access by an ACL, whose mask looks like a group's bits
    let groupMayRead = unitCredential != nil || (status.owner == 0 && isOurs(group: status.group))
    let usual: UInt32 = groupMayRead ? 0o037 : 0o077
    let forbidden: UInt32 = mount.isOfSecrets ? MountedSecret.forbidden : usual
    guard status.mode & forbidden == 0 else {
      let mode = String(status.mode, radix: 8)
      let wanted = groupMayRead ? "0640" : "0600"
      throw SecretProblem(
        "\(path) is open to others (mode 0\(mode)): chmod \(wanted) \(path)" + MountedSecret.help(mount))
    }
  }

  private func isOurs(group: UInt32) -> Bool {
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
