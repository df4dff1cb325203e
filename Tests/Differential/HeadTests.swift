import Foundation
import HTTP1
import TestSupport
import Testing

/// T16: a head that we take is taken by a second strict parser (h11), for the same request with the same end. Differences that
/// are meant:
/// - we skip empty lines before a request (RFC 9112 §2.2), h11 refuses them: it is asked without them;
/// - of an absolute-form target we keep what follows the authority, with the path that it means, h11 the whole;
/// - we take raw bytes above 0x7F in a target, and send them on percent-encoded; h11 refuses them: it is asked about the encoded form;
/// - we are stricter: `stricter` lists in what.
@Suite struct HeadTests {
  private struct Answer: Decodable {
    let error: String?
    let method: String?
    let target: String?
    let fields: [String]?
    let body: String?
    let rest: String?
  }

  /// Why we refuse heads that h11 takes.
  private static let stricter: Set<MessageError.Reason> = [
    // h11 does not look into a target or a Host: to us they have one spelling, and fragments and userinfo have no place.
    .badTarget, .forbiddenInTarget, .fragmentInTarget, .userinfoInTarget, .badHost,
    // It takes control bytes in values (all but NUL and what Python calls a blank), lines that end with LF alone, and folded
    // lines, as older servers did.
    .badFieldValue, .bareLineFeed, .obsoleteFolding,
    // It takes the same length written several times; we take one.
    .badContentLength, .duplicateContentLength,
    // It knows no expectations, and takes every version: to us 1.2 needs a Host as 1.1 does, and 2.0 is another protocol.
    .unknownExpectation, .missingHost, .unsupportedVersion,
    // It lets a length stand beside a coding, and drops it; and takes a coding in HTTP/1.0.
    .lengthWithTransferEncoding, .transferEncodingInHTTP10,
  ]

  private static let rows = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /x?y HTTP/1.1\r\nHost: a.b:80\r\nContent-Length: 5\r\n\r\n",
    "PUT /x HTTP/1.1\r\nHost: [::1]:1\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n", "HEAD /x HTTP/1.0\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\nX-A: \tb\t c \r\n\r\n",
    "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
    "DELETE /a%20b HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
  ]

  private static let pieces = [
    "\r\n", "\r", "\n", " ", "\t", ":", ": ", ",", "\0", "\u{b}", "\u{c}", "\u{7f}", "\u{80}", "\u{ff}", "\"", "#", "/",
    "a",
    "0", "5", "9",
    "Host: a\r\n", "host:b", "Content-Length: 5\r\n", "Content-Length: 5, 5\r\n", "content-length:0", "+5", "5 ",
    "0005",
    "18446744073709551616", "Transfer-Encoding: chunked\r\n", "transfer-encoding: gzip, chunked", "Chunked", "identity",
    " HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "GET ", "get ", "CONNECT ", "http://a", "https://", "*", "@",
    "[::1]",
    "X-A: b\r\n", " folded\r\n", "X A: b\r\n", ": b\r\n", "Connection: close\r\n", "Upgrade: x\r\n", "é",
  ]

  private static func mutated(_ random: inout SeededGenerator) -> [UInt8] {
    var bytes = latin1(rows.randomElement(using: &random) ?? "")
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let start = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, start + [0, 0, 1, 3].randomElement(using: &random)!)
      switch Int.random(in: 0...3, using: &random) {
      case 0: bytes.removeSubrange(start..<end)
      case 1: if start < end { bytes[start] = UInt8.random(in: 0...255, using: &random) }
      default: bytes.replaceSubrange(start..<end, with: latin1(pieces.randomElement(using: &random) ?? ""))
      }
    }
    return Array(bytes.drop { $0 == 0x0D || $0 == 0x0A })
  }

  private struct Ours {
    var head: RequestHead?
    var reason: MessageError.Reason?
  }

  private static func read(_ bytes: [UInt8]) -> Ours {
    var head = RequestHead()
    var reader = HeadReader(limits: HeadLimits())
    do throws(MessageError) {
      guard try reader.readRequest(bytes.span, into: &head) == bytes.count else { return Ours() }
      return Ours(head: head)
    } catch {
      return Ours(reason: error.reason)
    }
  }

  @Test(.enabled(if: OtherPrograms.python != nil, "`make differential` runs this"))
  func `h11 reads the same request heads`() throws {
    var random = SeededGenerator(state: 22)
    var texts: [[UInt8]] = []
    var ours: [Ours] = []
    while texts.count < 20_000 {
      let bytes = Self.mutated(&random)
      let read = Self.read(bytes)
      // Half a head, or more than one, says nothing here.
      if read.head == nil, read.reason == nil { continue }
      ours.append(read)
      texts.append(bytes)
    }
    let inputs = zip(texts, ours).map { text, ours in
      guard let head = ours.head else { return hexadecimal(text + next) }
      let line = text.prefix { $0 != 0x0D }
      return hexadecimal(encoded(line) + text[line.endIndex...] + body(head).sent + next)
    }
    let answers: [Answer] = try OtherPrograms.answers(OtherPrograms.python, "heads.py", inputs)

    var (taken, stricter) = (0, [MessageError.Reason: Int]())
    for ((bytes, ours), answer) in zip(zip(texts, ours), answers) {
      if let head = ours.head {
        taken += 1
        compare(head, answer, text(bytes))
      } else if let reason = ours.reason, answer.method != nil {
        stricter[reason, default: 0] += 1
      }
    }
    #expect(taken > 5000, "else the test has left the grammar and shows nothing")
    #expect(
      Set(stricter.keys).subtracting(Self.stricter).isEmpty, "we refuse what h11 takes, for another reason than before")
  }

  private let next = latin1("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")

  private func compare(_ head: RequestHead, _ answer: Answer, _ written: String) {
    func part(_ range: Range<Int>) -> String { text(head.bytes[range]) }
    #expect(answer.error == nil, "h11 refuses \(written.debugDescription)")
    #expect(answer.method == part(head.methodRange), "\(written.debugDescription)")
    #expect(answer.fields == head.fields.map { "\(part($0.name).lowercased()): \(part($0.value))" })
    #expect(answer.body == text(body(head).data), "\(written.debugDescription)")
    #expect(answer.rest == text(next), "another end: \(written.debugDescription)")
    let target = text(encoded(head.bytes[head.target]))
    if let authority = head.absoluteAuthority {
      let scheme = answer.target?.prefix { $0 != ":" } ?? ""
      let path = answer.target?.dropFirst(scheme.count + 3 + authority.count) ?? ""
      #expect(answer.target == "\(scheme)://\(part(authority))\(path)")
      #expect(target == path || target == "/" + path || target == "*" && path.isEmpty)
    } else {
      #expect(answer.target == target)
    }
  }

  /// A body such as the head announces.
  private func body(_ head: RequestHead) -> (sent: [UInt8], data: [UInt8]) {
    switch head.bodyLength {
    case .none, .untilClose: ([], [])
    case .chunked: (latin1("3\r\nabc\r\n0\r\n\r\n"), latin1("abc"))
    case .length(let count): (letters(count), letters(count))
    }
  }

  /// The form in which raw bytes of a target go on.
  private func encoded(_ target: ArraySlice<UInt8>) -> [UInt8] {
    target.flatMap { $0 < 0x80 ? [$0] : Array("%\(String($0, radix: 16, uppercase: true))".utf8) }
  }

  private func letters(_ count: UInt64) -> [UInt8] { [UInt8](repeating: 0x62, count: Int(min(count, 10_000))) }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
