import Foundation
import ServerSupport
import TestSupport

/// Searches the memory of another process. Only root can do this.
enum ForeignMemory {
  private struct Mapping {
    let name: String
    let range: Range<UInt64>
    var isReadable: Bool
    /// `true` if the mapping is left out of core dumps, as memory for secrets is.
    var isForSecrets = false
  }

  /// Returns the names of the writable mappings that contain the text.
  /// - Parameter includesSecrets: whether to search memory for secrets, too.
  static func mappings(containing text: String, in pid: pid_t, includesSecrets: Bool = false) throws -> [String] {
    let file = open("/proc/\(pid)/mem", O_RDONLY)
    guard file >= 0 else { throw TestFailure("mem: \(String(cString: strerror(errno)))") }
    defer { close(file) }
    let wanted = Array(text.utf8)
    return mappings(of: pid).filter { $0.isReadable && (includesSecrets || !$0.isForSecrets) }.compactMap { mapping in
      holds(wanted, mapping.range, file) ? mapping.name : nil
    }
  }

  private static func mappings(of pid: pid_t) -> [Mapping] {
    var all: [Mapping] = []
    // Files in /proc have the size 0, so that `String(contentsOfFile:)` may read only a part.
    let file = FileHandle(forReadingAtPath: "/proc/\(pid)/smaps")
    let text = String(decoding: file?.readDataToEndOfFile() ?? Data(), as: UTF8.self)
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", omittingEmptySubsequences: true)
      if words[0] == "VmFlags:" {
        all[all.count - 1].isForSecrets = words.contains("dd")
      } else if !words[0].hasSuffix(":") {
        let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
        all.append(
          Mapping(
            name: words.count > 5 ? "\(words[0]) \(words[5])" : String(words[0]), range: ends[0]..<ends[1],
            isReadable: words[1].hasPrefix("rw")))
      }
    }
    return all
  }

  private static func holds(_ wanted: [UInt8], _ range: Range<UInt64>, _ file: Int32) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    var start = range.lowerBound
    while start < range.upperBound {
      let count = pread(file, &buffer, min(buffer.count, Int(range.upperBound - start)), off_t(start))
      guard count > 0 else { return false }
      if Data(buffer[..<count]).range(of: Data(wanted)) != nil { return true }
      // The pieces overlap, so that a match across their border is found.
      start += UInt64(count == buffer.count ? count - wanted.count : count)
    }
    return false
  }
}
