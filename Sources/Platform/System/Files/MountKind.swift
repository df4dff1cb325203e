internal import CLinux
internal import Glibc

/// The kind of mount that a file is on: on some, permission bits say little about who can read it.
package struct MountKind: Sendable, Equatable {
  /// `true` if nothing can be written there.
  package var isReadOnly = false
  /// `true` if it is a file system in memory.
  package var isInMemory = false
  /// `true` if this process runs in a container, whose mounts other users of the machine do not see.
  package private(set) var isInContainer = false

  /// Of a place that is not known.
  package init() {}

  /// Of a file that cannot be opened.
  package static var here: MountKind {
    var kind = MountKind()
    kind.isInContainer = isInContainer
    return kind
  }

  /// - Parameter descriptor: an open file, or one that was opened with O_PATH.
  init(_ descriptor: Int32) {
    var system = statvfs()
    isReadOnly = fstatvfs(descriptor, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
    var kind = statfs()
    isInMemory =
      fstatfs(descriptor, &kind) == 0 && Self.memoryFileSystems.contains(UInt32(truncatingIfNeeded: kind.f_type))
    isInContainer = Self.isInContainer
  }

  /// Whether a file that others may read is one as Docker, Podman and Kubernetes mount secrets: with mode 0444 or 0644, which
  /// the daemon cannot change, and visible in this container only.
  package var isOfSecrets: Bool { isReadOnly || (isInMemory && isInContainer) }

  /// tmpfs and ramfs.
  private static let memoryFileSystems: [UInt32] = [0x0102_1994, 0x8584_58F6]
  private static let overlayFileSystem: UInt32 = 0x794C_7630

  /// Docker, Podman and systemd leave a file; containerd and CRI-O give every container an overlay for its root.
  private static let isInContainer: Bool = {
    let marks = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"]
    if marks.contains(where: { access($0, F_OK) == 0 }) { return true }
    var root = statfs()
    return statfs("/", &root) == 0 && UInt32(truncatingIfNeeded: root.f_type) == overlayFileSystem
  }()
}
