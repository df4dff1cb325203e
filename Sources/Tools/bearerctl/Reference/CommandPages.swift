internal import ArgumentParser

extension ReferencePage {
  /// An index page, and for each command a page with its help text.
  static var commands: [ReferencePage] {
    let commands = Bearerctl.configuration.subcommands.filter { $0.configuration.shouldDisplay }
    return [ReferencePage("commands/README.md", index(commands))] + commands.map(page)
  }

  private static func index(_ commands: [any ParsableCommand.Type]) -> String {
    """
    # Commands

    Look up a command of `bearerctl`. `bearerctl help COMMAND` and `man bearerctl` show the same texts.

    | command | |
    |---|---|

    """
      + commands.map { "| [`bearerctl \($0._commandName)`](\($0._commandName).md) | \($0.configuration.abstract) |\n" }
      .joined() + """

        `man bearerd` describes the daemon, [exit statuses](../exit-status.md) lists what both programs return, and
        `make install` copies completions for bash, zsh and fish.

        ## How bearerctl finds the daemon

        `login`, `logout`, `metrics`, `reload`, `resume` and `status` talk to the running daemon over its control socket:

        | daemon | socket |
        |---|---|
        | of the system | `/run/bearerd/control.sock` |
        | of your own user | `$XDG_RUNTIME_DIR/bearerd-control.sock` |
        | with `control: PATH` in its configuration | `PATH` |

        `--control PATH` names the socket, and `--config FILE` names the configuration whose `control` key is used. Without a
        control socket, `kill -HUP` reloads the configuration, and the log has the result.

        """
  }

  private static func page(_ command: any ParsableCommand.Type) -> ReferencePage {
    let inner = command.configuration.subcommands
    let helps = [command] + inner
    let texts = helps.map { "```text\n\(Bearerctl.helpMessage(for: $0, columns: 100))```\n" }
    return ReferencePage(
      "commands/\(command._commandName).md",
      "# bearerctl \(command._commandName)\n\n" + texts.joined(separator: "\n"))
  }
}
