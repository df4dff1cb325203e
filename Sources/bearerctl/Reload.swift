internal import ArgumentParser
internal import Configuration
internal import Daemon
internal import System

/// `bearerctl reload`
struct Reload: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Let the running daemon use the changed configuration now.",
    usage: "bearerctl reload [--control PATH | --config FILE]",
    discussion: """
      Asks over the daemon's control socket, and says how it went. A configuration with errors changes nothing: \
      the daemon goes on with the old one. (SIGHUP does the same, but nobody hears the answer.)

        bearerctl check && bearerctl reload
        bearerctl reload --config ~/.config/bearerd/bearerd.yaml

      Exits with 0 if the new configuration is in use, with 1 if the old one stayed, and with 69 if no daemon answers.
      """)

  @Option(help: "The control socket.", completion: .file())
  var control: String?

  @Option(
    name: .shortAndLong, help: "The daemon's configuration, for its \"control:\" line.",
    completion: .file(extensions: ["yaml"]))
  var config: String?

  func run() throws {
    let (path, broken) = try controlPath()
    let answer: [UInt8]
    do throws(SocketError) {
      let socket = try BlockingSocket(unixPath: path, seconds: 60)
      try socket.send(Array("reload\n".utf8))
      answer = try socket.receiveAll(maximum: 1 << 20)
    } catch {
      throw Failure(
        Failure.unavailable,
        """
        \(broken.map { $0 + "\n" } ?? "")no daemon answers at \(path): \(error.message)
        (is it running, and as whom? root or the daemon's own user may ask; --control PATH or --config FILE says where)
        """)
    }
    let lines = String(decoding: answer, as: UTF8.self).split(separator: "\n", maxSplits: 1)
    let rest = lines.count > 1 ? lines[1].split(separator: "\n", omittingEmptySubsequences: false) : []
    let text = rest.map { String($0).harmless }.joined(separator: "\n")
    switch lines.first {
    case "ok":
      StandardOutput.print("reloaded: generation \(text.filter(\.isNumber)) is in use\n")
      // Then it is another file that the daemon at the usual place has read.
      if let broken { throw Failure(Failure.no, broken) }
    case "error": throw Failure(Failure.no, "the old configuration stays in use:\n\(text.trimmingNewlines)")
    default: throw Failure(Failure.unavailable, "what answers at \(path) is not bearerd")
    }
  }

  /// Where to ask, and why `--config` could not say so. The daemon is asked all the same: it is for the daemon to judge its file.
  private func controlPath() throws -> (path: String, broken: String?) {
    if let control { return (absolute(control), nil) }
    var broken: String?
    let file = absolute(config ?? ConfigurationLoader.defaultFile)
    do throws(LoadError) {
      if let path = try ConfigurationLoader.load(file).settings.controlSocket { return (path, nil) }
    } catch {
      let errors = error.diagnostics.filter { $0.severity == .error }.map { "\($0)" }
      if config != nil { broken = "\(file) cannot be used:\n\(errors.joined(separator: "\n\n"))" }
      if let path = error.controlSocket { return (path, broken) }
    }
    guard let path = ControlPath.standard else {
      throw Failure(
        Failure.unavailable,
        "\(broken.map { $0 + "\n" } ?? "")where is the control socket? XDG_RUNTIME_DIR is not set; --control PATH says it"
      )
    }
    return (path, broken)
  }
}

extension String {
  fileprivate var trimmingNewlines: String {
    var text = self[...]
    while text.last?.isNewline == true { text.removeLast() }
    return String(text)
  }
}
