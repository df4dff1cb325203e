/// Finds the service for a listener and a host name or path, with a hash table.
struct MountIndex: Sendable, Equatable {
  private struct Entry: Sendable, Equatable {
    let hash: UInt64
    let listener: Int
    let isHost: Bool
    let key: Range<Int>
    let service: Int
  }

  private var entries: [Entry] = []
  private var keys: [UInt8] = []
  /// The hash table: indices in `entries`, or -1 for a free slot.
  private var slots: [Int32] = []
  /// Length in bytes of the longest path of a mount.
  private var longestPath = 0

  init(_ services: [Service]) {
    for (number, service) in services.enumerated() {
      switch service.mount {
      case .path(let path): add(path, isHost: false, listener: service.listener, service: number)
      case .whole: add([UInt8(ascii: "/")], isHost: false, listener: service.listener, service: number)
      case .host(let name): add(Array(name.utf8), isHost: true, listener: service.listener, service: number)
      }
    }
    var size = 2
    while size < entries.count * 2 { size *= 2 }
    slots = [Int32](repeating: -1, count: size)
    for (number, entry) in entries.enumerated() {
      var slot = Self.slot(entry.hash, of: size)
      while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
      slots[slot] = Int32(number)
    }
  }

  func service(host: String, listener: Int) -> Int? {
    var hash = Self.seed(listener: listener, isHost: true)
    for byte in host.utf8 { hash = Self.mix(hash, byte) }
    return find(hash, listener: listener, isHost: true) { key in
      host.utf8.count == key.count && zip(key, host.utf8).allSatisfy { keys[$0] == $1 }
    }
  }

  /// Returns the service with the longest mount that is a prefix of `path`; `nil` if there is none.
  func service(path: Span<UInt8>, listener: Int) -> Int? {
    var hash = Self.seed(listener: listener, isHost: false)
    var longest: Int?
    for index in 0..<min(path.count, longestPath) {
      hash = Self.mix(hash, path[index])
      guard path[index] == UInt8(ascii: "/") else { continue }
      let length = index + 1
      let found = find(hash, listener: listener, isHost: false) { key in
        guard key.count == length else { return false }
        for offset in 0..<length where keys[key.lowerBound + offset] != path[offset] { return false }
        return true
      }
      longest = found ?? longest
    }
    return longest
  }

  private mutating func add(_ key: [UInt8], isHost: Bool, listener: Int, service: Int) {
    var hash = Self.seed(listener: listener, isHost: isHost)
    for byte in key { hash = Self.mix(hash, byte) }
    let start = keys.count
    keys += key
    entries.append(
      Entry(hash: hash, listener: listener, isHost: isHost, key: start..<keys.count, service: service))
    if !isHost { longestPath = max(longestPath, key.count) }
  }

  @inline(__always)
  private func find(_ hash: UInt64, listener: Int, isHost: Bool, equals: (Range<Int>) -> Bool) -> Int? {
    var slot = Self.slot(hash, of: slots.count)
    while slots[slot] >= 0 {
      let entry = entries[Int(slots[slot])]
      if entry.hash == hash, entry.listener == listener, entry.isHost == isHost, equals(entry.key) {
        return entry.service
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds a byte to an FNV-1a hash.
  private static func mix(_ hash: UInt64, _ byte: UInt8) -> UInt64 { (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }

  private static func seed(listener: Int, isHost: Bool) -> UInt64 {
    mix(0xcbf2_9ce4_8422_2325 ^ UInt64(truncatingIfNeeded: listener) &* 0x9e37_79b9_7f4a_7c15, isHost ? 1 : 0)
  }

  private static func slot(_ hash: UInt64, of size: Int) -> Int {
    Int(truncatingIfNeeded: hash ^ hash >> 32) & (size - 1)
  }
}
