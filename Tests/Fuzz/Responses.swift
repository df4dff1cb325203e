import Gateway
import HTTP1
import Primitives

/// Reads the input as the bytes of an upstream connection.
func fuzzResponse(_ bytes: [UInt8]) {
  for repairs in [false, true] { checkHead(bytes, repairs: repairs) }
  checkCookie(bytes)
  for request in requests {
    let whole = forward(request, bytes, [bytes.count])
    for ends in waysToCut(bytes) {
      promise(forward(request, bytes, ends) == whole, "what comes back depends on the cuts at \(ends)")
    }
  }
}

private let requests: [(method: Method, head: [UInt8])] = [
  (.get, bytesOf("GET /api/dir/x HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")),
  (.head, bytesOf("HEAD /api/dir/x HTTP/1.1\r\nHost: localhost:7070\r\n\r\n")),
  (.get, bytesOf("GET /api/dir/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")),
]

// MARK: the head

private func checkHead(_ bytes: [UInt8], repairs: Bool) {
  var limits = HeadLimits()
  limits.headBytes = 700
  limits.fields = 12
  var head = ResponseHead()
  let whole = read(bytes, [bytes.count], limits, repairs, &head)
  for ends in waysToCut(bytes) {
    var other = ResponseHead()
    promise(read(bytes, ends, limits, repairs, &other) == whole, "the outcome depends on the cuts at \(ends)")
    if whole.consumed != nil { promise(Read(other) == Read(head), "the head depends on the cuts at \(ends)") }
  }
  guard let consumed = whole.consumed else { return }
  checkCookies(of: head)
  var other = ResponseHead()
  promise(
    read(Array(bytes[..<consumed]), [consumed], limits, repairs, &other) == whole, "the head depends on what follows it"
  )
  promise(
    read(Array(bytes[..<(consumed - 1)]), [consumed - 1], limits, repairs, &other) == Outcome(),
    "a head ends before its end")

  var output = ByteBuffer()
  MessageWriter.statusLine(head.status, reason: head.bytes.span.extracting(head.reason), to: &output)
  for field in head.fields { FieldWriter.field(field, of: head.bytes, to: &output) }
  FieldWriter.lineEnd(to: &output)
  let rewritten = Array(output.contents)
  _ = Wire(rewritten, "the rewritten head")
  promise(
    read(rewritten, [rewritten.count], HeadLimits(), false, &other).consumed == rewritten.count,
    "cannot be read: \(shown(rewritten))")
  var (one, again) = (Read(head), Read(other))
  promise(head.repairs.isEmpty || !head.isKeepAlive, "a repaired head whose connection is used again")
  if head.version == .http10 || !head.repairs.isEmpty { one.isKeepAlive = again.isKeepAlive }
  again.reason = one.reason.isEmpty ? [] : again.reason
  promise(one == again, "the rewritten head is another: \(shown(rewritten))")
}

private func read(
  _ bytes: [UInt8], _ ends: [Int], _ limits: HeadLimits, _ repairs: Bool, _ head: inout ResponseHead
) -> Outcome {
  var reader = HeadReader(limits: limits, repairs: repairs)
  do throws(MessageError) {
    for end in ends {
      if let consumed = try reader.readResponse(bytes.span.extracting(first: end), into: &head) {
        return Outcome(consumed: consumed)
      }
    }
    return Outcome()
  } catch {
    return Outcome(error: error)
  }
}

private struct Read: Equatable {
  var status: Int
  var reason: [UInt8]
  var fields: [[UInt8]]
  var known: [KnownField]
  var length: BodyLength
  var isKeepAlive: Bool

  init(_ head: ResponseHead) {
    status = head.status
    reason = Array(head.bytes[head.reason])
    fields = head.fields.flatMap { [Array(head.bytes[$0.name]), Array(head.bytes[$0.value])] }
    known = head.fields.map(\.known)
    length = head.declaredLength
    isKeepAlive = head.isKeepAlive
  }
}

// MARK: received responses

/// The responses as the client reads them.
private struct Received: Equatable {
  var heads: [[UInt8]] = []
  var body: ReadBody?
}

/// - Returns: the responses, or `nil` if the last one is bearerd's own or incomplete.
private func forward(_ request: (method: Method, head: [UInt8]), _ bytes: [UInt8], _ ends: [Int]) -> Received? {
  var proxy = Proxy(World.usual)
  proxy.client(request.head)
  for piece in pieces(bytes, ends) { proxy.upstream(piece) }
  proxy.upstreamEnded()

  var received = Received()
  var rest = proxy.toClient
  var head = ResponseHead()
  var isLocal = false
  repeat {
    if rest.isEmpty {
      promise(proxy.isReset, "a request without an answer")
      return nil
    }
    let wire = checkedHead(rest, &head)
    isLocal = wire.values("content-type") == [bytesOf("application/problem+json")] && head.status >= 500
    received.heads.append(Array(rest[..<wire.count]))
    rest = Array(rest[wire.count...])
  } while head.status < 200

  let length = head.bodyLength(respondingTo: request.method)
  var body = ReadBody(length, rest, [rest.count])
  promise(
    body.error == nil && (body.consumed == rest.count || !body.isComplete), "more than an answer came: \(shown(rest))")
  promise(body.isComplete || proxy.isReset || length == .untilClose, "an answer without its end")
  body.consumed = 0
  received.body = body
  return isLocal || proxy.isReset ? nil : received
}

private func checkedHead(_ bytes: [UInt8], _ head: inout ResponseHead) -> Wire {
  let wire = Wire(bytes, "an answer")
  promise(
    read(bytes, [bytes.count], HeadLimits(), false, &head).consumed == wire.count,
    "an answer cannot be read: \(shown(bytes))")
  for name in ["set-cookie", "strict-transport-security", "access-control-allow-origin", "alt-svc"] {
    promise(wire.values(name).isEmpty, "\(name) came through")
  }
  return wire
}
