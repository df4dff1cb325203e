package import Configuration

/// A `bearerctl` command about one credential. Sends progress lines to the client, and then the result.
///
/// The code that carries out the command retains this object. If the client disconnects first, `onCancel` is called,
/// and later messages are dropped.
package final class ControlExchange {
  /// Called when the client disconnects or the daemon ends. At most once, and never after `end`.
  var onCancel: (() -> Void)?
  private var send: ((Message) -> Void)?

  package enum Message {
    case progress(String)
    case end(Result<[UInt8], StartError>)
  }

  package init(send: @escaping (Message) -> Void) { self.send = send }

  /// Sends a progress line to the client. The line must not contain secrets. Text from a server must be checked for
  /// control characters first.
  func report(_ line: String) { send?(.progress(line)) }

  package func end(_ result: Result<[UInt8], StartError>) {
    let send = send
    self.send = nil
    onCancel = nil
    send?(.end(result))
  }

  package func cancel() {
    let onCancel = onCancel
    self.onCancel = nil
    send = nil
    onCancel?()
  }
}
