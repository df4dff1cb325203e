internal import Gateway
internal import TLS

/// How a session ends that nobody closed.
extension UpstreamSession {
  /// Bytes that nobody asked for (T26), or the end of an idle session.
  func discard() {
    destination.forget(self)
    close()
  }

  func end(isClean: Bool) {
    isEnding = true
    guard let owner else { return discard() }
    owner.sessionEnded(self, isClean: isClean)
  }

  func fail(_ error: TLSError) { fail(error.kind.refusal, detail: error.description) }

  func fail(_ refusal: RefusalCode, detail: String) {
    let owner = owner
    destination.forget(self)
    close()
    owner?.session(self, didFail: refusal, detail: detail)
  }
}
