internal import Console
internal import ArgumentParser
internal import Configuration
internal import Setup
internal import System

/// The command line for people. Everything that holds secrets is in the daemon; nothing here opens one.
@main
struct Bearerctl: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bearerctl",
    abstract: "Check, explain, try out, reload and watch bearerd.",
    discussion: """
      bearerd carries the credentials of this machine's programs: they talk plain HTTP to \
      localhost, and it adds the credential and sends the request on over TLS that it has checked.

      New here? Begin with:

        bearerctl demo                       see it work; nothing is kept
        bearerctl add openai                 add a provider and its key
        bearerctl run openai -- python app.py   run a program that uses it
        bearerctl check                      is my configuration right?
        bearerctl explain GET /github/user   what would happen to it, and why?
        bearerctl selftest                   would attacks get through?
        bearerctl pin api.github.com         which keys could I pin?
        bearerctl token ci                   let a container in
        bearerctl reload                     use the changed configuration now
        bearerctl status --watch             what is it doing right now?
        bearerctl login mail                 log in to an account
        bearerctl logout mail                end a login, and whatever uses it
        bearerctl audit verify               was the record of requests changed?
        bearerctl errors pin-mismatch        what does this error mean?

      Exit codes: 0 fine; 1 it ran, and the answer is no; 2 usage or configuration;
      66 and more as in sysexits.h (69: no daemon answers).
      """,
    version: "bearerctl \(ProgramVersion.text)",
    subcommands: [
      Init.self, Add.self, Remove.self, Env.self, RunCommand.self, Check.self, Explain.self, SelftestCommand.self,
      PinCommand.self, Token.self,
      Status.self, Errors.self,
      Events.self, Reload.self, Metrics.self, AuditCommand.self, Login.self, Logout.self, Resume.self,
      DemoCommand.self, Reference.self,
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
      if !failure.message.isEmpty { Terminal.complain("bearerctl: \(failure.message)\n") }
      Process.exit(failure.code)
    } catch {
      let text = fullMessage(for: error)
      let code = exitCode(for: error)
      if code == .success {
        StandardOutput.print(text + "\n")
        Process.exit(0)
      }
      Terminal.complain(text + "\n")
      Process.exit(code == .validationFailure ? Failure.usage : code.rawValue)
    }
  }
}

extension Bearerctl {
  /// Says more than ArgumentParser, which does not name the right one for a misspelt command.
  private static func checkCommandName() throws {
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
