/// A word of a command line.
package enum ShellWord {
  /// Returns a word that a POSIX shell reads as the text; in quotes only if it needs them.
  package static func quoted(_ text: String) -> String {
    isPlain(text)
      ? text : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  /// Whether every shell reads the text as it is, without quotes.
  package static func isPlain(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 || "/._-+:@%,".utf8.contains($0) }
  }
}
