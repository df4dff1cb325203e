internal import Console
internal import ArgumentParser
internal import Configuration
internal import HTTP1
internal import Settings
internal import Loading
internal import Gateway
internal import Policy
internal import System

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what would happen to a request, and why. Nothing is sent.",
    usage: """
      bearerctl explain METHOD URL [--config FILE] [--user NAME|UID]
                               [--client NAME] [--listener NAME]
                               [--header 'Name: value' ...]
      """,
    discussion: """
      Prints who sends the request, why each rule did or did not decide, where the request would go, and what bearerd \
      would remove and add.

        bearerctl explain GET http://localhost:7070/github/user
        bearerctl explain DELETE /github/repos/me/mine
        bearerctl explain GET /github/user --user deploy -H 'Accept: text/html'
        bearerctl explain GET /github/user --listener docker --client ci

      bearerctl decides with the same code as the daemon, and uses the current configuration file. It never reads the \
      value of a credential.

      If a daemon runs with this file, bearerctl also asks that daemon, which knows more: suspensions, tokens, rates, the \
      audit file, and requests in progress. If the daemon has not loaded the changed file and decides differently, \
      bearerctl also shows the daemon's decision. Without a daemon, bearerctl lists what only a daemon could know.

      Root can use the file of another user. bearerctl then decides as that user's own daemon would.

      Exits with 0 if the request would be sent, and with 1 if it would be refused.
      """)

  @Argument(help: "The method, such as GET.")
  var method: String

  @Argument(help: "The URL that the program uses, or only its path.")
  var url: String

  @Option(config: "The configuration.")
  var config: String?

  @Option(name: .shortAndLong, help: "The user whose program sends the request: a name or a number. Default: you.")
  var user: String?

  @Option(name: .long, help: "The client whose token is in the request: a name in the listener's clients.")
  var client: String?

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: "A header field of the request: 'Name: value'. May be repeated.")
  var headers: [String] = []

  @Option(
    name: .shortAndLong,
    help: "The listener that gets the request. Default: the listener with the URL's port, or the first one.")
  var listener: String?

  func validate() throws {
    let isToken = method.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    guard !method.isEmpty, isToken else {
      throw ValidationError("The method is not valid. Expected a method such as GET.")
    }
    guard !method.hasPrefix("/"), !method.contains("://") else {
      throw ValidationError("The method comes first: bearerctl explain GET \(method)")
    }
    do throws(InvalidURL) { _ = try RequestURL(url) } catch { throw ValidationError(error.message) }
    for header in headers where !header.contains(":") || header.utf8.contains(where: { $0 < 0x20 && $0 != 9 }) {
      throw ValidationError("A header field must have the form 'Name: value'.")
    }
  }

  func run() throws {
    let url = try RequestURL(url)
    let loaded = try LoadedConfiguration(config)
    let settings = loaded.settings
    let index = try listenerIndex(for: url, in: settings)
    let listener = settings.listeners[index]
    let snapshot = ConfigurationLoader.snapshot(
      of: settings, generation: 1, ports: settings.listeners.map { _ in [url.port ?? RequestURL.defaultPort] })
    try checkClient(listener)
    let authority = url.authority ?? listener.firstAuthority()
    let caller = try self.caller(host: authority, listener)

    func report(_ head: RequestHead) -> ExplainReport {
      ExplainReport(
        method: method, authority: authority, host: hostField ?? authority, origin: PageOrigins.origin(of: head),
        target: url.target, caller: caller, unit: unit(of: caller), listener: listener, settings: settings,
        terminal: .output)
    }
    var request = ExplainRequest()
    (request.listener, request.caller, request.client) = (listener.name, caller, client)
    (request.authority, request.line) = (url.authority, "\(method) \(url.target)")
    // A placeholder for the client's token: the configuration has only its hash.
    request.fields = (client == nil ? [] : ["Authorization: Bearer \(ClientToken.placeholder)"]) + headers
    do throws(MessageError) {
      guard let (head, explanation) = try request.explanation(by: snapshot, of: settings) else {
        throw MessageError(.closedInHead)
      }
      let gates = ExplainedGates(request, explanation, of: loaded)
      StandardOutput.print(report(head).text(explanation, gates))
      if explanation.refusal == nil, gates.refusal == nil { return }
    } catch {
      StandardOutput.print(report(RequestHead()).malformed(error))
    }
    throw Failure(Failure.no)
  }

  /// The value of `Host` in the `--header` options; `nil` if they contain none.
  private var hostField: String? {
    guard let field = headers.first(where: { $0.lowercased().hasPrefix("host:") }) else { return nil }
    return field.dropFirst("host:".count).split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }

  private func checkClient(_ listener: ListenerSettings) throws {
    guard let client, !listener.clients.contains(where: { $0.name == client }) else { return }
    let known = listener.clients.map(\.name).joined(separator: ", ")
    throw Failure(
      Failure.usage,
      "listener \(listener.name) has no client \(client.harmless). \(known.isEmpty ? "It has no clients" : "Its clients are \(known)")"
    )
  }

  /// Returns the user that `--user` names, or by default the current user or `.network`.
  private func caller(host: String, _ listener: ListenerSettings) throws -> Caller {
    guard let user else { return listener.isReachedByNetwork(as: host) ? .network : Caller(uid: Users.currentUID) }
    guard let uid = UInt32(user) ?? Users.uid(named: user) else {
      throw Failure(Failure.usage, "there is no user \(user.harmless)")
    }
    return Caller(uid: uid)
  }

  /// Returns the systemd unit of this process if the caller is the current user; otherwise `nil`.
  private func unit(of caller: Caller) -> String? {
    user == nil && caller.uid != nil ? ControlGroups.own.flatMap(SystemdUnit.name) : nil
  }

  private func listenerIndex(for url: RequestURL, in settings: DaemonSettings) throws -> Int {
    let known = settings.listeners.map { "\($0.name) (\($0.addressList))" }.joined(separator: ", ")
    if let name = listener {
      guard let index = settings.listeners.firstIndex(where: { $0.name == name }) else {
        throw Failure(Failure.usage, "there is no listener \(name.harmless). The listeners are \(known)")
      }
      return index
    }
    guard url.authority != nil else { return 0 }
    let byPort = settings.listeners.firstIndex { listener in url.port.map(listener.ports.contains) ?? false }
    guard let index = byPort ?? settings.listeners.firstIndex(where: { $0.ports.contains(0) }) else {
      throw Failure(Failure.no, "bearerd does not listen at \(url.authority ?? ""). The listeners are \(known)")
    }
    return index
  }
}
