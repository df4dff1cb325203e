/// Who can change the file at a path, judged by the directories that lead to it.
package struct PathSecurity: Sendable {
  /// Why another user can replace the file, and the command that prevents it. `nil` if no other user can.
  package var problem: (message: String, help: String)?
  /// Why another user could replace the file if a directory were not on a read-only mount. `nil` if no other user could.
  package var pardon: String?
  /// `true` if the file is on a read-only mount.
  package var isReadOnly = false
  /// `true` if the file is on a mount as containers have for secrets, which they make readable for everybody.
  package var isMountOfSecrets = false
  /// What to write where a container's files are described, as the end of a sentence. Empty outside containers.
  package var containerHelp = ""
  package var isEmpty = false

  package init() {}
}
