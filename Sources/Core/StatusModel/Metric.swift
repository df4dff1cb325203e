internal import Gateway
package import Primitives

/// A metric, and where its samples come from.
package struct Metric: Sendable {
  typealias Value<Source, Result> = @Sendable (Source) -> Result

  package let name: String
  package let kind: Exposition.Kind
  package let labels: [String]
  package let help: String
  /// Whether the text has the metric, perhaps without samples.
  let isShown: Value<DaemonMetrics, Bool>
  let write: @Sendable (DaemonMetrics, inout Exposition) -> Void

  init(
    _ name: String, _ kind: Exposition.Kind, _ labels: String, _ help: String,
    isShown: @escaping Value<DaemonMetrics, Bool> = { _ in true },
    _ write: @escaping @Sendable (DaemonMetrics, inout Exposition) -> Void
  ) {
    (self.name, self.kind, self.help, self.isShown, self.write) = (name, kind, help, isShown, write)
    self.labels = labels.split(separator: " ").map(String.init)
  }

  /// A metric with one sample. The text does not have the metric if the value is `nil`.
  static func single(
    _ name: String, _ kind: Exposition.Kind, _ help: String, _ value: @escaping Value<DaemonMetrics, UInt64?>
  ) -> Metric {
    Metric(name, kind, "", help, isShown: { value($0) != nil }) { $1.sample([], value($0) ?? 0) }
  }

  static func ofServices(_ name: String, _ counter: ServiceCounter, _ help: String) -> Metric {
    Metric(name, .counter, "service", help) { metrics, text in
      for service in metrics.services { text.sample([service.name], service.counts[counter]) }
    }
  }

  static func times(_ name: String, _ help: String, _ times: @escaping Value<ServiceCounts, Histogram>) -> Metric {
    Metric(name, .histogram, "service", help) { metrics, text in
      for service in metrics.services { text.sample([service.name], times(service.counts)) }
    }
  }

  /// A metric of each credential for which the value is not `nil`.
  static func ofCredentials(
    _ name: String, _ kind: Exposition.Kind, _ help: String,
    isShown: @escaping Value<DaemonMetrics, Bool> = { _ in true },
    _ value: @escaping Value<DaemonStatus.Credential, UInt64?>
  ) -> Metric {
    Metric(name, kind, "credential", help, isShown: isShown) { metrics, text in
      for credential in metrics.status.credentials {
        if let value = value(credential) { text.sample([credential.name], value) }
      }
    }
  }
}
