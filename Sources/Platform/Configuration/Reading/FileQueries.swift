/// Questions of the reader of a configuration about the files that it names. Tests answer them in their own way.
package struct FileQueries: Sendable {
  /// Owner, mode, whether regular; nil: does not exist. Follows symbolic links.
  package var status: @Sendable (String) -> (owner: UInt32, mode: UInt32, isRegular: Bool)?
  /// Who else can replace the file, judged by the directories that lead to it. The file does not have to exist.
  package var security: @Sendable (String) -> PathSecurity
  /// Files among these that can be asked for, as can the directories that lead to them. A file system that has gone may
  /// take any time, and no start has to wait for a secret, or for a program that prints one (T55).
  package var answering: @Sendable ([String]) -> Set<String>
  /// Content of a file; nil: cannot be read. Asked of `ca_file` only, never of a secret.
  package var content: @Sendable (String) -> [UInt8]?

  package init(
    status: @escaping @Sendable (String) -> (owner: UInt32, mode: UInt32, isRegular: Bool)?,
    security: @escaping @Sendable (String) -> PathSecurity = { _ in PathSecurity() },
    answering: @escaping @Sendable ([String]) -> Set<String> = { Set($0) },
    content: @escaping @Sendable (String) -> [UInt8]?
  ) {
    self.status = status
    self.security = security
    self.answering = answering
    self.content = content
  }
}
