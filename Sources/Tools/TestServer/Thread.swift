internal import Glibc

struct Thread: Sendable {
  private let handle: pthread_t

  /// Starts a thread in which writing to a closed connection only returns an error.
  init(_ body: @escaping @Sendable () -> Void) throws {
    let box = Unmanaged.passRetained(Body(body))
    var handle = pthread_t()
    let status = pthread_create(&handle, nil, { run(box: $0) }, box.toOpaque())
    guard status == 0 else {
      box.release()
      throw TestServerError("pthread_create: \(String(cString: strerror(status)))")
    }
    self.handle = handle
  }

  /// Waits until the thread ends. Call only once.
  func join() {
    pthread_join(handle, nil)
  }
}

private final class Body {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func run(box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGPIPE)
  pthread_sigmask(SIG_BLOCK, &signals, nil)
  guard let box else { return nil }
  Unmanaged<Body>.fromOpaque(box).takeRetainedValue().body()
  return nil
}
