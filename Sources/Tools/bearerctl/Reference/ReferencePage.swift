internal import Console
internal import StatusModel

/// A page of `docs/reference`, generated from the source code.
struct ReferencePage {
  /// The path below `docs/reference`, such as `errors/rules.md`.
  let path: String
  let text: String

  init(_ path: String, _ text: String) {
    self.path = path
    self.text = "<!-- Written by make generate. -->\n" + text
  }

  static var all: [ReferencePage] {
    [events, metrics, exitStatus] + errors + commands
  }

  static var events: ReferencePage {
    ReferencePage(
      "events.md",
      """
      # Log events

      Look up a line of the log by its `event`. Each entry has the levels and the fields that may follow. A field without a
      value is left out. [Logs](../operate/logs.md) explains how to read and search the log. `bearerctl events EVENT` prints the
      same text.

      """ + LogEvent.allCases.map(section).joined())
  }

  private static func section(_ event: LogEvent) -> String {
    """

    ## \(event.rawValue)

    \(wrapped("Level " + EventCatalogue.levels(of: event, mark: "**") + ". Fields: " + fields(of: event) + ".", width: 110))

    \(wrapped(event.row.what.description, width: 110))

    """ + (event.row.todo.map { "\n" + wrapped("**What to do.** \($0)", width: 110) + "\n" } ?? "")
  }

  private static func fields(of event: LogEvent) -> String {
    event.row.fields.description.split(separator: " ").map { "`\($0)`" }.joined(separator: ", ")
  }

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

  static var exitStatus: ReferencePage {
    ReferencePage(
      "exit-status.md",
      """
      # Exit statuses

      Look up what an exit status of `bearerctl` or `bearerd` means. Statuses from 66 are those of `sysexits.h`.

      | status | bearerctl | bearerd |
      |---|---|---|

      """
        + ExitStatus.allCases.map { status in
          "| \(status.rawValue) | \(status.meaning) | \(status.meaningForDaemon.map { "\($0)" } ?? "") |\n"
        }.joined() + """

          `bearerctl run` returns the status of the program that it runs. With `Restart=on-failure`, the systemd units start
          bearerd again after 71, and not after 2.

          """)
  }
}
