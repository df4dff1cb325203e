internal import EventLoop
internal import OAuth
internal import System

/// The connection by which a browser returns from a login with the code.
final class CallbackConnection: StreamDelegate {
  private let stream: EventLoop.Stream
  private let isWelcome: Bool
  private let onCall: (CallbackConnection, Span<UInt8>) -> Void
  private var head: CallbackHead
  private var memory: LockedMemory?
  private var count = 0
  private var hasRequest = false
  private var isClosed = false

  /// Maximum size of a request head, in bytes.
  private static let longestHead = 65_536

  /// - Parameters:
  ///   - isWelcome: `false` for another user's browser, which is refused.
  ///   - authorities: the permitted values of `Host`.
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

  func respond(with page: CallbackPage) {
    guard !isClosed else { return }
    isClosed = true
    memory = nil
    stream.write(page.bytes.span)
    stream.closeAfterFlush()
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    memory = nil
    stream.close()
  }

  func stream(_ stream: EventLoop.Stream, didRead bytes: Span<UInt8>) {
    guard !hasRequest, !isClosed else { return }
    guard isWelcome, let memory else {
      return respond(
        with: CallbackPage(status: 403, "Not allowed", "this browser does not run as the user of this bearerd"))
    }
    let copiedCount = min(bytes.count, Self.longestHead - count)
    bytes.extracting(first: copiedCount).withUnsafeBytes {
      UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...]).copyMemory(from: $0)
    }
    count += copiedCount
    let all = UnsafeRawBufferPointer(rebasing: memory.bytes[..<count]).bindMemory(to: UInt8.self).span
    switch head.read(all) {
    case .needsMore:
      if count == Self.longestHead {
        respond(with: CallbackPage(status: 400, "Bad request", "the request is too long"))
      }
    case .invalid: respond(with: CallbackPage(status: 400, "Bad request", "only GET is allowed here"))
    case .wrongHost:
      respond(
        with: CallbackPage(status: 421, "Wrong host name", "a login must return to the address in its redirect URI"))
    case .target(let target):
      hasRequest = true
      onCall(self, all.extracting(target))
    }
  }

  func streamDidConnect(_ stream: EventLoop.Stream) {}
  func streamDidEnd(_ stream: EventLoop.Stream) { if !hasRequest { close() } }
  func streamDidDrain(_ stream: EventLoop.Stream) {}
  func stream(_ stream: EventLoop.Stream, didFail error: UVError) { close() }
}
