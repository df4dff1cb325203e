import HTTP1

/// A message as a simple server parses it: lines that end with CRLF, until an empty line.
struct Wire {
  let firstLine: [UInt8]
  let fields: [(name: [UInt8], value: [UInt8])]
  /// Length of the head in bytes.
  let count: Int

  /// Aborts if a less strict parser could read other lines.
  init(_ bytes: [UInt8], _ what: String) {
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    while true {
      let end = bytes[start...].firstIndex { $0 == 0x0A } ?? bytes.count
      promise(
        end > start && end < bytes.count && bytes[end - 1] == 0x0D, "\(what) ends within its head: \(shown(bytes))")
      let line = bytes[start..<(end - 1)]
      start = end + 1
      if line.isEmpty { break }
      promise(
        line.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "\(what) has a control byte in \(shown(line))")
      lines.append(line)
    }
    firstLine = Array(lines.first ?? [])
    fields = lines.dropFirst().map { line in
      let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
      let name = line[..<colon]
      promise(
        colon < line.endIndex && !name.isEmpty && name.allSatisfy(isTokenCharacter), "\(what) has a line \(shown(line))"
      )
      return (name.map(lowercased), Array(line[(colon + 1)...].drop { $0 == 0x20 }))
    }
    count = start
    let framing = fields.count { $0.name == bytesOf("content-length") || $0.name == bytesOf("transfer-encoding") }
    promise(framing <= 1, "\(what) has \(framing) framings: \(shown(bytes.prefix(start)))")
  }

  /// - Parameter name: in lower case.
  func values(_ name: String) -> [[UInt8]] { fields.filter { $0.name == bytesOf(name) }.map(\.value) }
}

/// A body that was read to its end, or as far as possible.
struct ReadBody: Equatable {
  var data: [UInt8] = []
  var trailers: [String] = []
  var isComplete = false
  var error: MessageError?
  /// The number of consumed bytes of the input. 0 after an error.
  var consumed = 0

  /// - Parameter ends: the ends of the pieces in which the body arrives.
  init(_ length: BodyLength, _ bytes: [UInt8], _ ends: [Int]) {
    var reader = BodyReader(length)
    do throws(MessageError) {
      reading: for end in ends {
        let input = bytes.span.extracting(first: end)
        while true {
          switch try reader.next(input, position: &consumed) {
          case .needsMore:
            promise(consumed == end, "more is needed, but \(end - consumed) bytes are left")
            continue reading
          case .data(let range):
            promise(!range.isEmpty && range.upperBound <= end, "data at \(range) of \(end)")
            data += bytes[range]
          case .end: break reading
          }
        }
      }
    } catch {
      self.error = error
      consumed = 0
    }
    isComplete = error == nil && reader.isComplete
    // An incomplete trailer section is not used.
    guard isComplete else { return }
    let section = reader.takeTrailers() ?? Trailers()
    trailers = section.fields.map {
      String(decoding: section.bytes[$0.name] + bytesOf(": ") + section.bytes[$0.value], as: UTF8.self)
    }
  }
}

func bytesOf(_ text: String) -> [UInt8] { Array(text.utf8) }

func lowercased(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

func isTokenCharacter(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
  default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
