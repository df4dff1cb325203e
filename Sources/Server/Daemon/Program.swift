internal import Configuration
internal import Proxy
internal import Settings
internal import Loading
internal import System

package enum Program {
  private static let usage = """
    usage: bearerd [--config FILE] [--private UID [--no-audit]]

    Runs bearerd in the foreground until SIGTERM. SIGHUP reloads the configuration.

      --config FILE   the configuration. Default: \(ConfigurationLoader.defaultFile)
      --private UID   serve only this user, on free ports of localhost and without a control socket.
                      A service with its own port keeps that port if it is free.
                      "bearerctl run" starts bearerd with this option
      --no-audit      with --private: do not write the audit file. "bearerctl add" uses it to test a key
      --version       print the version
      --help          print this help

    To set up, check and watch bearerd, use bearerctl: see bearerctl --help

    """

  /// Runs the daemon, and ends the process with exit code 0 after a stop, 2 for wrong usage or an invalid
  /// configuration, and 71 for a system error.
  package static func run(arguments: [String]) -> Never {
    let proxies = ProcessHardening.apply()
    var file = ConfigurationLoader.defaultFile
    var privateUser: UInt32?
    var isAudited = true
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--config", "-c":
        guard let value = rest.popFirst() else { fail("bearerd: --config needs a file name\n\n\(usage)", code: 2) }
        file = value
      case "--private":
        guard let uid = rest.popFirst().flatMap({ UInt32($0) }) else {
          fail("bearerd: --private needs a user ID\n\n\(usage)", code: 2)
        }
        privateUser = uid
      case "--no-audit": isAudited = false
      case "--version":
        StandardOutput.print("bearerd \(ProgramVersion.text)\n")
        Process.exit(0)
      case "--help", "-h":
        StandardOutput.print(usage)
        Process.exit(0)
      default: fail("bearerd: unknown argument \(argument)\n\n\(usage)", code: 2)
      }
    }
    if !isAudited, privateUser == nil { fail("bearerd: --no-audit needs --private\n\n\(usage)", code: 2) }
    let inherited = InheritedSockets()
    do throws(StartError) {
      let use = privateUser.map { PrivateUse(uid: $0, isAudited: isAudited) }
      try Server(file: FileReader.absolute(file), privateUse: use, inherited: inherited, proxies: proxies).run()
    } catch {
      switch error {
      case .configuration:
        inherited.closeWaiting()
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
