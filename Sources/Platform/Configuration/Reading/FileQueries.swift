/// The reader's access to the files that a configuration names. Tests replace these functions.
package struct FileQueries: Sendable {
  /// Returns a file's properties. Follows symbolic links. `nil` if the file does not exist.
  package var status: @Sendable (String) -> (owner: UInt32, mode: UInt32, isRegular: Bool)?
  /// Returns whether the directories on a path let other users replace the file, which may be missing.
  package var security: @Sendable (String) -> PathSecurity
  /// Returns those of the given paths whose file systems respond (T55).
  package var responding: @Sendable ([String]) -> Set<String>
  /// Returns the contents of a certificate file, or `nil` if the file cannot be read.
  package var content: @Sendable (String) -> [UInt8]?
  /// Returns the paths that match an `include` pattern, in the order of reading.
  package var matching: @Sendable (_ pattern: String, _ directory: String) -> Result<[String], FileProblem>
  /// Returns the text of an included file.
  package var text: @Sendable (String) -> Result<[UInt8], FileProblem>

  package init(
    status: @escaping @Sendable (String) -> (owner: UInt32, mode: UInt32, isRegular: Bool)?,
    security: @escaping @Sendable (String) -> PathSecurity = { _ in PathSecurity() },
    responding: @escaping @Sendable ([String]) -> Set<String> = { Set($0) },
    content: @escaping @Sendable (String) -> [UInt8]?,
    matching: @escaping @Sendable (_ pattern: String, _ directory: String) -> Result<[String], FileProblem> = { _, _ in
      .success([])
    },
    text: @escaping @Sendable (String) -> Result<[UInt8], FileProblem> = { _ in .success([]) }
  ) {
    self.status = status
    self.security = security
    self.responding = responding
    self.content = content
    self.matching = matching
    self.text = text
  }
}

/// Why a file, or the files that match a pattern, cannot be read.
package struct FileProblem: Error, CustomStringConvertible {
  package let message: String

  package init(_ message: String) { self.message = message }

  package var description: String { message }
}
