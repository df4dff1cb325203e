package import Configuration
internal import Gateway
internal import Log
internal import Policy
package import Providers
package import Proxy
internal import Generations
internal import StatusModel

/// Runs `bearerctl resume`: ends a credential's suspensions, and requests a token if the last renewal failed (T67).
package struct Resumption {
  let worker: Worker
  let tokens: TokenManager?

  package init(worker: Worker, tokens: TokenManager?) {
    self.worker = worker
    self.tokens = tokens
  }

  /// Resumes a credential, and all combinations that contain it. Returns one JSON document.
  package func resume(_ name: String) -> Result<[UInt8], StartError> {
    let generation = worker.providers.generation
    guard generation.grant(named: name) != nil else {
      return .failure(.system("There is no credential \"\(name)\" in the configuration in use."))
    }
    guard !worker.isDraining else { return .failure(.system("bearerd is stopping")) }
    let names = generation.snapshot.rules.grants.filter { $0.name == name || $0.parts.contains { $0.name == name } }
      .map(\.name)
    var result = ResumeResult()
    result.credential = name
    for breaker in generation.limits.breakers where names.contains(breaker.credential) {
      guard let change = breaker.resume() else { continue }
      let upstream = breaker.origin.description
      result.upstreams.append(upstream)
      worker.log.event(
        .credentialResumed, ("credential", breaker.credential), ("upstream", upstream),
        ("reason", BreakerView.reason(change)))
    }
    result.tokenAskedFor = tokens?.resume(names) == true
    return .success(result.json)
  }
}
