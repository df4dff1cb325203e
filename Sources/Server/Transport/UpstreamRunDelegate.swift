package import Gateway
internal import Primitives

/// Receives the events of an upstream connection for one run: a request that uses the connection.
package protocol UpstreamRunDelegate: AnyObject {
  func connection(_ connection: UpstreamConnection, didReceive plaintext: Span<UInt8>)
  /// Called when the upstream has ended its data. `isClean` is `false` if TLS ended without close_notify.
  func connectionEnded(_ connection: UpstreamConnection, isClean: Bool)
  func connection(_ connection: UpstreamConnection, didFail refusal: RefusalCode, detail: String)
  /// Called when all queued bytes of the run were sent.
  func connectionDidDrain(_ connection: UpstreamConnection)

  // Only for HTTP/2

  /// Whether the request asks for a tunnel, so that the end of the upstream's message is the end of one direction.
  var asksForTunnel: Bool { get }
  /// Called for the heads, the trailers and the end of the response. `didReceive plaintext` is called for its data.
  /// - Parameter isFollowed: whether more of this response is delivered right afterwards, so that the run can wait for it.
  func connection(_ connection: UpstreamConnection, didReceive message: StreamMessage, isFollowed: Bool)
  /// Called when the upstream has refused the request, and may accept it on another connection.
  /// - Parameter isUnprocessed: whether the upstream guarantees that it has not processed the request (RFC 9113 section 8.7).
  func connectionDidRefuse(_ connection: UpstreamConnection, isUnprocessed: Bool, detail: String)
  /// Called when the upstream has reset the stream. The connection continues.
  func connectionDidReset(_ connection: UpstreamConnection, detail: String)
}

extension UpstreamRunDelegate {
  package var asksForTunnel: Bool { false }
  package func connection(_ connection: UpstreamConnection, didReceive message: StreamMessage, isFollowed: Bool) {}
  package func connectionDidRefuse(_ connection: UpstreamConnection, isUnprocessed: Bool, detail: String) {}
  package func connectionDidReset(_ connection: UpstreamConnection, detail: String) {}
}

/// The runs of one connection.
struct UpstreamRuns {
  /// One run is outside of the table, because most connections have one at most.
  private var first: (any UpstreamRunDelegate)?
  private var others = FastTable<any UpstreamRunDelegate>()

  /// The run of an HTTP/1 connection. `nil` if there is no run.
  var only: (any UpstreamRunDelegate)? { first ?? others.all.first }

  mutating func add(_ run: any UpstreamRunDelegate) {
    if first == nil { first = run } else { others.set(run, for: run) }
  }

  /// Removes a run. Returns `false` if the run is not one of these runs.
  mutating func remove(_ run: any UpstreamRunDelegate) -> Bool {
    if first === run {
      first = nil
      return true
    }
    return others.remove(run) != nil
  }

  func contains(_ run: any UpstreamRunDelegate) -> Bool { first === run || others.contains(run) }

  /// The runs, in no particular order.
  var all: [any UpstreamRunDelegate] {
    guard let first else { return others.all }
    return others.isEmpty ? [first] : [first] + others.all
  }
}
