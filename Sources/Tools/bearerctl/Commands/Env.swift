internal import Console
internal import ArgumentParser
internal import Configuration
internal import Presets
internal import System

/// `bearerctl env`
struct Env: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the environment variables with which programs use a service.",
    usage: "bearerctl env [SERVICE ...] [--format FORMAT] [--config FILE]",
    discussion: """
      The official SDKs and tools read their base URL and their key from variables. This prints those of the services of the \
      configuration: the URL leads to bearerd, and in place of the key stands a placeholder that the programs accept.

        eval "$(bearerctl env openai)"                    in sh, bash and zsh
        bearerctl env openai --format fish | source       in fish
        bearerctl env --format dotenv > .env              those of all services, for programs that read .env

      The formats are sh, fish, powershell, dotenv, json and docker (arguments of docker run; in a container localhost is the \
      container itself, see docs/containers.md).
      """)

  @Argument(help: "Names of services. Without one: all of them.")
  var services: [String] = []

  @Option(help: "sh, fish, powershell, dotenv, json or docker.")
  var format = VariableFormat.sh

  @Option(
    name: .shortAndLong, help: "The configuration. Default: where the daemon looks.",
    completion: .file(extensions: ["yaml"]))
  var config: String?

  func run() throws {
    let loaded = try LoadedConfiguration(config)
    let variables = try ConfiguredVariables(
      loaded.settings, services: services, (try? RunningDaemon(loaded.settings)) ?? nil)
    for note in variables.notes { Terminal.complain("bearerctl: \(note)\n") }
    if !ProxyVariables.withoutLocalhost.isEmpty {
      Terminal.complain("bearerctl: a proxy is set: NO_PROXY has to name localhost\n")
    }
    StandardOutput.print(format.text(variables.variables))
  }
}

extension VariableFormat: ExpressibleByArgument {}
