internal import Console
internal import ArgumentParser
internal import Presets
internal import System

struct Env: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the environment variables that programs need to use a service.",
    usage: "bearerctl env [SERVICE ...] [--format FORMAT] [--config FILE]",
    discussion: """
      Official SDKs and tools read their base URL and their key from environment variables. This command prints these \
      variables with the URL of bearerd, and with a placeholder that the programs accept in place of the key.

        eval "$(bearerctl env openai)"                    in sh, bash and zsh
        bearerctl env openai --format fish | source       in fish
        bearerctl env --format dotenv > .env              all services, for programs that read .env

      The format docker prints arguments for docker run. In a container, localhost is the container itself: see \
      docs/containers.md.
      """)

  @Argument(help: "Names of services. Default: all services.")
  var services: [String] = []

  @Option(help: "sh, fish, powershell, dotenv, json or docker.")
  var format = VariableFormat.sh

  @Option(config: "The configuration. Default: your own, or the system's if you have none.")
  var config: String?

  func run() throws {
    let loaded = try LoadedConfiguration(config)
    let variables = try ConfiguredVariables(
      loaded.settings, services: services, (try? RunningDaemon(loaded.settings)) ?? nil)
    for note in variables.notes { Terminal.printError("bearerctl: \(note)\n") }
    if !ProxyVariables.withoutLocalhost.isEmpty {
      Terminal.printError("bearerctl: a proxy is set in the environment. Add localhost to NO_PROXY\n")
    }
    StandardOutput.print(format.text(variables.variables))
  }
}

extension VariableFormat: ExpressibleByArgument {}
