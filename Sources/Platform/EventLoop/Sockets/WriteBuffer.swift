/// Bytes that the kernel has not accepted yet.
struct WriteBuffer: ~Copyable {
  private(set) var count = 0
  private var base: UnsafeMutableRawPointer?
  private var capacity = 0

  var isEmpty: Bool { count == 0 }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    guard let source = more.baseAddress, !more.isEmpty else { return }
    reserve(count + more.count)
    base?.advanced(by: count).copyMemory(from: source, byteCount: more.count)
    count += more.count
  }

  mutating func removeAll() {
    base?.deallocate()
    (base, count, capacity) = (nil, 0, 0)
  }

  private mutating func reserve(_ needed: Int) {
    guard needed > capacity else { return }
    let grown = max(needed, capacity * 2, 4096)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: grown, alignment: 16)
    if let base {
      memory.copyMemory(from: base, byteCount: count)
      base.deallocate()
    }
    (base, capacity) = (memory, grown)
  }

  deinit { base?.deallocate() }
}
