internal import EventLoop
package import Gateway
internal import TLS

/// Writes the ciphertext of a TLS session to its TCP stream.
final class StreamSink: CiphertextSink {
  private let stream: EventLoop.Stream
  private var isGathering = false

  init(_ stream: EventLoop.Stream) {
    self.stream = stream
    super.init()
  }

  override func send(_ ciphertext: Span<UInt8>) {
    if isGathering { stream.gather(ciphertext) } else { stream.write(ciphertext) }
  }

  override func gather() { isGathering = true }

  override func flush() {
    isGathering = false
    stream.writeGathered()
  }
}

extension TLSError.Kind {
  package var refusal: RefusalCode {
    switch self {
    case .certificateInvalid: .certificateInvalid
    case .certificateExpired: .certificateExpired
    case .hostnameMismatch: .hostnameMismatch
    case .pinMismatch: .pinMismatch
    case .pinsExpired: .pinsExpired
    case .certificateRevoked: .certificateRevoked
    case .stapleMissing: .stapleMissing
    case .revocationUnknown: .revocationUnknown
    case .handshakeFailed, .closed: .handshakeFailed
    case .noClientCertificate: .credentialUnavailable
    case .internalError: .internalError
    }
  }
}
