internal import EventLoop
internal import OAuth
internal import System

/// One request of a browser that comes back from a login, and one answer. What it brings lies in locked memory: there is a code
/// in it.
final class CallbackConnection: StreamDelegate {
  private let stream: EventLoop.Stream
  private let isWelcome: Bool
  private let onCall: (CallbackConnection, Span<UInt8>) -> Void
  private var head: CallbackHead
  private var memory: LockedMemory?
  private var count = 0
  private var hasCalled = false
  private var isClosed = false

  /// Bytes of a head, cookies of other programs of this host included.
  private static let longestHead = 65_536

  /// - Parameters:
  ///   - isWelcome: false: another user's browser, which is refused before any of its request is looked at.
  ///   - authorities: what `Host` may be.
  init(
    _ stream: EventLoop.Stream, isWelcome: Bool, authorities: [String],
    onCall: @escaping (CallbackConnection, Span<UInt8>) -> Void
  ) {
    (self.stream, self.isWelcome, self.onCall) = (stream, isWelcome, onCall)
    head = CallbackHead(authorities: authorities.map { Array($0.utf8) })
  }

  func start() {
    if isWelcome {
      do throws(SystemError) { memory = try LockedMemory(byteCount: Self.longestHead) } catch { return close() }
    }
    stream.wipesInput = true
    stream.delegate = self
    stream.startReading()
  }

  func answer(_ page: CallbackPage) {
    guard !isClosed else { return }
    isClosed = true
    memory = nil
    stream.write(page.bytes.span)
    stream.closeAfterFlush()
  }

  /// Without one.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    memory = nil
    stream.close()
  }

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    guard !hasCalled, !isClosed else { return }
    guard isWelcome, let memory else {
      return answer(
        CallbackPage(status: 403, "Not allowed", "this browser does not run as the user of this bearerd"))
    }
    let taken = min(bytes.count, Self.longestHead - count)
    bytes.extracting(first: taken).withUnsafeBytes {
      UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...]).copyMemory(from: $0)
    }
    count += taken
    let all = UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]).bindMemory(to: UInt8.self).span
    switch head.read(all) {
    case .needsMore:
      if count == Self.longestHead { answer(CallbackPage(status: 400, "Bad request", "the request is too long")) }
    case .notUnderstood: answer(CallbackPage(status: 400, "Bad request", "only GET is allowed here"))
    case .otherHost:
      answer(CallbackPage(status: 421, "Wrong host name", "a login must return to the address in its redirect URI"))
    case .target(let target):
      hasCalled = true
      onCall(self, all.extracting(target))
    }
  }

  func streamDidConnect(_ stream: EventLoop.Stream) {}
  func streamDidEnd(_ stream: EventLoop.Stream) { if !hasCalled { close() } }
  func streamDidDrain(_ stream: EventLoop.Stream) {}
  func stream(_ stream: EventLoop.Stream, didFail error: UVError) { close() }
}
