package enum MountedSecret {
  /// Permission bits that a secret file must never have: write permission for the group and for others.
  package static let forbiddenPermissions: UInt32 = 0o022

  /// Returns advice for containers, to append to a help text with a shell command. Empty if the file is neither in a
  /// container nor on a read-only mount.
  package static func help(_ mount: MountKind) -> String {
    guard mount.isInContainer || mount.isReadOnly else { return "" }
    return ". In a container: set mode: 0400 and uid: for the secret in the Compose file, or "
      + "defaultMode: 0400 and fsGroup in the pod"
  }
}
