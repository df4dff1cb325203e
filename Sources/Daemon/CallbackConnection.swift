internal import EventLoop
internal import System

/// One request of a browser that comes back from a login, and one answer. What it brings lies in locked memory: there is a code
/// in it.
final class CallbackConnection: StreamDelegate {
  private let stream: EventLoop.Stream
  private let isWelcome: Bool
  private let onCall: (CallbackConnection, Span<UInt8>) -> Void
  private var memory: LockedMemory?
  private var count = 0
  private var hasCalled = false
  private var isClosed = false

  /// Bytes of a head, cookies of other programs of this host included.
  private static let longestHead = 65_536

  init(
    _ stream: EventLoop.Stream, isWelcome: Bool, onCall: @escaping (CallbackConnection, Span<UInt8>) -> Void
  ) {
    (self.stream, self.isWelcome, self.onCall) = (stream, isWelcome, onCall)
  }

  func start() {
    do throws(SystemError) { memory = try LockedMemory(byteCount: Self.longestHead) } catch { return close() }
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
    guard !hasCalled, let memory else { return }
    let taken = min(bytes.count, Self.longestHead - count)
    bytes.extracting(first: taken).withUnsafeBytes {
      UnsafeMutableRawBufferPointer(rebasing: memory.bytes[count...]).copyMemory(from: $0)
    }
    count += taken
    let head = UnsafeRawBufferPointer(rebasing: memory.bytes[..<count])
    guard let end = head.indices.first(where: { head[$0...].starts(with: [13, 10, 13, 10]) }) else {
      if count == Self.longestHead { answer(CallbackPage(status: 400, "Not understood", "that is too long")) }
      return
    }
    hasCalled = true
    guard isWelcome else {
      return answer(
        CallbackPage(status: 403, "Not for you", "this browser runs as another user than the bearerd that waits here"))
    }
    guard let target = Self.target(of: head[..<end]) else {
      return answer(CallbackPage(status: 400, "Not understood", "only GET is answered here"))
    }
    onCall(self, UnsafeRawBufferPointer(rebasing: head[target]).bindMemory(to: UInt8.self).span)
  }

  /// `GET TARGET HTTP/1.x` (RFC 9112 section 3), the target in origin-form without controls and blanks.
  private static func target(of head: Slice<UnsafeRawBufferPointer>) -> Range<Int>? {
    let line = head.prefix { $0 != 13 && $0 != 10 }
    let (method, version) = (Array("GET ".utf8), Array(" HTTP/1.".utf8))
    guard line.starts(with: method), line.count > method.count + version.count,
      line.dropLast().suffix(version.count).elementsEqual(version)
    else { return nil }
    let target = line.dropFirst(method.count).dropLast(version.count + 1)
    guard target.first == 0x2F, target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    return target.startIndex..<target.endIndex
  }

  func streamDidConnect(_ stream: EventLoop.Stream) {}
  func streamDidEnd(_ stream: EventLoop.Stream) { if !hasCalled { close() } }
  func streamDidDrain(_ stream: EventLoop.Stream) {}
  func stream(_ stream: EventLoop.Stream, didFail error: UVError) { close() }
}
