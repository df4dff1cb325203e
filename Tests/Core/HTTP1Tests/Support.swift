import HTTP1
import Testing

/// Returns ways to split an input: whole, byte by byte, and in two pieces at every position. Each way is a list of ends
/// of pieces.
func waysToCut(_ count: Int) -> [[Int]] {
  [[count], Array(0...count)] + (0..<count).map { [$0, count] }
}

/// A parsed request head as text.
struct ReadRequest: Equatable, CustomStringConvertible {
  var method: String
  var target: String
  var authority: String?
  var version = Version.http11
  var host: String?
  var fields: [String]
  var body = BodyLength.none
  var isKeepAlive = true
  var expectsContinue = false

  var description: String {
    "\(method) \(target) \(authority ?? "-") \(version) host=\(host ?? "-") \(body) keep=\(isKeepAlive) "
      + "expect=\(expectsContinue) \(fields)"
  }
}

extension ReadRequest {
  init(_ head: RequestHead) {
    method = head.text(head.methodRange)
    target = head.text(head.target)
    authority = head.absoluteAuthority.map { head.text($0) }
    version = head.version
    host = head.host.map { head.text($0) }
    fields = head.fields.map { "\(head.text($0.name)): \(head.text($0.value))" }
    body = head.bodyLength
    isKeepAlive = head.isKeepAlive
    expectsContinue = head.expectsContinue
  }
}

extension RequestHead {
  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

extension ResponseHead {
  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

/// Encodes a text in Latin-1: one byte per scalar.
func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }

/// Feeds `bytes` to a reader up to each of `ends`. Returns the length of the head, or `nil` if it is incomplete.
func readRequest(
  _ bytes: [UInt8], cutAt ends: [Int], limits: HeadLimits = HeadLimits(), into head: inout RequestHead
) throws(MessageError) -> Int? {
  var reader = HeadReader(limits: limits)
  for end in ends {
    if let taken = try reader.readRequest(bytes.span.extracting(first: end), into: &head) { return taken }
  }
  return nil
}

func readResponse(
  _ bytes: [UInt8], cutAt ends: [Int], limits: HeadLimits = HeadLimits(), repairs: Bool = false,
  into head: inout ResponseHead
) throws(MessageError) -> Int? {
  var reader = HeadReader(limits: limits, repairs: repairs)
  for end in ends {
    if let taken = try reader.readResponse(bytes.span.extracting(first: end), into: &head) { return taken }
  }
  return nil
}

/// Returns the error of a head, or `nil` if the head is valid. Fails the test if the error depends on the split.
func refusal(
  of bytes: [UInt8], limits: HeadLimits = HeadLimits(), isResponse: Bool = false, repairs: Bool = false,
  sourceLocation: SourceLocation = #_sourceLocation
) -> MessageError? {
  var found: [MessageError?] = []
  for ends in waysToCut(bytes.count) {
    do throws(MessageError) {
      if isResponse {
        var head = ResponseHead()
        _ = try readResponse(bytes, cutAt: ends, limits: limits, repairs: repairs, into: &head)
      } else {
        var head = RequestHead()
        _ = try readRequest(bytes, cutAt: ends, limits: limits, into: &head)
      }
      found.append(nil)
    } catch {
      found.append(error)
    }
  }
  #expect(found.allSatisfy { $0 == found[0] }, "the reason depends on the cut", sourceLocation: sourceLocation)
  return found[0]
}

/// Returns the number of bytes after which a head is refused, or `nil` if the head is valid.
func bytesBeforeRefusal(_ bytes: [UInt8], limits: HeadLimits = HeadLimits()) -> Int? {
  var reader = HeadReader(limits: limits)
  var head = RequestHead()
  for end in 0...bytes.count {
    do throws(MessageError) {
      if try reader.readRequest(bytes.span.extracting(first: end), into: &head) != nil { return nil }
    } catch {
      return end
    }
  }
  return nil
}

/// Returns all elements of the list in `range`. Also checks that the end of the list is stable.
func elementsOfList(_ bytes: [UInt8], _ range: Range<Int>) -> [Range<Int>] {
  var list = ListElements(range)
  var found: [Range<Int>] = []
  while let element = list.next(in: bytes.span) { found.append(element) }
  if let more = list.next(in: bytes.span) { found.append(more) }
  return found
}
