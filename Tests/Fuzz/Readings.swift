/// Returns all paths that a server may read. A server may decode once, only slashes or not at all, drop `;params` of
/// all segments or the last one, and merge slashes, in any order. This implementation is independent of bearerd's.
func everyReading(of path: [UInt8]) -> [[UInt8]] {
  struct Reading: Hashable {
    var path: [UInt8]
    var isDecoded: Bool
  }
  var found = [Reading(path: path, isDecoded: false)]
  var known = Set(found)
  var next = 0
  while next < found.count {
    let reading = found[next]
    next += 1
    var others = [cut(reading.path), cutLast(reading.path), merge(reading.path)].map {
      Reading(path: $0, isDecoded: reading.isDecoded)
    }
    if !reading.isDecoded {
      let slashed = withoutBackslashes(reading.path)
      others += [slashed, decode(slashed, slashesOnly: false), decode(slashed, slashesOnly: true)].map {
        Reading(path: $0, isDecoded: true)
      }
      others += [decode(reading.path, slashesOnly: false), decode(reading.path, slashesOnly: true)].map {
        Reading(path: $0, isDecoded: true)
      }
    }
    for other in others where known.insert(other).inserted { found.append(other) }
  }
  return Array(Set(found.map(\.path)))
}

/// Returns the path after the authority if `//authority/path` is read as a network path, by RFC 3986 and by WHATWG's
/// URL.
func networkPaths(_ path: [UInt8]) -> [[UInt8]] {
  guard path.starts(with: [slash, slash]) else { return [] }
  let strict = path.dropFirst(2).drop { $0 != slash }
  let lenient = path.drop { $0 == slash }.drop { $0 != slash }
  return [strict, lenient].map { $0.isEmpty ? [slash] : Array($0) }
}

func hasDotSegment(_ path: [UInt8]) -> Bool {
  path.split(separator: slash).contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
}

/// Whether the byte needs no escape in a path (RFC 3986 section 3.3), and does not begin one.
func isPathCharacter(_ byte: UInt8) -> Bool {
  isTokenCharacter(byte) && !"^`|#%".utf8.contains(byte) || "/:@()=;,".utf8.contains(byte)
}

/// Decodes escapes of slashes, or of all bytes that a path can contain. Other escapes stay.
private func decode(_ path: [UInt8], slashesOnly: Bool) -> [UInt8] {
  var decoded: [UInt8] = []
  var rest = path[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%") else {
      decoded.append(byte)
      continue
    }
    let digits = rest.prefix(2)
    rest = rest.dropFirst(2)
    if let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16),
      slashesOnly ? value == slash : isPathCharacter(value)
    {
      decoded.append(value)
    } else {
      decoded += [byte] + digits
    }
  }
  return decoded
}

/// Returns the path with slashes in place of escaped backslashes, as some servers read it.
private func withoutBackslashes(_ path: [UInt8]) -> [UInt8] {
  Array(String(decoding: path, as: UTF8.self).replacing("%5C", with: "/").utf8)
}

private func cut(_ path: [UInt8]) -> [UInt8] {
  Array(
    path.split(separator: slash, omittingEmptySubsequences: false).map { $0.prefix { $0 != UInt8(ascii: ";") } }
      .joined(separator: [slash]))
}

private func cutLast(_ path: [UInt8]) -> [UInt8] {
  let directory = path.prefix((path.lastIndex(of: slash) ?? -1) + 1)
  return Array(directory + path[directory.endIndex...].prefix { $0 != UInt8(ascii: ";") })
}

private func merge(_ path: [UInt8]) -> [UInt8] {
  path.reduce(into: []) { if $1 != slash || $0.last != slash { $0.append($1) } }
}

private let slash = UInt8(ascii: "/")
