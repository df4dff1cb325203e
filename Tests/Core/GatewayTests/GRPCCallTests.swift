import HTTP1
import Policy
import Primitives
import Testing

@testable import Gateway

/// gRPC calls of clients over HTTP/2.
@Suite struct GRPCCallTests {
  private static let message = "\0\0\0\0\u{2}hi"

  /// Sends the head of a call to an upstream over HTTP/2.
  private func call(
    _ fields: (String, String)..., path: String = "/api/Greeter/Hello", in snapshot: Snapshot? = nil,
    over applicationProtocol: ApplicationProtocol = .http2
  ) throws -> Conversation {
    var played = Conversation(try snapshot ?? GatewayTests.snapshot())
    played.applicationProtocol = applicationProtocol
    let start = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost:7070")]
    played.clientHead(
      start + [("content-type", "application/grpc"), ("te", "trailers")] + fields, endsStream: false)
    return played
  }

  private func begin(_ played: inout Conversation) {
    played.stream(.head(headerBlock([(":status", "200"), ("content-type", "application/grpc")])))
  }

  private func head(_ field: String, method: String = "POST") throws -> RequestHead {
    var (head, reader) = (RequestHead(), HeadReader(limits: HeadLimits()))
    _ = try reader.readRequest(Array(get(field, method: method).utf8).span, into: &head)
    return head
  }

  @Test(arguments: [
    ("application/grpc", true), ("application/grpc+proto", true), ("APPLICATION/gRPC;charset=utf-8", true),
    ("application/grpc ; a=b", true), ("application/grpc-web", false), ("application/grpc-web+proto", false),
    ("application/grpcx", false), ("application/grp", false), ("text/plain; application/grpc", false),
  ])
  func `the content type says whether a request is a call`(type: String, isCall: Bool) throws {
    #expect(GRPCCall.isCall(try head("Content-Type: \(type)")) == isCall)
    #expect(!GRPCCall.isCall(try head("X-Content-Type: \(type)")))
    #expect(!GRPCCall.isCall(try head("Content-Type: \(type)", method: "GET")))
  }

  @Test(
    arguments: [
      ("2H", 7_200_000), ("3M", 180_000), ("10S", 10_000), ("250m", 250), ("1u", 1), ("2001u", 3), ("1n", 1),
      ("1000001n", 2), ("0S", 0), ("99999999H", 359_999_996_400_000), ("00000001S", 1_000), ("999999999S", nil),
      ("S", nil), ("", nil), ("1", nil), ("1s", nil), ("-1S", nil), ("1.5S", nil), (" 1 S", nil), ("1SS", nil),
    ] as [(String, UInt64?)])
  func `the deadline of a call is one to eight digits and a unit`(text: String, milliseconds: UInt64?) throws {
    #expect(GRPCCall.timeout(try head("grpc-timeout: \(text)")) == milliseconds)
    #expect(GRPCCall.timeout(try head("grpc-timeout: \(text)\r\ngrpc-timeout: \(text)")) == nil)
  }

  @Test func `a deadline is passed on, also a malformed one`() throws {
    for text in ["1S", "forever"] {
      let played = try call(("grpc-timeout", text))
      #expect(played.request.contains("\r\ngrpc-timeout: \(text)\r\n"))
    }
  }

  @Test(arguments: [
    (400, GRPCStatus.internalError), (401, .unauthenticated), (403, .permissionDenied), (404, .unimplemented),
    (502, .unavailable), (503, .unavailable), (504, .unavailable), (429, .resourceExhausted), (418, .unknown),
  ])
  func `HTTP statuses become the statuses that gRPC defines`(http: Int, status: GRPCStatus) {
    #expect(GRPCStatus(http: http) == status)
  }

  @Test(arguments: refusals)
  func `a refused call gets its status in the head, and no body`(refusal: Refusal) throws {
    var response = OutgoingResponse()
    GRPCProblem.write(refusal, detail: nil, reason: "", to: &response)
    #expect(response.status == 200 && response.content.isEmpty && response.length == .none)
    let lines = String(decoding: response.fields.contents, as: UTF8.self).split(separator: "\r\n")
    #expect(lines[0] == "Content-Type: application/grpc")
    #expect(lines[1] == "grpc-status: \(refusal.row.grpc.rawValue)" && refusal.row.grpc != .unknown)
    #expect(lines[2].hasPrefix("grpc-message: bearerd: \(refusal.row.title) ("))
    #expect(lines[2].contains("bearerctl errors \(refusal.row.code)"))
    #expect(lines.last == "Proxy-Status: bearerd; error=\(refusal.row.proxyError); details=\"\(refusal.row.code)\"")
    #expect(lines.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } && $0.utf8.count < 4_096 })
    let pushback = lines.first { $0.hasPrefix("grpc-retry-pushback-ms: ") }.map { String($0.dropFirst(24)) }
    if refusal == .plain(.loginRequired) { #expect(pushback == "-1") }
    if case .rateLimited(let excess) = refusal { #expect(pushback == "\(excess.wait)") }
  }

  @Test func `the text of a status is encoded, and cut between characters`() {
    var line = ByteBuffer()
    GRPCProblem.writeEncoded(ArraySlice("a% é\n~\u{7F}".utf8), to: &line)
    #expect(String(decoding: line.contents, as: UTF8.self) == "a%25 %C3%A9%0A~%7F")
    for count in 900..<1_100 {
      var response = OutgoingResponse()
      let detail = String(repeating: "x", count: count) + "\u{1F511}\u{1F511}\u{1F511}\u{1F511}\u{1F511}"
      GRPCProblem.write(.plain(.denied), detail: detail, reason: "", to: &response)
      let text = String(decoding: response.fields.contents, as: UTF8.self)
      #expect(!text.contains("%F0%9F%94\r\n") && !text.contains("%F0%9F\r\n") && !text.contains("%F0\r\n"))
      #expect(text.utf8.count < 1_024 + 400)
    }
  }

  @Test func `a call that no rule allows is refused with a status`() throws {
    let played = try call(path: "/other/Greeter/Hello")
    #expect(status(played.clientHeads) == "200" && value("grpc-status", played.clientHeads) == "12")
    #expect(played.records[0].status == 404 && played.records[0].refusal == .policy(.noService))
    #expect(played.sessions.isEmpty)
  }

  @Test func `the record has the status of the call, from the upstream or from bearerd`() throws {
    for (head, trailers, status) in [("5", nil, 5), (nil, "99", 99), ("x", "100", nil), (nil, nil, nil)]
      as [(String?, String?, Int?)]
    {
      var played = try call()
      played.clientMessage(.end)
      played.stream(.head(headerBlock([(":status", "200")] + (head.map { [("grpc-status", $0)] } ?? []))))
      if let trailers { played.stream(.trailers(headerBlock([("grpc-status", trailers)]))) }
      played.stream(.end)
      #expect(played.records.map(\.callStatus) == [status])
    }
    #expect(try call(path: "/other/Greeter/Hello").records[0].callStatus == 12)
    var cut = try call()
    begin(&cut)
    cut.apply { $0.upstreamFailed(.upstreamClosed, output: &$1) }
    #expect(cut.records[0].callStatus == 14)
    var other = Conversation(try snapshot())
    other.applicationProtocol = .http2
    other.clientHead([(":method", "GET"), (":scheme", "http"), (":path", "/api/x"), (":authority", "localhost:7070")])
    other.stream(200, ("grpc-status", "5"))
    #expect(other.records.map(\.callStatus) == [nil])
  }

  @Test func `both sides of a call may be silent for as long as an upgraded connection`() throws {
    var played = try call()
    #expect(played.deadline == .upgraded && !played.box.machine.awaitsRequestBody)
    played.client(Self.message)
    #expect(played.deadline == .upgraded && !played.box.machine.awaitsRequestBody)
    begin(&played)
    #expect(played.deadline == .upgraded)
    played.clientMessage(.end)
    #expect(played.deadline == .upgraded)
    played.apply { $0.requestBodyTooSlow(output: &$1) }
    #expect(played.phase == .exchanging)
  }

  @Test func `a call that waits for its head has the timeout of upgraded connections`() throws {
    var played = try call()
    played.clientMessage(.end)
    #expect(played.deadline == .upgraded)
    played.apply { $0.deadlinePassed(output: &$1) }
    #expect(value("grpc-status", played.clientHeads) == "4" && played.records[0].timeout == .upgraded)
    #expect(played.clientHeads.contains("key timeouts.upgraded") && played.log.contains("drop"))
  }

  @Test func `every message passes at once, in both directions, and the status follows as trailers`() throws {
    var played = try call()
    for _ in 0..<3 {
      played.client(Self.message)
      played.client(Self.message)
      #expect(played.request.hasSuffix(Self.message + Self.message))
      if played.received.isEmpty { begin(&played) }
      played.upstream(Self.message)
      #expect(played.response.hasSuffix(Self.message))
    }
    played.clientMessage(.end)
    let trailers = [("grpc-status", "9"), ("grpc-message", "a%25b"), ("grpc-status-details-bin", "CAkSA2Zvbw==")]
    played.stream(.trailers(headerBlock(trailers)))
    played.stream(.end)
    #expect(played.responseTrailers == trailers.map { "\($0): \($1)\r\n" }.joined())
    #expect(played.log.contains("end of response") && !played.log.contains("shutdown client"))
    #expect(!played.records[0].dropped.contains(.trailer) && !played.records[0].isAborted)
  }

  @Test func `a status in the head passes`() throws {
    var played = try call()
    played.clientMessage(.end)
    played.stream(.head(headerBlock([(":status", "200"), ("grpc-status", "16"), ("grpc-message", "no")])))
    played.stream(.end)
    #expect(value("grpc-status", played.clientHeads) == "16" && value("grpc-message", played.clientHeads) == "no")
    #expect(!played.records[0].isAborted)
  }

  @Test(
    arguments: [("0", .accepted), ("16", .rejected), ("7", .forbidden), ("5", nil), ("x", .accepted), (nil, .accepted)]
      as [(String?, CredentialVerdict?)])
  func `the status of a call is a verdict on the credential`(status: String?, verdict: CredentialVerdict?) throws {
    var played = try call()
    played.clientMessage(.end)
    let fields = status.map { [("grpc-status", $0)] } ?? []
    played.stream(.head(headerBlock([(":status", "200")] + fields)))
    played.stream(.end)
    #expect(played.verdicts == [verdict] && played.records[0].isRejected == (status == "16"))
    #expect(value("grpc-status", played.clientHeads) == status)
  }

  @Test(
    arguments: [
      ("0", .accepted), ("16", .rejected), ("7", .forbidden), ("5", nil), ("016", .accepted), ("-1", .accepted),
      (nil, .accepted),
    ] as [(String?, CredentialVerdict?)], [0, 2])
  func `the status at the end of a call is a verdict, too`(row: (String?, CredentialVerdict?), messages: Int) throws {
    let (status, verdict) = row
    for isTogether in [false, true] {
      var played = try call()
      played.clientMessage(.end)
      begin(&played)
      #expect(played.verdicts.isEmpty && played.preliminaryVerdicts.isEmpty)
      for _ in 0..<messages { played.upstream(Self.message) }
      #expect(played.preliminaryVerdicts == (messages > 0 ? [.accepted] : []))
      #expect(played.verdicts.isEmpty)
      let trailers = status.map { [("grpc-status", $0), ("grpc-message", "no")] } ?? []
      if !trailers.isEmpty {
        let block = StreamMessage.trailers(headerBlock(trailers))
        if isTogether { played.apply { machine, _ in machine.receivedMessage(block) } } else { played.stream(block) }
      }
      played.stream(.end)
      #expect(played.verdicts == [verdict] && played.records[0].isRejected == (status == "16"))
      // The program gets the upstream's status, and the request is not sent again.
      #expect(played.responseTrailers == trailers.map { "\($0): \($1)\r\n" }.joined())
      #expect(!played.records[0].isAborted && played.sessions.count == 1)
    }
  }

  @Test(arguments: [false, true])
  func `a call that is rejected at its end replaces the credential for later calls`(hasMessage: Bool) throws {
    var played = try call(in: snapshot(replayBuffer: 1_024))
    played.clientMessage(.end)
    begin(&played)
    if hasMessage { played.upstream(Self.message) }
    #expect(!played.log.contains("replace"))
    played.stream(.trailers(headerBlock([("grpc-status", "16")])))
    played.stream(.end)
    #expect(played.log.contains("replace") && !played.log.contains("renew") && played.sessions.count == 1)
    #expect(played.responseTrailers == "grpc-status: 16\r\n" && played.records[0].isRejected)
  }

  @Test func `a second rejection at the end of a call does not replace the renewed credential`() throws {
    var played = try call(in: snapshot(replayBuffer: 1_024))
    played.clientMessage(.end)
    played.stream(.head(headerBlock([(":status", "200"), ("grpc-status", "16")])))
    played.apply { $0.credentialRenewed(output: &$1) }
    begin(&played)
    played.stream(.trailers(headerBlock([("grpc-status", "16")])))
    played.stream(.end)
    #expect(!played.log.contains("replace") && played.verdicts == [.rejected])
  }

  @Test func `the end of a call without a credential is no verdict`() throws {
    var played = try call(in: snapshot(credential: .none))
    played.clientMessage(.end)
    played.stream(200, ("content-type", "application/grpc"), data: Self.message, trailers: [("grpc-status", "16")])
    #expect(played.verdicts == [nil] && played.preliminaryVerdicts.isEmpty && !played.records[0].isRejected)
  }

  @Test func `with on_rejected, a call that is rejected at its end gets the status of bearerd`() throws {
    for type in ["application/grpc", "text/plain"] {
      var played = try call(in: snapshot { $0.options.onRejected = .status502 })
      played.clientMessage(.end)
      played.stream(200, ("content-type", type), data: Self.message, trailers: [("grpc-status", "16")])
      #expect(played.response == Self.message && played.records[0].isRejected && !played.log.contains("reset"))
      guard type == "application/grpc" else {
        #expect(played.responseTrailers == "grpc-status: 16\r\n")
        continue
      }
      #expect(played.responseTrailers.hasPrefix("grpc-status: 14\r\n"))
      #expect(played.records[0].refusal == .plain(.credentialRejected))
    }
  }

  @Test func `a rejected call is sent again with a renewed credential, or replaces it for later calls`() throws {
    let rejection: StreamMessage = .head(headerBlock([(":status", "200"), ("grpc-status", "16")]))
    for isComplete in [true, false] {
      var played = try call(in: snapshot(replayBuffer: 1_024))
      played.client(Self.message)
      if isComplete { played.clientMessage(.end) }
      played.stream(rejection)
      guard isComplete else {
        #expect(played.log.contains("replace") && value("grpc-status", played.clientHeads) == "16")
        continue
      }
      #expect(played.log.contains("renew") && played.clientHeads.isEmpty)
      played.apply { $0.credentialRenewed(output: &$1) }
      #expect(played.sessions.count == 2 && played.sessions[1].suffix(7) == Array(Self.message.utf8)[...])
      played.stream(rejection)
      #expect(played.sessions.count == 2 && value("grpc-status", played.clientHeads) == "16")
    }
  }

  @Test func `with on_rejected, a rejected call gets the status of bearerd`() throws {
    var played = try call(in: snapshot { $0.options.onRejected = .status502 })
    played.clientMessage(.end)
    played.stream(.head(headerBlock([(":status", "200"), ("grpc-status", "16")])))
    #expect(value("grpc-status", played.clientHeads) == "14")
    #expect(played.records[0].refusal == .plain(.credentialRejected))
  }

  @Test func `a call whose response has begun ends with a status`() throws {
    var played = try call()
    played.client(Self.message)
    begin(&played)
    played.upstream(Self.message)
    played.apply { $0.upstreamFailed(.upstreamClosed, output: &$1) }
    #expect(played.responseTrailers.hasPrefix("grpc-status: 14\r\ngrpc-message: bearerd: "))
    #expect(played.log.contains("end of response") && played.log.contains("shutdown client"))
    #expect(!played.log.contains("reset") && played.log.filter { $0 == "record" }.count == 1)
    #expect(played.records[0].isAborted && played.records[0].refusal == .plain(.upstreamClosed))
  }

  @Test(arguments: [false, true])
  func `a call gets a status when bearerd stops`(hasResponded: Bool) throws {
    var played = try call()
    if hasResponded { begin(&played) }
    played.apply { $0.stopped(output: &$1) }
    let status = hasResponded ? played.responseTrailers : played.clientHeads
    #expect(status.contains("grpc-status: 14\r\n") && !played.log.contains("reset") && played.log.contains("drop"))
  }

  @Test func `a response that is no response of gRPC is reset`() throws {
    var played = try call()
    played.stream(.head(headerBlock([(":status", "503")])))
    played.upstream("half")
    played.apply { $0.upstreamFailed(.upstreamClosed, output: &$1) }
    #expect(played.log.contains("reset") && played.responseTrailers.isEmpty)
  }

  @Test(arguments: [RequestTimeout.total, .grpcTimeout])
  func `the deadline of a call ends it with a status`(timeout: RequestTimeout) throws {
    for hasResponded in [false, true] {
      var played = try call(("grpc-timeout", "1S"))
      if hasResponded { begin(&played) }
      played.apply { $0.totalDeadlinePassed(timeout, output: &$1) }
      let status = hasResponded ? played.responseTrailers : played.clientHeads
      #expect(status.contains("grpc-status: 4\r\n") && status.contains("key \(timeout.rawValue)"))
      #expect(played.records[0].timeout == timeout)
    }
  }

  @Test func `a call is not sent again after a failure, unless the upstream did not process it`() throws {
    var played = try call(in: snapshot { $0.retry = RetryPolicy() })
    played.client(Self.message)
    played.apply { $0.upstreamFailed(.upstreamClosed, output: &$1) }
    #expect(played.sessions.count == 1 && value("grpc-status", played.clientHeads) == "14")
    played = try call()
    played.apply { $0.upstreamUnprocessed(output: &$1) }
    #expect(played.sessions.count == 2)
  }

  @Test(
    arguments: [
      ("run%2Fbearerd.sock", true, "localhost"), ("%2Frun%2Fbearerd.sock", true, "localhost"),
      ("%2frun%2f.a-b", true, "localhost"),
      ("%2Frun%2Fbearerd.sock", false, nil), ("api.localhost", true, "api.localhost"), ("%41pi", true, nil),
      ("%2Frun:80", true, nil), ("%2F/x", true, nil),
    ] as [(String, Bool, String?)])
  func `on a Unix socket, the authority may be the path of the socket`(
    authority: String, isLocalSocket: Bool, host: String?
  ) throws {
    var edge = HTTP2ClientEdge(isLocalSocket: isLocalSocket)
    edge.receive(
      .head(headerBlock([(":method", "POST"), (":scheme", "http"), (":path", "/x"), (":authority", authority)])))
    var text = ByteBuffer()
    let isTaken = (try? edge.takeHead(to: &text)) ?? false
    #expect(isTaken == (host != nil))
    if let host { #expect(String(decoding: text.contents, as: UTF8.self).contains("\r\nhost: \(host)\r\n")) }
  }

  @Test func `a call is not sent to an upstream over HTTP1`() throws {
    let played = try call(over: .http1)
    #expect(played.records[0].refusal == .plain(.grpcNeedsHTTP2) && value("grpc-status", played.clientHeads) == "13")
    #expect(
      played.request.isEmpty && played.log == ["open", "end of response", "release", "record", "shutdown client"])
  }

  @Test(arguments: ["identity", "gzip"])
  func `with redact all, messages that are compressed are refused`(coding: String) throws {
    var played = try call(("grpc-accept-encoding", "identity, gzip"), in: snapshot { $0.options.redact = .all })
    #expect(!played.request.contains("grpc-accept-encoding"))
    played.clientMessage(.end)
    played.stream(200, ("grpc-encoding", coding), data: "a^b")
    #expect(played.response.contains("a*b") == (coding == "identity"))
    #expect((value("grpc-status", played.clientHeads) == "13") == (coding == "gzip"))
  }

  @Test func `without redact all, the codings of messages pass`() throws {
    var played = try call(("grpc-accept-encoding", "identity, gzip"))
    #expect(played.request.contains("\r\ngrpc-accept-encoding: identity, gzip\r\n"))
    played.clientMessage(.end)
    played.stream(200, ("grpc-encoding", "gzip"), data: "a^b")
    #expect(played.response.contains("a^b") && value("grpc-encoding", played.clientHeads) == "gzip")
  }
}
