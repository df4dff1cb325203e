internal import CLinux
internal import Glibc

/// The kind of mount that a file is on.
package struct MountKind: Sendable, Equatable {
  package var isReadOnly = false
  /// `true` for tmpfs and ramfs.
  package var isInMemory = false
  /// Whether this process runs in a container.
  package private(set) var isInContainer = false

  package init() {}

  /// The mount kind of a file that cannot be opened. Only `isInContainer` is known. The other properties are `false`.
  package static var unopened: MountKind {
    var kind = MountKind()
    kind.isInContainer = isInContainer
    return kind
  }

  init(_ descriptor: Int32) {
    isReadOnly = Self.isReadOnly(descriptor)
    var kind = statfs()
    isInMemory =
      fstatfs(descriptor, &kind) == 0 && Self.memoryFileSystems.contains(UInt32(truncatingIfNeeded: kind.f_type))
    isInContainer = Self.isInContainer
  }

  /// Whether Docker, Podman or Kubernetes may have mounted a secret here. Its mode can then be 0444 or 0644.
  package var isSecretMount: Bool { isReadOnly || (isInMemory && isInContainer) }

  static func isReadOnly(_ descriptor: Int32) -> Bool {
    var system = statvfs()
    return fstatvfs(descriptor, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
  }

  private static let memoryFileSystems: [UInt32] = [0x0102_1994, 0x8584_58F6]
  private static let overlayFileSystem: UInt32 = 0x794C_7630

  private static let isInContainer: Bool = {
    // Docker, Podman and systemd create a marker file. containerd and CRI-O mount an overlay as the root.
    let markers = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"]
    if markers.contains(where: { access($0, F_OK) == 0 }) { return true }
    var root = statfs()
    return statfs("/", &root) == 0 && UInt32(truncatingIfNeeded: root.f_type) == overlayFileSystem
  }()
}
