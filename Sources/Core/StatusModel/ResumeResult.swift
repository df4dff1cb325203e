/// The response to `bearerctl resume`.
package struct ResumeResult: ControlResponse {
  package var credential = ""
  /// The upstreams at which a suspension ended.
  package var upstreams: [String] = []
  /// Whether bearerd requests a new token.
  package var tokenAskedFor = false
  package init() {}
}
