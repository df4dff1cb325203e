internal import Configuration
internal import Proxy
internal import Setup
internal import System

/// The command line of `bearerd`. Ends the process.
package enum Program {
  private static let usage = """
    usage: bearerd [--config FILE] [--private UID]

    Runs the gateway in the foreground until SIGTERM. SIGHUP reloads the configuration.

      --config FILE   the configuration; default \(ConfigurationLoader.defaultFile)
      --private UID   serve only this user, on free ports of localhost and without a control socket; a service with a
                      port of its own keeps it if it is free. bearerctl run starts bearerd like this
      --version       print the version
      --help          print this

    To check a configuration, ask what it decides, or see a demonstration: bearerctl --help

    """

  /// Exit codes: 0 it was stopped, 2 usage or configuration, 71 the system said no (sysexits EX_OSERR).
  package static func run(arguments: [String]) -> Never {
    let proxies = ProcessHardening.apply()
    var file = ConfigurationLoader.defaultFile
    var privateUser: UInt32?
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--config", "-c":
        guard let value = rest.popFirst() else { fail("--config wants the name of a file\n\n\(usage)", code: 2) }
        file = value
      case "--private":
        guard let uid = rest.popFirst().flatMap({ UInt32($0) }) else {
          fail("--private wants the number of a user\n\n\(usage)", code: 2)
        }
        privateUser = uid
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
      try Server(file: FileReader.absolute(file), privateUser: privateUser, held: held, proxies: proxies).run()
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
