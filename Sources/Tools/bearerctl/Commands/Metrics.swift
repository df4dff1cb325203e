internal import Console
internal import ArgumentParser
internal import System

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the running daemon's counters in the Prometheus text format.",
    usage: "bearerctl metrics [--control PATH | --config FILE]",
    discussion: """
      Prints the text that the "metrics:" listener of the configuration serves to Prometheus. Use this \
      command if a file is easier for you than a listener:

        bearerctl metrics > /var/lib/node_exporter/bearerd.prom.new &&
          mv /var/lib/node_exporter/bearerd.prom.new /var/lib/node_exporter/bearerd.prom

      Exits with 69 if no daemon answers.
      """)

  @OptionGroup var daemon: ControlOptions

  func run() throws {
    StandardOutput.print(try daemon.client().responseText(to: "metrics"))
  }
}
