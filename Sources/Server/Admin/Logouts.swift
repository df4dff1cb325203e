package import Configuration
internal import Credentials
internal import Log
internal import OAuth
internal import Policy
internal import Primitives
package import Providers
package import Proxy
internal import Secrets
internal import Settings
internal import Generations
internal import Loading

/// Runs `bearerctl logout`: ends the use of one credential in all workers (T46).
package final class Logouts {
  private unowned let worker: Worker
  private unowned let workerGroup: WorkerGroup
  private unowned let tokens: TokenManager
  private let commands: SecretCommands?

  package init(worker: Worker, workerGroup: WorkerGroup, tokens: TokenManager, commands: SecretCommands?) {
    self.worker = worker
    self.workerGroup = workerGroup
    self.tokens = tokens
    self.commands = commands
  }

  /// Logs a credential out.
  /// - Parameter onEnd: called once with a JSON document without secrets, unless the daemon stops before.
  package func logOut(_ name: String, onEnd: @escaping (Result<[UInt8], StartError>) -> Void) {
    guard let index = worker.providers.generation.grant(named: name),
      !worker.providers.generation.settings.credentials[index].isCombined
    else {
      return onEnd(.failure(.system("There is no credential \"\(name)\" in the configuration in use.")))
    }
    let settings = worker.providers.generation.settings.credentials[index]
    guard !worker.isDraining else { return onEnd(.failure(.system("bearerd is stopping"))) }
    guard let source = worker.providers.generation.keyring.token(ofGrant: index) else {
      let cookies = wipe(name)
      return cut(name, cookies) { onEnd(.success(LogoutReport(settings, cut: $0, outcome: nil).bytes)) }
    }
    var (cut, outcome): (LogoutCounts?, TokenLogout.Outcome?)
    let reportWhenDone = {
      guard let cut, let outcome else { return }
      onEnd(.success(LogoutReport(settings, cut: cut, outcome: outcome).bytes))
    }
    // Values are wiped immediately, so that any value that arrives later is newer. Connections are cut once the stored
    // login is deleted.
    var (cookies, isRecorded): (Int?, Bool) = (nil, false)
    let cutWhenReady = { [weak self] in
      guard let cookies, isRecorded else { return }
      self?.cut(name, cookies) { ended in
        cut = ended
        reportWhenDone()
      }
    }
    let isBegun = tokens.logOut(source) {
      isRecorded = true
      cutWhenReady()
    } onEnd: { [weak self] ended in
      self?.log(ended, of: name)
      outcome = ended
      reportWhenDone()
    }
    guard isBegun else { return onEnd(.failure(.system("\"\(name)\" is already being logged out."))) }
    cookies = wipe(name)
    cutWhenReady()
  }

  /// Wipes the credential in all workers. Returns the number of deleted cookies.
  private func wipe(_ name: String) -> Int {
    let cookies = worker.providers.removeCookies(of: name)
    worker.wipe(name)
    workerGroup.post { $0.wipe(name) }
    return cookies
  }

  private func cut(_ name: String, _ cookies: Int, then: @escaping (LogoutCounts) -> Void) {
    var all = worker.cutUses(of: name)
    all.cookies = cookies
    workerGroup.ask { worker, reply in
      reply(worker.cutUses(of: name))
    } then: { [unowned self] (others: [LogoutCounts]) in
      for other in others { all.add(other) }
      // Stops helper programs whose output is no longer needed.
      commands?.update(to: worker.providers.generation)
      worker.log.event(
        .loggedOut, ("credential", name),
        ("requests", String(all.waiting + all.sent + all.responses + all.upgraded)),
        ("connections", String(all.idle)), ("cookies", String(all.cookies)))
      then(all)
    }
  }

  private func log(_ outcome: TokenLogout.Outcome, of name: String) {
    if let problem = outcome.problem {
      worker.log.event(.loginNotWiped, ("credential", name), ("detail", problem))
    }
    for result in outcome.revoked {
      if let problem = result.problem {
        worker.log.event(
          .tokenNotRevoked, ("credential", name), ("token", result.kind.rawValue), ("detail", problem))
      } else {
        worker.log.event(.tokenRevoked, ("credential", name), ("token", result.kind.rawValue))
      }
    }
  }
}

/// The response to `bearerctl logout`.
struct LogoutReport {
  let bytes: [UInt8]

  /// - Parameter outcome: `nil` if the credential has no token.
  init(_ credential: CredentialSettings, cut: LogoutCounts, outcome: TokenLogout.Outcome?) {
    var json = JSONWriter()
    json.object { json in
      json.member("credential", credential.name)
      json.member("kind", credential.kind)
      json.array("sources") { json in
        if let certificate = credential.certificate { json.member(nil, "certificate \(certificate.file)") }
        for source in credential.allSources { json.member(nil, source.summary) }
      }
      cut.write(to: &json)
      json.member("login", credential.oauth2?.store != nil)
      json.member("reload_only", credential.isForReloadsOnly)
      guard let outcome, let token = credential.oauth2 else { return }
      json.member("store", token.store)
      json.member("had_tokens", outcome.hadTokens)
      json.member("problem", outcome.problem)
      json.member("revocation", token.revocation?.description)
      json.array("revoked") { json in
        for result in outcome.revoked {
          json.object { json in
            json.member("token", result.kind.rawValue)
            json.member("problem", result.problem)
          }
        }
      }
    }
    bytes = json.bytes
  }
}

extension CredentialSettings {
  /// Whether the credential becomes available again only by a reload.
  fileprivate var isForReloadsOnly: Bool {
    sources.contains(where: \.isCommand) || !sources.contains(where: \.isFile)
  }
}
