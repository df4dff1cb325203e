package import Gateway

/// Who hears of a session while it is being made, and while it carries an exchange.
package protocol UpstreamSessionOwner: AnyObject {
  func sessionIsReady(_ session: UpstreamSession)
  func session(_ session: UpstreamSession, didReceive plaintext: Span<UInt8>)
  /// Nothing more will come; `isClean` if the upstream said so.
  func sessionEnded(_ session: UpstreamSession, isClean: Bool)
  func session(_ session: UpstreamSession, didFail refusal: RefusalCode, detail: String)
  /// Everything queued has gone to the kernel.
  func sessionDidDrain(_ session: UpstreamSession)
}
