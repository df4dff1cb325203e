internal import Configuration
internal import Proxy
internal import Setup
internal import System

/// The command line of `bearerd`. Ends the process.
package enum Program {
  private static let usage = """
    usage: bearerd [--config FILE] [--private]

    Runs the gateway in the foreground until SIGTERM. SIGHUP reloads the configuration.

      --config FILE   the configuration; default \(ConfigurationLoader.defaultFile)
      --private       serve on free ports of localhost, without unix sockets and without a control socket: for one
                      program, as bearerctl run does it
      --version       print the version
      --help          print this

    To check a configuration, ask what it decides, or see a demonstration: bearerctl --help

    """

  /// Exit codes: 0 it was stopped, 2 usage or configuration, 71 the system said no (sysexits EX_OSERR).
  package static func run(arguments: [String]) -> Never {
    let proxies = ProcessHardening.apply()
    var file = ConfigurationLoader.defaultFile
    var isPrivate = false
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--config", "-c":
        guard let value = rest.popFirst() else { fail("--config wants the name of a file\n\n\(usage)", code: 2) }
        file = value
      case "--private": isPrivate = true
      case "--version":
        StandardOutput.print("bearerd \(ProgramVersion.text)\n")
        Process.exit(0)
      case "--help", "-h":
        StandardOutput.print(usage)
        Process.exit(0)
      default: fail("unknown argument \(argument)\n\n\(usage)", code: 2)
      }
    }
    let held = InheritedSockets()
    do throws(StartError) {
      try Server(file: FileReader.absolute(file), isPrivate: isPrivate, held: held, proxies: proxies).run()
    } catch {
      switch error {
      case .configuration:
        held.closeWaiting()
        fail("\(error)\n", code: 2)
      case .system: fail("bearerd: \(error)\n", code: 71)
      }
    }
    Process.exit(0)
  }

  private static func fail(_ text: String, code: Int32) -> Never {
    _ = StandardError.write(Array(text.utf8))
    Process.exit(code)
  }
}
