/// Writes metrics in the Prometheus text format, version 0.0.4.
package struct Exposition {
  package enum Kind: Sendable { case counter, gauge, histogram }

  package private(set) var bytes: [UInt8] = []
  private var family: String = ""
  /// The text before each label value, such as `{service="`. The last one is for the label `le` of a histogram's buckets.
  private var labels: [[UInt8]] = []

  package init() {}

  /// Begins a metric family. Its samples follow, each with one value for each label.
  /// - Parameter help: a text without backslashes and line breaks.
  package mutating func begin(_ name: String, _ kind: Kind, _ help: String, labels: [String] = []) {
    family = name
    self.labels = (labels + ["le"]).enumerated().map { Array((($0 == 0 ? "{" : "\",") + $1 + "=\"").utf8) }
    bytes.append("# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n")
  }

  package mutating func sample(_ values: [String], _ value: UInt64) {
    name("", values)
    bytes.append(decimal: value)
    bytes.append("\n")
  }

  /// Writes a duration as a sample in seconds.
  package mutating func sample(microseconds: UInt64) {
    name("", [])
    append(seconds: microseconds)
    bytes.append("\n")
  }

  package mutating func sample(_ values: [String], _ histogram: Histogram) {
    // A thousand services have 60,000 of these lines, and the event loop serves no client meanwhile. Therefore the
    // text before the numbers is made only once per histogram.
    let start = bytes.count
    name("_bucket", values + [""])
    let prefix = Array(bytes[start...].dropLast(3))  // up to the bound, before `"} `
    bytes.removeSubrange(start...)
    var total: UInt64 = 0
    for (index, count) in histogram.counts.enumerated() {
      total &+= count
      bytes.append(contentsOf: prefix)
      bytes.append(contentsOf: Exposition.bounds[index])
      bytes.append(decimal: total)
      bytes.append("\n")
    }
    name("_sum", values)
    append(seconds: histogram.sum)
    bytes.append("\n")
    name("_count", values)
    bytes.append(decimal: total)
    bytes.append("\n")
  }

  /// For each bucket, the text of its line from the upper bound up to the count, such as `0.0005"} `.
  private static let bounds: [[UInt8]] = (Histogram.bounds.map(seconds) + ["+Inf"]).map { Array("\($0)\"} ".utf8) }

  private mutating func name(_ suffix: String, _ values: [String]) {
    bytes.append(family)
    bytes.append(suffix)
    for (label, value) in zip(labels, values) {
      bytes.append(contentsOf: label)
      append(escaped: value)
    }
    bytes.append(values.isEmpty ? " " : "\"} ")
  }

  private mutating func append(escaped text: String) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): bytes.append("\\\\")
      case UInt8(ascii: "\""): bytes.append("\\\"")
      case UInt8(ascii: "\n"): bytes.append("\\n")
      default: bytes.append(byte)
      }
    }
  }

  private mutating func append(seconds microseconds: UInt64) { bytes.append(Exposition.seconds(microseconds)) }

  /// Returns a duration in seconds, such as `0.0005`, `1` or `12.5`.
  static func seconds(_ microseconds: UInt64) -> String {
    var fraction = String(microseconds % 1_000_000)
    fraction = String(repeating: "0", count: 6 - fraction.utf8.count) + fraction
    while fraction.last == "0" { fraction.removeLast() }
    return "\(microseconds / 1_000_000)" + (fraction.isEmpty ? "" : ".\(fraction)")
  }
}
