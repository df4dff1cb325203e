/// Whether the directories on a file's path let other users replace the file.
package struct PathSecurity: Sendable {
  /// Why another user can replace the file, and the command that prevents it. `nil` if no other user can.
  package var problem: (message: String, help: String)?
  /// Message about a directory or link on the path that is safe only because it is mounted read-only. `nil` if there is
  /// none.
  package var toleratedProblem: String?
  package var isReadOnly = false
  /// Whether Docker, Podman or Kubernetes may have mounted the file as a secret. All users can often read such files.
  package var isMountOfSecrets = false
  /// How to set the file's owner and mode in a container's settings, as the end of a help text. Empty if the file is
  /// neither in a container nor on a read-only mount.
  package var containerHelp = ""
  package var isEmpty = false

  package init() {}
}
