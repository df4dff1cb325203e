package enum ShellWord {
  /// Returns a word that a POSIX shell reads as `text`, with quotes only if they are needed.
  package static func quoted(_ text: String) -> String {
    isPlain(text)
      ? text : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  /// Whether every shell reads the text as it is, without quotes.
  package static func isPlain(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { ASCII.isLetterOrDigit($0) || "/._-+:@%,".utf8.contains($0) }
  }
}
