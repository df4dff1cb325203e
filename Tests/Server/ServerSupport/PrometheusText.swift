import TestSupport

/// A strict parser of the Prometheus text format 0.0.4.
package struct PrometheusText {
  package struct Sample {
    package let name: String
    package let labels: [String: String]
    package let value: Double
  }

  package private(set) var types: [String: String] = [:]
  package private(set) var samples: [Sample] = []

  package init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw TestFailure("the last line does not end") }
    var helped: Set<String> = []
    var series: Set<String> = []
    var family = ""
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
      let line = String(line)
      if let match = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\\]+)/) {
        family = String(match.1)
        guard helped.insert(family).inserted else { throw TestFailure("a family twice: \(line)") }
      } else if let match = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)/) {
        guard match.1 == family, types[family] == nil else { throw TestFailure("a type without its help: \(line)") }
        types[family] = String(match.2)
      } else {
        let sample = try PrometheusText.sample(line)
        let names = types[family] == "histogram" ? ["_bucket", "_sum", "_count"].map { family + $0 } : [family]
        guard names.contains(sample.name) else { throw TestFailure("outside of its family: \(line)") }
        let key = "\(sample.name) \(sample.labels.sorted { $0.key < $1.key })"
        guard series.insert(key).inserted else { throw TestFailure("a series twice: \(line)") }
        samples.append(sample)
      }
    }
    try checkHistograms()
  }

  /// Returns the value of the only series with these labels.
  package func value(_ name: String, _ labels: [String: String] = [:]) throws -> Double {
    let found = samples.filter { sample in
      sample.name == name && labels.allSatisfy { sample.labels[$0.key] == $0.value }
    }
    guard found.count == 1 else { throw TestFailure("\(found.count) series \(name) \(labels)") }
    return found[0].value
  }

  private static func sample(_ line: String) throws -> Sample {
    guard let match = line.wholeMatch(of: /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9.]+)/),
      let value = Double(match.3)
    else { throw TestFailure("no sample: \(line)") }
    var labels: [String: String] = [:]
    var rest = Substring(match.2 ?? "")
    while !rest.isEmpty {
      guard let label = rest.prefixMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)/),
        labels.updateValue(String(label.2), forKey: String(label.1)) == nil
      else { throw TestFailure("no label: \(rest)") }
      rest = rest[label.range.upperBound...]
    }
    return Sample(name: String(match.1), labels: labels, value: value)
  }

  /// Buckets increase, and the last bucket is +Inf and equals the count.
  private func checkHistograms() throws {
    for (family, type) in types where type == "histogram" {
      let buckets = samples.filter { $0.name == family + "_bucket" }
      let groups = Dictionary(grouping: buckets) { $0.labels.filter { $0.key != "le" } }
      for (labels, group) in groups {
        let bounds = group.map { $0.labels["le"] == "+Inf" ? Double.infinity : Double($0.labels["le"] ?? "") ?? .nan }
        guard bounds.last == .infinity, zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 }),
          zip(group, group.dropFirst()).allSatisfy({ $0.value <= $1.value }),
          try value(family + "_count", labels) == group.last?.value
        else { throw TestFailure("the histogram \(family) \(labels) is none") }
        _ = try value(family + "_sum", labels)
      }
    }
  }
}
