package import Configuration
internal import Gateway
internal import HTTP1
internal import Policy
internal import Providers
package import Proxy
internal import Settings
internal import Generations
internal import Loading
internal import StatusModel

/// The daemon's response to `bearerctl explain`: its decision on the request.
package enum ExplainResponse {
  /// - Parameter counts: those of all workers.
  package static func bytes(
    to text: String, by worker: Worker, _ counts: WorkerCounts
  ) -> Result<[UInt8], StartError> {
    guard let request = ExplainRequest(text: text) else {
      return .failure(.system("This is not a request to explain."))
    }
    let generation = worker.providers.generation
    let (settings, snapshot) = (generation.settings, generation.snapshot)
    do throws(MessageError) {
      let bound = worker.acceptor?.listeners.first { $0.name == request.listener }
      guard let (_, explanation) = try request.explanation(by: snapshot, of: settings, ports: bound?.ports ?? []),
        let listener = settings.listeners.firstIndex(where: { $0.name == request.listener })
      else { return .failure(.system("The configuration in use has no such listener, or no such client there.")) }
      let gates = GateReader(worker).states(of: explanation, listener: listener)
      var result = ExplainResult(explanation, gates, file: settings.file, snapshot.rules)
      if let service = explanation.route?.service, service < counts.services.count,
        let version = counts.services[service].version
      {
        result.httpVersion = version.applicationProtocol.version
        result.httpCause = version.cause.rawValue
      }
      return .success(result.json)
    } catch {
      return .failure(.system("The request is malformed: \(error.reason.rawValue)"))
    }
  }
}

extension ExplainResult {
  fileprivate init(_ explanation: Explanation, _ states: GateStates?, file: String, _ rules: RuleSet) {
    self.init()
    self.file = file
    refusal = explanation.refusal?.row.code.description
    service = explanation.route.map { rules.services[$0.service].name }
    rule = explanation.route?.rule.map { $0 + 1 }
    credential = explanation.grant?.name
    refusedNow = states?.obstacle?.refusal.row.code.description
    gates = states?.all.map { Gate($0.gate, $0.state) } ?? []
  }
}

extension ExplainResult.Gate {
  fileprivate init(_ gate: RequestGate, _ state: GateState) {
    self.init()
    self.gate = gate.rawValue
    self.state = "open"
    switch state {
    case .open, .unknown: break
    case .limited(let numbers): show(numbers)
    case .awaited: self.state = "awaited"
    case .closed(let obstacle, let numbers):
      self.state = obstacle.refusal.row.code.description
      detail = obstacle.detail
      if let numbers { show(numbers) }
    }
  }

  private mutating func show(_ numbers: GateNumbers) {
    switch numbers {
    case .suspension(let rejections, let wait):
      self.rejections = rejections
      milliseconds = wait
    case .rate(let left, let wait):
      self.left = left
      milliseconds = wait
    }
  }
}
