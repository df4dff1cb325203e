internal import Console
internal import ArgumentParser
internal import Configuration
internal import System

@main
struct Bearerctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bearerctl",
    abstract: "Set up, check and watch bearerd, which keeps API keys out of programs.",
    discussion: """
      A program sends plain HTTP to localhost. bearerd adds the credential, verifies the server, and sends the \
      request over TLS.

      Start with:

        bearerctl demo                          see how bearerd works
        bearerctl add openai                    add a provider and its key
        bearerctl run openai -- python app.py   run a program that uses it

      Then:

        bearerctl check                         check the configuration
        bearerctl explain GET /github/user      see what would happen to a request
        bearerctl selftest                      see whether attacks get through
        bearerctl pin api.github.com            print the pins of a server
        bearerctl pin new-backup backup.key     create a backup key
        bearerctl pin test                      test the pins of all services
        bearerctl token ci                      create a token for a container
        bearerctl reload                        use the changed configuration
        bearerctl status --watch                watch the running daemon
        bearerctl discover https://login.test   print the configuration for an OAuth server
        bearerctl register https://login.test   register at an OAuth server
        bearerctl login mail                    log in to an account
        bearerctl logout mail                   end a login
        bearerctl audit verify                  verify the audit file
        bearerctl errors pin-mismatch           explain an error code

      Exit codes:

        0    success
        1    the command ran, and the result is negative
        2    wrong usage, or a configuration that cannot be used
        66+  a problem of the machine or the network, as in sysexits.h
             (69: no daemon answers)
      """,
    version: "bearerctl \(ProgramVersion.text)",
    subcommands: [
      Init.self, Add.self, Remove.self, Env.self, RunCommand.self, Check.self, Explain.self, SelftestCommand.self,
      PinCommand.self, Discover.self, Register.self, Token.self, Status.self, Errors.self, Events.self, Reload.self,
      Metrics.self, AuditCommand.self,
      Login.self, Logout.self, Resume.self, DemoCommand.self, Reference.self,
    ])

  static func main() {
    do {
      try checkCommandName()
      let (words, program) = RunCommand.split(Array(CommandLine.arguments.dropFirst()))
      var command = try parseAsRoot(words)
      if var run = command as? RunCommand {
        run.command = program
        command = run
      }
      try command.run()
    } catch let failure as Failure {
      if !failure.message.isEmpty { Terminal.printError("bearerctl: \(failure.message)\n") }
      Process.exit(failure.code)
    } catch {
      let text = fullMessage(for: error)
      let code = exitCode(for: error)
      if code == .success {
        StandardOutput.print(text + "\n")
        Process.exit(0)
      }
      Terminal.printError(text + "\n")
      Process.exit(code == .validationFailure ? Failure.usage : code.rawValue)
    }
  }

  /// Throws a `Failure` that suggests a similar command if the first argument is an unknown command.
  private static func checkCommandName() throws {
    // ArgumentParser does not suggest commands.
    let names = configuration.subcommands.map { $0._commandName } + ["help"]
    guard let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-"), !names.contains(word) else {
      return
    }
    let guess = Suggestion.nearest(to: word, in: names).map { "did you mean \"\($0)\"?" }
    throw Failure(
      Failure.usage,
      "there is no command \"\(word.harmless)\": \(guess ?? "it is one of \(names.joined(separator: ", "))")")
  }
}
