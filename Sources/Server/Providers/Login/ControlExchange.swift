package import Configuration

/// A `bearerctl` command about one credential. Sends progress lines to the client, and then the result. The code that
/// carries out the command must retain this object.
package final class ControlExchange {
  /// Called at most once, when the client disconnects or the daemon ends. Never called after `end`.
  var onCancel: (() -> Void)?
  private var send: ((Message) -> Void)?

  package enum Message {
    case progress(String)
    case end(Result<[UInt8], StartError>)
  }

  package init(send: @escaping (Message) -> Void) { self.send = send }

  /// Sends a progress line, which must contain no secrets and no control characters, to the client.
  func report(_ line: String) { send?(.progress(line)) }

  package func end(_ result: Result<[UInt8], StartError>) {
    onCancel = nil
    send.take()?(.end(result))
  }

  package func cancel() {
    send = nil
    onCancel.take()?()
  }
}
