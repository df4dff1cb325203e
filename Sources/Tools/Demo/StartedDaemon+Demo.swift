internal import Console
internal import System

extension StartedDaemon {
  /// The port of the listener `main`.
  func demoPort() throws -> UInt16 {
    guard isReady, let port = endpoints["main"]?.port else {
      throw Failure(Failure.system, "bearerd did not start. Its output:\n\(output)")
    }
    return port
  }

  /// Passes the log line of each refused request to `onRefusal`, until a signal arrives.
  func serve(onRefusal: (String) -> Void) throws {
    do {
      while let line = try log.next(timeout: -1) {
        if line.contains("event=request"), line.contains(" refused=") { onRefusal(line) }
      }
    } catch is Interruption {
      return
    }
    throw Failure(Failure.system, "bearerd ended unexpectedly")
  }
}
