package import Foundation

/// The log of a daemon, as events and fields. The wording is not accessible, so that it can change without changing
/// tests.
package final class DaemonLog: Sendable, CustomStringConvertible {
  private let collector = OutputCollector()
  /// The lines so far, the lines by event, and the number of bytes read.
  private let read = Guarded((all: ReadLines(), byEvent: [String: ReadLines](), count: 0))

  /// Lines that are parsed when first requested. Logs have thousands of lines, and a test needs only a few.
  private struct ReadLines {
    private var texts: [String] = []
    private var parsed: [LoggedLine] = []

    mutating func append(_ text: String) { texts.append(text) }

    mutating func lines() -> [LoggedLine] {
      parsed += texts.compactMap { LoggedLine(Substring($0)) }
      texts = []
      return parsed
    }
  }

  package init() {}

  /// The daemon's end. Close it in this process after the daemon has started.
  package var writing: FileHandle { collector.writing }

  /// For the messages of failed tests.
  package var description: String { collector.text }

  /// For tests of the format itself.
  package var bytes: [UInt8] { Array(collector.text.utf8) }

  /// Whether a text, such as a secret or a forged field, appears nowhere in the log.
  package func hides(_ text: String) -> Bool {
    LoggedField.refuseWording(text)
    return !collector.text.contains(text)
  }

  /// The complete log lines so far, without other output to standard error.
  package var lines: [LoggedLine] {
    readOn()
    return read.withLock { $0.all.lines() }
  }

  /// Reads new lines with C functions, which stay fast under a sanitizer.
  private func readOn() {
    var text = collector.text
    read.withLock { read in
      text.withUTF8 { bytes in
        while read.count < bytes.count,
          let end = memchr(bytes.baseAddress! + read.count, 0x0A, bytes.count - read.count)
        {
          let start = UnsafeRawPointer(bytes.baseAddress! + read.count)
          let line = UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start)
          let text = String(decoding: line, as: UTF8.self)
          read.all.append(text)
          read.byEvent[Self.event(of: line), default: ReadLines()].append(text)
          read.count += line.count + 1
        }
      }
    }
  }

  private static func event(of line: UnsafeRawBufferPointer) -> String {
    guard var rest = line.baseAddress else { return "" }
    let (end, key) = (rest + line.count, " event=")
    while let blank = memchr(rest, 0x20, end - rest).map({ UnsafeRawPointer($0) }) {
      rest = blank + 1
      guard end - blank > key.utf8.count, memcmp(blank, key, key.utf8.count) == 0 else { continue }
      let name = blank + key.utf8.count
      let after = memchr(name, 0x20, end - name).map { UnsafeRawPointer($0) } ?? end
      return String(decoding: UnsafeRawBufferPointer(start: name, count: after - name), as: UTF8.self)
    }
    return ""
  }

  package func lines(named event: String, _ fields: [String: LoggedField] = [:]) -> [LoggedLine] {
    readOn()
    let all = read.withLock { $0.byEvent[event, default: ReadLines()].lines() }
    return all.filter { line in fields.allSatisfy { $1.fits(line[$0]) } }
  }

  package func wait(until condition: @escaping () -> Bool) -> Bool { collector.wait { _ in condition() } }

  /// Waits until the daemon has closed its log.
  package func finish() { collector.finish() }
}

/// A parsed log line. A malformed line has no fields.
package struct LoggedLine: Sendable, CustomStringConvertible {
  package let description: String
  /// All fields in order, including `time` and `level`.
  package let fields: [(name: String, value: String)]

  /// `nil` if the text is not a log line.
  package init?(_ text: Substring) {
    var rest = text
    // The priority prefix of the journal.
    if rest.first == "<", let end = rest.firstIndex(of: ">") { rest = rest[rest.index(after: end)...] }
    guard rest.hasPrefix("time=") || rest.hasPrefix("level=") else { return nil }
    (description, fields) = (String(text), Self.fields(&rest) ?? [])
  }

  private static func fields(_ rest: inout Substring) -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    while let equals = rest.firstIndex(of: "=") {
      let name = String(rest[..<equals])
      rest = rest[rest.index(after: equals)...]
      guard !name.isEmpty, !name.contains(" "),
        let value = rest.first == "\"" ? quoted(&rest) : plain(&rest)
      else { return nil }
      fields.append((name, value))
      if rest.isEmpty { return fields }
      guard rest.removeFirst() == " " else { return nil }
    }
    return nil
  }

  package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  private static func plain(_ rest: inout Substring) -> String? {
    let end = rest.firstIndex(of: " ") ?? rest.endIndex
    let value = rest[..<end]
    rest = rest[end...]
    return value.isEmpty || value.contains { "\"=\\".contains($0) } ? nil : String(value)
  }

  private static func quoted(_ rest: inout Substring) -> String? {
    var bytes: [UInt8] = []
    rest.removeFirst()
    while let next = rest.popFirst() {
      if next == "\"" { return String(decoding: bytes, as: UTF8.self) }
      guard next == "\\" else {
        bytes += String(next).utf8
        continue
      }
      switch rest.popFirst() {
      case "x":
        guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
        rest = rest.dropFirst(2)
        bytes.append(byte)
      case "\"": bytes.append(UInt8(ascii: "\""))
      case "\\": bytes.append(UInt8(ascii: "\\"))
      default: return nil
      }
    }
    return nil
  }
}

/// The expected value of a field.
package struct LoggedField: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, Sendable {
  let fits: @Sendable (String?) -> Bool

  private init(fits: @escaping @Sendable (String?) -> Bool) { self.fits = fits }

  package init(stringLiteral value: String) { fits = { $0 == value } }
  package init(integerLiteral value: Int) { self.init(stringLiteral: String(value)) }

  /// Expects a value that contains all these paths, addresses, numbers or configuration keys.
  package static func naming(_ parts: String...) -> LoggedField {
    for part in parts { refuseWording(part) }
    return LoggedField { value in parts.allSatisfy { value?.contains($0) == true } }
  }

  /// Stops the test if `text` is wording: several words in a row.
  static func refuseWording(_ text: String) {
    precondition(text.firstMatch(of: /[a-z']{2,} [a-z']{2,}/) == nil, "no test depends on wording: \(text)")
  }

  package static let present = LoggedField { $0 != nil }
  package static let absent = LoggedField { $0 == nil }
}
