package import Gateway

/// Receives the events of an upstream session while the session is being opened or carries an exchange.
package protocol UpstreamSessionOwner: AnyObject {
  func sessionIsReady(_ session: UpstreamSession)
  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>)
  /// Called when the upstream has ended its data. `isClean` is `false` if TLS ended without close_notify.
  func sessionEnded(_ session: UpstreamSession, isClean: Bool)
  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String)
  /// Called when all queued bytes were written to the socket.
  func sessionDidDrain(_ session: UpstreamSession)
}
