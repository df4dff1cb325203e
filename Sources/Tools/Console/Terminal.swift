internal import Glibc
internal import System

package struct Terminal {
  package let isStyled: Bool

  /// The style for standard output. Plain without a terminal.
  package static var output: Terminal {
    let isWanted = ProcessEnvironment.value("NO_COLOR") == nil && ProcessEnvironment.value("TERM") != "dumb"
    return Terminal(isStyled: isWanted && isatty(STDOUT_FILENO) == 1)
  }

  package func bold(_ text: String) -> String { styled(text, "1") }
  package func dim(_ text: String) -> String { styled(text, "2") }
  package func good(_ text: String) -> String { styled(text, "32") }
  package func bad(_ text: String) -> String { styled(text, "1;31") }
  package func warning(_ text: String) -> String { styled(text, "1;33") }
  package func advice(_ text: String) -> String { styled(text, "1;36") }

  private func styled(_ text: String, _ code: String) -> String {
    isStyled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }

  package static func printError(_ text: String) {
    StandardError.write(Array(text.utf8))
  }
}

extension String {
  package func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }

  /// The text with `?` for each control character. Safe to print on a terminal.
  package var harmless: String {
    String(
      String.UnicodeScalarView(unicodeScalars.map { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) ? "?" : $0 }))
  }
}

/// Returns text like `1 service`, `3 services` or `no services`.
package func counted(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
  count == 1 ? "1 \(one)" : "\(count == 0 ? "no" : "\(count)") \(many ?? one + "s")"
}

/// Returns the paragraph in lines of at most `width` characters, each with `indentation`.
package func wrapped(_ text: String, width: Int = 78, indentation: String = "") -> String {
  var lines: [String] = []
  var line = indentation
  for word in text.split(separator: " ") {
    if line.count > indentation.count, line.count + 1 + word.count > width {
      lines.append(line)
      line = indentation
    }
    line += (line.count > indentation.count ? " " : "") + word
  }
  return (lines + [line]).joined(separator: "\n")
}

/// Returns an absolute path. Relative paths start at the working directory.
package func absolute(_ path: String) -> String {
  guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
  defer { free(directory) }
  return String(cString: directory) + "/" + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
}
