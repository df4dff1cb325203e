import Gateway
import HTTP1
import Primitives

/// Reads the input as the bytes of a client connection.
func fuzzRequest(_ bytes: [UInt8]) {
  checkHead(bytes)
  let whole = forward(bytes, [bytes.count])
  for ends in waysToCut(bytes) {
    promise(forward(bytes, ends) == whole, "what goes out depends on the cuts at \(ends)")
  }
  checkProven(bytes)
}

/// Checks that a request is sent only with a client token, and that the token is removed from all fields for keys.
private func checkProven(_ bytes: [UInt8]) {
  let whole = forward(bytes, [bytes.count], in: World.proving)
  let text = bytes.map(lowercased)
  promise(whole.isEmpty || text.holds(World.token) || text.holds("basic"), "went out without a token: \(shown(bytes))")
  for sent in whole {
    let wire = Wire(sent.head, "a proven request")
    for name in ["authorization", "x-api-key", "private-token"] {
      let carries = wire.values(name).contains { $0 == bytesOf(World.token) || $0.ends(in: " \(World.token)") }
      promise(!carries, "the client token went out: \(shown(sent.head))")
    }
  }
}

extension [UInt8] {
  fileprivate func ends(in text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
  fileprivate func holds(_ text: String) -> Bool { firstRange(of: bytesOf(text)) != nil }
}

// MARK: the head

private func checkHead(_ bytes: [UInt8]) {
  var limits = HeadLimits()
  limits.headBytes = 700
  limits.fields = 12
  limits.targetBytes = 200
  var head = RequestHead()
  let whole = read(bytes, [bytes.count], limits, &head)
  for ends in waysToCut(bytes) {
    var other = RequestHead()
    promise(read(bytes, ends, limits, &other) == whole, "the outcome depends on the cuts at \(ends)")
    if whole.consumed != nil { promise(Read(other) == Read(head), "the head depends on the cuts at \(ends)") }
  }
  guard let consumed = whole.consumed else { return }
  var other = RequestHead()
  promise(read(Array(bytes[..<consumed]), [consumed], limits, &other) == whole, "the head depends on what follows it")
  promise(
    read(Array(bytes[..<(consumed - 1)]), [consumed - 1], limits, &other) == Outcome(), "a head ends before its end")
  checkRewritten(head)
}

/// Checks that the rewritten head is read as the same head.
private func checkRewritten(_ head: RequestHead) {
  var output = ByteBuffer()
  output.append(head.bytes.span.extracting(head.methodRange))
  output.append(" ")
  output.append(head.bytes.span.extracting(head.target))
  output.append(" HTTP/1.1\r\n")
  for field in head.fields { FieldWriter.field(field, of: head.bytes, to: &output) }
  FieldWriter.lineEnd(to: &output)
  let bytes = Array(output.contents)
  _ = Wire(bytes, "the rewritten head")
  // The rewritten head has HTTP/1.1, which needs a Host and allows only one Expect. HTTP/1.0 ignores Expect.
  let expectations = head.fields.count { $0.known == .expect }
  guard head.host != nil, head.version == .http11 || expectations < 2 else { return }
  var again = RequestHead()
  promise(read(bytes, [bytes.count], HeadLimits(), &again).consumed == bytes.count, "cannot be read: \(shown(bytes))")
  var (one, other) = (Read(head), Read(again))
  one.absolute = nil
  if head.version == .http10 {
    one.isKeepAlive = other.isKeepAlive
    other.expectsContinue = false
  }
  promise(one == other, "the rewritten head is another: \(shown(bytes))")
}

struct Outcome: Equatable {
  var consumed: Int?
  var error: MessageError?
}

private func read(_ bytes: [UInt8], _ ends: [Int], _ limits: HeadLimits, _ head: inout RequestHead) -> Outcome {
  var reader = HeadReader(limits: limits)
  do throws(MessageError) {
    for end in ends {
      if let consumed = try reader.readRequest(bytes.span.extracting(first: end), into: &head) {
        return Outcome(consumed: consumed)
      }
    }
    return Outcome()
  } catch {
    return Outcome(error: error)
  }
}

/// A head without the positions of its parts.
private struct Read: Equatable {
  var method: Method
  var name: [UInt8]
  var target: [UInt8]
  var absolute: [UInt8]?
  var fields: [[UInt8]]
  var known: [KnownField]
  var host: [UInt8]?
  var length: BodyLength
  var isKeepAlive: Bool
  var expectsContinue: Bool

  init(_ head: RequestHead) {
    method = head.method
    name = Array(head.bytes[head.methodRange])
    target = Array(head.bytes[head.target])
    absolute = head.absoluteAuthority.map { Array(head.bytes[$0]) }
    fields = head.fields.flatMap { [Array(head.bytes[$0.name]), Array(head.bytes[$0.value])] }
    known = head.fields.map(\.known)
    host = head.host.map { Array(head.bytes[$0]) }
    length = head.bodyLength
    isKeepAlive = head.isKeepAlive
    expectsContinue = head.expectsContinue
  }
}

// MARK: sent requests

private struct Sent: Equatable {
  var head: [UInt8]
  var body: ReadBody
}

/// Returns the requests that were sent completely, one per session. A request that is refused within its body may be
/// sent partly or not at all.
private func forward(_ bytes: [UInt8], _ ends: [Int], in world: Snapshot = World.open) -> [Sent] {
  var proxy = Proxy(world)
  for piece in pieces(bytes, ends) {
    proxy.client(piece)
    while proxy.awaitsResponse { proxy.upstream(bytesOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) }
  }
  return proxy.sessions.filter { !$0.isEmpty }.map(checkSent).filter(\.body.isComplete)
}

private func checkSent(_ bytes: [UInt8]) -> Sent {
  let wire = Wire(bytes, "a request")
  var head = RequestHead()
  let outcome = read(bytes, [bytes.count], HeadLimits(), &head)
  promise(outcome.consumed == wire.count, "a request that went out cannot be read: \(shown(bytes))")
  promise(wire.values("host") == [bytesOf("up.test")], "Host of \(shown(bytes))")
  let target = head.bytes[head.target]
  promise(target.starts(with: bytesOf("/base/")) || target == [UInt8(ascii: "*")], "target \(shown(target))")
  let credentials = wire.fields.filter { $0.name.map { $0 == 0x5F ? 0x2D : $0 } == bytesOf("authorization") }
  let isOptions = head.method == .options
  promise(
    credentials.map(\.value) == (isOptions ? [] : [bytesOf("Bearer canary")]), "credentials of \(shown(bytes))")

  // Fields with the origin of a request name the upstream itself, or none.
  promise(wire.values("origin").allSatisfy { $0 == bytesOf("https://up.test") }, "Origin of \(shown(bytes))")
  promise(wire.values("sec-fetch-site").allSatisfy { $0 == bytesOf("none") }, "Sec-Fetch-Site of \(shown(bytes))")
  let isPreflight = !wire.values("access-control-request-method").isEmpty && !wire.values("origin").isEmpty
  promise(!isOptions || !isPreflight, "a preflight went out: \(shown(bytes))")

  let rest = Array(bytes[wire.count...])
  var body = ReadBody(head.bodyLength, rest, [rest.count])
  promise(body.error == nil && body.consumed == rest.count, "a request and more went out: \(shown(bytes))")
  // The size of chunks depends on the cuts.
  body.consumed = 0
  return Sent(head: Array(bytes[..<wire.count]), body: body)
}
