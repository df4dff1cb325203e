/// The step of a loop at a moment, in the words of the log.
package enum LoopStep: UInt8, Sendable {
  case none, client, upstream, handshake, control, connection, accept, timer, message, signal, file, deferred, sending
  case reload

  package var name: String {
    switch self {
    case .none: "none"
    case .client: "client"
    case .upstream: "upstream"
    case .handshake: "tls-handshake"
    case .control: "control"
    case .connection: "connection"
    case .accept: "accept"
    case .timer: "timer"
    case .message: "message"
    case .signal: "signal"
    case .file: "file"
    case .deferred: "deferred"
    case .sending: "turn-end"
    case .reload: "reload"
    }
  }
}

/// One turn of a loop that others had to wait for.
package struct LoopStall: Sendable {
  /// Milliseconds, by the clock.
  package let milliseconds: UInt64
  /// Milliseconds of the thread's processor time, at most: much less than the turn took means that the machine was busy.
  package let processorMilliseconds: UInt64
  package let steps: UInt64
  /// The longest step, and how long it was.
  package let longest: LoopStep
  package let longestMilliseconds: UInt64
}
