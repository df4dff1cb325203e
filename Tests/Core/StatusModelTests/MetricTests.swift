import Gateway
import StatusModel
import TestSupport
import Testing

@Suite struct MetricTests {
  private func text(_ metrics: DaemonMetrics) -> String { String(decoding: metrics.text, as: UTF8.self) }

  @Test func `each metric has one name, and the text has the metrics in the order of the table`() {
    let names = Metric.all.map(\.name)
    #expect(Set(names).count == names.count)
    let shown = text(DaemonMetrics(FullStatus.make())).matches(of: #/TYPE ([a-z_]+) /#).map { String($0.1) }
    #expect(shown == names)
  }

  @Test func `each counter of a service is the value of one metric`() {
    for counter in ServiceCounter.allCases where counter != .requests && counter != .refusals {
      let tally = ServiceTally(name: "a")
      for _ in 0..<7 { tally.count(counter) }
      var metrics = DaemonMetrics(FullStatus.make())
      metrics.services = [("a", 0, tally.counts)]
      let lines = text(metrics).split(separator: "\n").filter { $0.contains("service=\"a\"") && $0.hasSuffix(" 7") }
      #expect(lines.count == 1, "\(counter): \(lines)")
    }
  }

  @Test func `metrics of a full status have the golden text`() throws {
    var metrics = DaemonMetrics(FullStatus.make())
    let tally = ServiceTally(name: "a")
    for (index, counter) in ServiceCounter.allCases.enumerated() { for _ in 0...index { tally.count(counter) } }
    tally.recordConnect(microseconds: 150)
    tally.recordHandshake(microseconds: 2_500_000, isResumed: true)
    metrics.services = [("a", 1, tally.counts)]
    metrics.breakers = [
      ("c", "https://a.example", true, 3), ("d", "https://a.example", false, 0),
    ]
    metrics.processorMicroseconds = 1_500_000
    // There are many error codes and buckets.
    let lines =
      text(metrics).split(separator: "\n").filter { !$0.contains(/_refusals_total{|_bucket{/) }
      .joined(separator: "\n") + "\n"
    #expect(lines == (try golden("metrics.txt", for: lines)))
  }

  @Test func `without an audit file and tokens, the text has no metrics about them`() {
    let text = text(DaemonMetrics(DaemonStatus()))
    #expect(!text.contains("bearerd_audit_") && !text.contains("bearerd_token_") && !text.contains("bearerd_login_"))
    #expect(text.contains("# TYPE bearerd_credential_available gauge\n# HELP"))
  }
}
