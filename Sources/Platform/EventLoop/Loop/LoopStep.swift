/// A kind of work that an event loop does, such as reading from a client.
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

/// A turn of a loop that took so long that other connections had to wait.
package struct LoopStall: Sendable {
  package let milliseconds: UInt64
  /// The most CPU time that the thread can have used in this turn, in milliseconds.
  package let processorMilliseconds: UInt64
  package let steps: UInt64
  package let longest: LoopStep
  package let longestMilliseconds: UInt64
}
