internal import StatusModel

extension ReferencePage {
  static var metrics: ReferencePage {
    ReferencePage(
      "metrics.md",
      """
      # Metrics

      Look up a metric that bearerd reports to Prometheus. `bearerctl metrics` prints the current values.
      [Monitoring](../monitoring.md) shows how to scrape them, and has alert rules.

      | metric | type | labels | |
      |---|---|---|---|

      """
        + Metric.all.map { metric in
          let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
          return "| `\(metric.name)` | \(metric.kind) | \(labels) | \(metric.help) |\n"
        }.joined() + """

          Label values come from the configuration or from fixed lists, never from a request. `service` is empty for requests that
          reached no service. `rule` is `none` if no rule decided. A histogram also has the samples `_bucket`, `_sum` and `_count`.

          """)
  }
}
