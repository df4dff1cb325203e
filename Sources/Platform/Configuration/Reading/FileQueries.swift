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
  /// The paths that a pattern of `include` stands for, in the order of reading. A relative one begins at the directory.
  package var matching: @Sendable (_ pattern: String, _ directory: String) -> Result<[String], FileProblem>
  /// The text of an included file.
  package var text: @Sendable (String) -> Result<[UInt8], FileProblem>

  package init(
    status: @escaping @Sendable (String) -> (owner: UInt32, mode: UInt32, isRegular: Bool)?,
    security: @escaping @Sendable (String) -> PathSecurity = { _ in PathSecurity() },
    answering: @escaping @Sendable ([String]) -> Set<String> = { Set($0) },
    content: @escaping @Sendable (String) -> [UInt8]?,
    matching: @escaping @Sendable (_ pattern: String, _ directory: String) -> Result<[String], FileProblem> = { _, _ in
      .success([])
    },
    text: @escaping @Sendable (String) -> Result<[UInt8], FileProblem> = { _ in .success([]) }
  ) {
    self.status = status
    self.security = security
    self.answering = answering
    self.content = content
    self.matching = matching
    self.text = text
  }
}

/// Why a file, or the files that match a pattern, cannot be read.
package struct FileProblem: Error {
  package let message: String

  package init(_ message: String) { self.message = message }
}
