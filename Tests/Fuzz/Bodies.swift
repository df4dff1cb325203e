import HTTP1
import Primitives

/// Reads the input as a body, with each kind of framing.
func fuzzBody(_ bytes: [UInt8]) {
  for length in [BodyLength.chunked, .length(UInt64(bytes.count / 2)), .none, .untilClose] {
    let whole = ReadBody(length, bytes, [bytes.count])
    for ends in waysToCut(bytes) {
      promise(ReadBody(length, bytes, ends) == whole, "the body depends on the cuts at \(ends)")
    }
    promise(whole.data.count <= bytes.count, "more data than bytes")
    switch length {
    case .chunked: checkChunked(bytes, whole)
    case .length(let count): promise(whole.isComplete && whole.data.count == Int(count), "a wrong length")
    case .none: promise(whole.isComplete && whole.consumed == 0, "a body where there is none")
    case .untilClose: promise(!whole.isComplete && whole.data == bytes, "not all until the close")
    }
  }
}

private func checkChunked(_ bytes: [UInt8], _ whole: ReadBody) {
  guard whole.isComplete else { return }
  let consumed = Array(bytes[..<whole.consumed])
  promise(ReadBody(.chunked, consumed, [consumed.count]) == whole, "the body depends on what follows it")
  let less = ReadBody(.chunked, Array(consumed.dropLast()), [consumed.count - 1])
  promise(!less.isComplete && less.error == nil, "a body ends before its end")
  promise(consumed.suffix(2) == [0x0D, 0x0A], "a body ends within a line")
  let reference = naive(bytes)
  promise(reference?.data == whole.data && reference?.count == whole.consumed, "another reader reads another body")

  // Writing the parts and reading them again gives the same body.
  var reader = BodyReader(.chunked)
  var position = 0
  var output = ByteBuffer()
  do throws(MessageError) {
    while case .data(let range) = try reader.next(bytes.span, position: &position) {
      MessageWriter.chunk(bytes.span.extracting(range), to: &output)
    }
  } catch {
    promise(false, "read once, and refused the second time")
  }
  let trailers = reader.takeTrailers() ?? Trailers()
  MessageWriter.lastChunk(trailers: trailers.fields, of: trailers.bytes, to: &output)
  let rewritten = Array(output.contents)
  var again = ReadBody(.chunked, rewritten, [rewritten.count])
  promise(again.consumed == rewritten.count, "the rewritten body ends early")
  again.consumed = whole.consumed
  promise(again == whole, "the rewritten body is another")
  for field in trailers.fields {
    let name = trailers.bytes[field.name].map { $0 == 0x5F ? 0x2D : lowercased($0) }
    for forbidden in [
      "content-length", "transfer-encoding", "host", "authorization", "cookie", "connection", "x-api-key",
    ] {
      promise(name != bytesOf(forbidden), "a trailer \(forbidden)")
    }
  }
}

/// Reads a chunked body as simple servers do: without checking extensions and trailers.
private func naive(_ bytes: [UInt8]) -> (data: [UInt8], count: Int)? {
  var data: [UInt8] = []
  var position = 0
  while let line = nextLine(bytes, &position) {
    let digits = line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
    guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
    if size == 0 {
      while let trailer = nextLine(bytes, &position) { if trailer.isEmpty { return (data, position) } }
      return nil
    }
    guard bytes.count - position >= size + 2 else { return nil }
    data += bytes[position..<(position + size)]
    position += size + 2
  }
  return nil
}

/// Returns the bytes before the next LF, without a CR at the end. `nil` if there is no LF.
private func nextLine(_ bytes: [UInt8], _ position: inout Int) -> ArraySlice<UInt8>? {
  guard let end = bytes[position...].firstIndex(of: 0x0A) else { return nil }
  let line = bytes[position..<end]
  position = end + 1
  return line.last == 0x0D ? line.dropLast() : line
}
