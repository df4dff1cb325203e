/// Files of secrets as containers have them.
package enum MountedSecret {
  /// Permission bits that no file of a secret has, even where everybody may read it: others may write it.
  package static let forbidden: UInt32 = 0o022

  /// The end of a sentence whose help is a command of a shell: what to write where a container's files are described. Empty
  /// outside containers.
  package static func help(_ mount: MountKind) -> String {
    guard mount.isInContainer || mount.isReadOnly else { return "" }
    return ". In a container: set mode: 0400 and uid: for the secret in the Compose file, or "
      + "defaultMode: 0400 and fsGroup in the pod"
  }
}
