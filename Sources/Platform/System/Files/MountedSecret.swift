package enum MountedSecret {
  /// Permission bits that a secret file must never have.
  package static let forbiddenPermissions: UInt32 = 0o022

  /// Returns advice for containers, to append to a help text. Empty if the mount needs no advice.
  package static func help(_ mount: MountKind) -> String {
    guard mount.isInContainer || mount.isReadOnly else { return "" }
    return ". In a container: set mode: 0400 and uid: for the secret in the Compose file, or "
      + "defaultMode: 0400 and fsGroup in the pod"
  }
}
