package import Configuration
internal import Gateway
internal import HTTP1
internal import Primitives
internal import Providers
package import Proxy
internal import Settings
internal import Generations
internal import Loading

/// The daemon's response to `bearerctl explain`: its decision on the request.
package enum ExplainResponse {
  package static func bytes(to text: String, by worker: Worker) -> Result<[UInt8], StartError> {
    guard let request = ExplainRequest(text: text) else {
      return .failure(.system("This is not a request to explain."))
    }
    let generation = worker.providers.generation
    let (settings, snapshot) = (generation.settings, generation.snapshot)
    var json = JSONWriter()
    do throws(MessageError) {
      let bound = worker.acceptor?.listeners.first { $0.name == request.listener }
      guard let (_, explanation) = try request.explanation(by: snapshot, of: settings, ports: bound?.ports ?? []),
        let listener = settings.listeners.firstIndex(where: { $0.name == request.listener })
      else { return .failure(.system("The configuration in use has no such listener, or no such client there.")) }
      json.object { json in
        json.member("file", settings.file)
        worker.gates(of: explanation, listener: listener).write(explanation, rules: snapshot.rules, to: &json)
      }
    } catch {
      return .failure(.system("The request is malformed: \(error.reason.rawValue)"))
    }
    return .success(json.bytes)
  }
}
