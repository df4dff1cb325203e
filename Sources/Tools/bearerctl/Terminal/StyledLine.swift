internal import Console
struct StyledLine {
  enum Style { case plain, bold, dim, good, bad }

  private var parts: [(text: String, style: Style)]

  init(_ text: String, _ style: Style) { parts = [(text, style)] }

  mutating func append(_ text: String, _ style: Style) { parts.append((text, style)) }

  /// Returns the line for the terminal, cut off after `width` characters.
  func rendered(width: Int, _ terminal: Terminal) -> String {
    let isTruncated = parts.reduce(0) { $0 + $1.text.count } > width
    var room = isTruncated ? max(0, width - 1) : width
    var line = ""
    for part in parts {
      let text = String(part.text.prefix(room))
      room -= text.count
      if !text.isEmpty { line += styled(text, part.style, terminal) }
    }
    return isTruncated && width > 0 ? line + "…" : line
  }

  private func styled(_ text: String, _ style: Style, _ terminal: Terminal) -> String {
    switch style {
    case .plain: text
    case .bold: terminal.bold(text)
    case .dim: terminal.dim(text)
    case .good: terminal.good(text)
    case .bad: terminal.bad(text)
    }
  }
}
