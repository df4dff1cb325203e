import Glibc

/// Counts a text in the writable memory of this process. The text is given in `rot13`, so that the search does not find
/// itself.
package func occurrences(of encoded: String) -> Int { occurrences(of: Array(encoded.utf8), by: rot13) }

/// Counts encoded bytes in the writable memory of this process, without a copy that the search would find.
package func occurrences(of needle: [UInt8], by decode: (UInt8) -> UInt8) -> Int {
  var count = 0
  for region in writableRegions() {
    var position = region.start
    let end = region.start + region.count - needle.count
    while position < end, let found = memchr(position, Int32(decode(needle[0])), end - UnsafeRawPointer(position)) {
      let candidate = UnsafeRawPointer(found)
      if needle.indices.allSatisfy({ candidate.load(fromByteOffset: $0, as: UInt8.self) == decode(needle[$0]) }) {
        count += 1
      }
      position = candidate + 1
    }
  }
  return count
}

/// Rotates letters by 13, like `tr A-Za-z N-ZA-Mn-za-m`.
package func rot13(_ byte: UInt8) -> UInt8 {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "M"), UInt8(ascii: "a")...UInt8(ascii: "m"): byte + 13
  case UInt8(ascii: "N")...UInt8(ascii: "Z"), UInt8(ascii: "n")...UInt8(ascii: "z"): byte - 13
  default: byte
  }
}

private func writableRegions() -> [(start: UnsafeRawPointer, count: Int)] {
  guard let maps = fopen("/proc/self/maps", "r") else { return [] }
  defer { fclose(maps) }
  var regions: [(start: UnsafeRawPointer, count: Int)] = []
  var line = [CChar](repeating: 0, count: 4096)
  while fgets(&line, 4096, maps) != nil {
    let text = String(decoding: line.prefix { $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let columns = text.split(separator: " ")
    guard columns.count > 1, columns[1].hasPrefix("rw") else { continue }
    let bounds = columns[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
    guard bounds.count == 2, let start = UnsafeRawPointer(bitPattern: bounds[0]) else { continue }
    regions.append((start, Int(bounds[1] - bounds[0])))
  }
  return regions
}
