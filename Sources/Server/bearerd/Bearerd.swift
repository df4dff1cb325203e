internal import Daemon

/// The entry point of the daemon. `bearerctl` has all other commands.
@main
enum Bearerd {
  static func main() {
    Program.run(arguments: Array(CommandLine.arguments.dropFirst()))
  }
}
