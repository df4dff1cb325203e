/// Whether the directories on a file's path let other users replace the file.
package struct PathSecurity: Sendable {
  /// Why another user can replace the file, and the command that prevents it. `nil` if no other user can.
  package var problem: (message: String, help: String)?
  /// Message about a part of the path that is safe only because it is mounted read-only, or `nil`.
  package var toleratedProblem: String?
  package var isReadOnly = false
  /// Whether Docker, Podman or Kubernetes may have mounted the file as a secret.
  package var isMountOfSecrets = false
  /// How to set the file's owner and mode in a container's settings, as the end of a help text. May be empty.
  package var containerHelp = ""
  package var isEmpty = false

  package init() {}
}
