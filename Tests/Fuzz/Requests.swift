import Gateway
import HTTP1
import Primitives

/// A client's bytes: requests one after the other, as many as there are.
func fuzzRequest(_ bytes: [UInt8]) {
  checkHead(bytes)
  let whole = forward(bytes, [bytes.count])
  for ends in waysToCut(bytes) {
    promise(forward(bytes, ends) == whole, "what goes out depends on the cuts at \(ends)")
  }
  checkProven(bytes)
}

/// Where a client token is wanted: what goes out had one, and has it no more in any field that is known to carry keys.
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
    if whole.taken != nil { promise(Read(other) == Read(head), "the head depends on the cuts at \(ends)") }
  }
  guard let taken = whole.taken else { return }
  var other = RequestHead()
  promise(read(Array(bytes[..<taken]), [taken], limits, &other) == whole, "the head depends on what follows it")
  promise(read(Array(bytes[..<(taken - 1)]), [taken - 1], limits, &other) == Outcome(), "a head ends before its end")
  checkRewritten(head)
}

/// What the writer makes of the parts is the same head to the reader.
private func checkRewritten(_ head: RequestHead) {
  var output = ByteBuffer()
  MessageWriter.requestLine(
    method: head.bytes.span.extracting(head.methodRange), target: head.bytes.span.extracting(head.target), to: &output)
  for field in head.fields { MessageWriter.field(field, of: head.bytes, to: &output) }
  MessageWriter.endOfHead(to: &output)
  let bytes = Array(output.contents)
  _ = Wire(bytes, "the rewritten head")
  // It says HTTP/1.1, where a Host is needed, and where an expectation, which HTTP/1.0 ignores, may be there once.
  let expectations = head.fields.count { $0.known == .expect }
  guard head.host != nil, head.version == .http11 || expectations < 2 else { return }
  var again = RequestHead()
  promise(read(bytes, [bytes.count], HeadLimits(), &again).taken == bytes.count, "cannot be read: \(shown(bytes))")
  var (one, other) = (Read(head), Read(again))
  one.absolute = nil
  if head.version == .http10 {
    one.isKeepAlive = other.isKeepAlive
    other.expectsContinue = false
  }
  promise(one == other, "the rewritten head is another: \(shown(bytes))")
}

struct Outcome: Equatable {
  var taken: Int?
  var error: MessageError?
}

private func read(_ bytes: [UInt8], _ ends: [Int], _ limits: HeadLimits, _ head: inout RequestHead) -> Outcome {
  var reader = HeadReader(limits: limits)
  do throws(MessageError) {
    for end in ends {
      if let taken = try reader.readRequest(bytes.span.extracting(first: end), into: &head) {
        return Outcome(taken: taken)
      }
    }
    return Outcome()
  } catch {
    return Outcome(error: error)
  }
}

/// A head without the places in which its parts stand.
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

// MARK: what goes out

private struct Sent: Equatable {
  var head: [UInt8]
  var body: ReadBody
}

/// Each session carries one request and not a byte more; those that were whole. Of one that is refused in its body, the
/// head may have gone out, or nothing.
private func forward(_ bytes: [UInt8], _ ends: [Int], in world: Snapshot = World.open) -> [Sent] {
  var proxy = Proxy(world)
  for piece in pieces(bytes, ends) {
    proxy.client(piece)
    while proxy.awaitsAnswer { proxy.upstream(bytesOf("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) }
  }
  return proxy.sessions.filter { !$0.isEmpty }.map(checkSent).filter(\.body.isComplete)
}

private func checkSent(_ bytes: [UInt8]) -> Sent {
  let wire = Wire(bytes, "a request")
  var head = RequestHead()
  let outcome = read(bytes, [bytes.count], HeadLimits(), &head)
  promise(outcome.taken == wire.count, "a request that went out cannot be read: \(shown(bytes))")
  promise(wire.values("host") == [bytesOf("up.test")], "Host of \(shown(bytes))")
  let target = head.bytes[head.target]
  promise(target.starts(with: bytesOf("/base/")) || target == [UInt8(ascii: "*")], "target \(shown(target))")
  let credentials = wire.fields.filter { $0.name.map { $0 == 0x5F ? 0x2D : $0 } == bytesOf("authorization") }
  let isOptions = head.method == .options
  promise(
    credentials.map(\.value) == (isOptions ? [] : [bytesOf("Bearer canary")]), "credentials of \(shown(bytes))")

  // What says whence a request comes says it of the upstream itself, or of nobody.
  promise(wire.values("origin").allSatisfy { $0 == bytesOf("https://up.test") }, "Origin of \(shown(bytes))")
  promise(wire.values("sec-fetch-site").allSatisfy { $0 == bytesOf("none") }, "Sec-Fetch-Site of \(shown(bytes))")
  let asks = !wire.values("access-control-request-method").isEmpty && !wire.values("origin").isEmpty
  promise(!isOptions || !asks, "a preflight went out: \(shown(bytes))")

  let rest = Array(bytes[wire.count...])
  var body = ReadBody(head.bodyLength, rest, [rest.count])
  promise(body.error == nil && body.taken == rest.count, "a request and more went out: \(shown(bytes))")
  // Chunks are as long as the pieces in which they came.
  body.taken = 0
  return Sent(head: Array(bytes[..<wire.count]), body: body)
}
