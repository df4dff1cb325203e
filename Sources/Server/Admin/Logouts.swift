package import Configuration
internal import Credentials
internal import Log
internal import OAuth
internal import Policy
package import Providers
package import Proxy
internal import Settings
internal import Generations
internal import StatusModel

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
    end(name) { onEnd($0.map(\.json)) }
  }

  /// Logs all credentials out at the same time.
  /// - Parameter onEnd: called once with a JSON document without secrets, unless the daemon stops before.
  package func logOutAll(onEnd: @escaping (Result<[UInt8], StartError>) -> Void) {
    end(worker.providers.generation.settings.credentials.filter { !$0.isCombined }.map(\.name), onEnd)
  }

  /// Logs out all credentials that the service's rules can use, at the same time.
  /// - Parameter onEnd: called once with a JSON document without secrets, unless the daemon stops before.
  package func logOut(ofService name: String, onEnd: @escaping (Result<[UInt8], StartError>) -> Void) {
    let rules = worker.providers.generation.settings.rules
    guard let service = rules.services.first(where: { $0.name == name }) else {
      return onEnd(.failure(.system("There is no service \"\(name)\" in the configuration in use.")))
    }
    let used = service.usedGrants.map { rules.grants[$0] }
    let names = Set(used.flatMap { $0.parts.isEmpty ? [$0.name] : $0.parts.map(\.name) })
    end(names.sorted(), onEnd)
  }

  /// The names of the services in the configuration in use.
  package var services: [String] { worker.providers.generation.settings.rules.services.map(\.name) }

  private func end(_ names: [String], _ onEnd: @escaping (Result<[UInt8], StartError>) -> Void) {
    guard !worker.isDraining else { return onEnd(.failure(.system("bearerd is stopping"))) }
    var results: [String: Result<LogoutResult, StartError>] = [:]
    if names.isEmpty { return onEnd(.success(LogoutsResult().json)) }
    for name in names {
      end(name) { result in
        results[name] = result
        if results.count == names.count { onEnd(.success(LogoutsResult(names, results).json)) }
      }
    }
  }

  private func end(_ name: String, _ onEnd: @escaping (Result<LogoutResult, StartError>) -> Void) {
    guard let index = worker.providers.generation.grant(named: name),
      !worker.providers.generation.settings.credentials[index].isCombined
    else {
      return onEnd(.failure(.system("There is no credential \"\(name)\" in the configuration in use.")))
    }
    let settings = worker.providers.generation.settings.credentials[index]
    guard !worker.isDraining else { return onEnd(.failure(.system("bearerd is stopping"))) }
    guard let source = worker.providers.generation.keyring.token(ofGrant: index) else {
      let cookies = wipe(name)
      return cut(name, cookies) { onEnd(.success(LogoutResult(settings, cut: $0, outcome: nil))) }
    }
    var (cut, outcome): (LogoutResult.Cut?, TokenLogout.Outcome?)
    let reportWhenDone = {
      guard let cut, let outcome else { return }
      onEnd(.success(LogoutResult(settings, cut: cut, outcome: outcome)))
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

  private func cut(_ name: String, _ cookies: Int, then: @escaping (LogoutResult.Cut) -> Void) {
    var all = worker.cutUses(of: name)
    all.cookies = cookies
    workerGroup.ask { worker, reply in
      reply(worker.cutUses(of: name))
    } then: { [unowned self] (others: [LogoutResult.Cut]) in
      for other in others { all.add(other) }
      // Stops helper programs whose output is no longer needed.
      commands?.update(to: worker.providers.generation)
      worker.log.event(
        .loggedOut, ("credential", name),
        ("requests", String(all.waiting + all.underWay + all.answers + all.upgraded)),
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

extension LogoutsResult {
  fileprivate init(_ names: [String], _ results: [String: Result<LogoutResult, StartError>]) {
    self.init()
    for name in names {
      switch results[name] {
      case .success(let result): credentials.append(result)
      case .failure(let error): failed.append(Failed(credential: name, problem: "\(error)"))
      case nil: break
      }
    }
  }
}

extension LogoutResult {
  /// - Parameter outcome: `nil` if the credential has no token.
  fileprivate init(_ settings: CredentialSettings, cut: Cut, outcome: TokenLogout.Outcome?) {
    self.init()
    (credential, kind, self.cut) = (settings.name, settings.kind, cut)
    sources = settings.certificate.map { ["certificate \($0.file)"] } ?? []
    sources += settings.allSources.map(\.summary)
    login = settings.oauth2?.keepsLogin == true
    reloadOnly = settings.isForReloadsOnly
    guard let outcome, let token = settings.oauth2 else { return }
    store = .some(token.store)
    hadTokens = outcome.hadTokens
    problem = .some(outcome.problem)
    revocation = .some(token.revocation?.description)
    revoked = outcome.revoked.map { Revoked(token: $0.kind.rawValue, problem: $0.problem) }
  }
}

extension CredentialSettings {
  /// Whether the credential becomes available again only by a reload.
  fileprivate var isForReloadsOnly: Bool {
    sources.contains(where: \.isCommand) || !sources.contains(where: \.isFile)
  }
}
