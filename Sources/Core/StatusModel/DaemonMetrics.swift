package import Gateway
internal import Primitives

/// The values of all metrics: the status, and values that the status does not have.
package struct DaemonMetrics: Sendable {
  package typealias Service = (name: String, rules: Int, counts: ServiceCounts)
  /// The circuit breaker of a credential for one upstream.
  package typealias Breaker = (credential: String, upstream: String, isSuspended: Bool, suspensions: UInt64)

  let status: DaemonStatus
  /// In the order of `status.services`.
  package var services: [Service] = []
  /// The counts of requests without a service.
  package var unplaced = ServiceCounts()
  package var breakers: [Breaker] = []
  package var processorMicroseconds: UInt64 = 0

  package init(_ status: DaemonStatus) { self.status = status }

  /// The metrics in Prometheus text format.
  package var text: [UInt8] {
    var text = Exposition()
    for metric in Metric.all where metric.isShown(self) {
      text.begin(metric.name, metric.kind, metric.help, labels: metric.labels)
      metric.write(self, &text)
    }
    return text.bytes
  }
}
