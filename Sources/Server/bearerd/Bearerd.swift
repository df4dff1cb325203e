internal import Daemon

/// The daemon: `bearerd [--config FILE]`. Everything else that people ask is answered by `bearerctl`.
@main
enum Bearerd {
  static func main() {
    Program.run(arguments: Array(CommandLine.arguments.dropFirst()))
  }
}
