/// The response to `bearerctl explain`: the decision of the running daemon.
package struct ExplainResult: ControlResponse {
  /// The path of the configuration file.
  package var file = ""
  /// The code of the refusal; `nil` if the configuration allows the request.
  package var refusal: String?
  package var service: String?
  /// Number of the rule that decided, counted from 1.
  package var rule: Int?
  package var credential: String?
  /// The code with which the first closed gate refuses the request now; `nil` if no gate is closed.
  package var refusedNow: String?
  package var gates: [Gate] = []
  /// The HTTP version of the last connection to the upstream, and why. `nil` if there was none.
  package var httpVersion: String??
  /// A raw value of `NegotiatedVersion.Cause`.
  package var httpCause: String??
  package init() {}

  package struct Gate: Codable, Equatable, Sendable {
    package var gate = ""
    /// `open`, `awaited`, or the code of the refusal.
    package var state = ""
    /// The reason why the gate is closed.
    package var detail: String??
    /// Number of rejections in a row.
    package var rejections: Int??
    /// Number of requests that the caller has left.
    package var left: UInt64??
    /// Time until the gate lets the next request pass.
    package var milliseconds: UInt64??
    package init() {}
  }
}
