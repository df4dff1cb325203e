internal import System

/// Allocates small blocks in locked pages, so that several secrets share a page.
package final class SecretArena {
  /// A block of locked memory, in use until `release`.
  struct Block {
    fileprivate let slab: Slab
    fileprivate let offset: Int
    let bytes: UnsafeMutableRawBufferPointer
  }

  fileprivate final class Slab {
    let memory: LockedMemory
    /// The free ranges, sorted by offset and merged.
    var free: [Range<Int>]

    init(byteCount: Int, mustLock: Bool) throws(SystemError) {
      memory = try LockedMemory(byteCount: byteCount, mustLock: mustLock)
      free = [0..<byteCount]
    }
  }

  private var slabs: [Slab] = []
  private static let slabSize = 16_384
  private static let alignment = 16

  package init() {}

  package var mustLock = false
  /// `false` once the system has refused to lock memory.
  package private(set) var isLocked = true

  /// Allocates a zeroed block in the first free range that is large enough.
  func allocate(byteCount: Int) throws(SystemError) -> Block {
    let size = (max(1, byteCount) + Self.alignment - 1) / Self.alignment * Self.alignment
    for slab in slabs {
      if let block = carve(size, from: slab) { return block }
    }
    let slab = try Slab(byteCount: max(Self.slabSize, size), mustLock: mustLock)
    slabs.append(slab)
    if !slab.memory.isLocked { isLocked = false }
    guard let block = carve(size, from: slab) else { preconditionFailure("a new slab holds what it was made for") }
    return block
  }

  private func carve(_ size: Int, from slab: Slab) -> Block? {
    guard let index = slab.free.firstIndex(where: { $0.count >= size }) else { return nil }
    let range = slab.free[index]
    let offset = range.lowerBound
    if range.count == size {
      slab.free.remove(at: index)
    } else {
      slab.free[index] = (offset + size)..<range.upperBound
    }
    let bytes = UnsafeMutableRawBufferPointer(rebasing: slab.memory.bytes[offset..<(offset + size)])
    return Block(slab: slab, offset: offset, bytes: bytes)
  }

  /// Wipes and frees the block, which must not be freed yet.
  func release(_ block: Block) {
    wipe(block.bytes)
    let slab = block.slab
    var range = block.offset..<(block.offset + block.bytes.count)
    var index = slab.free.firstIndex { $0.lowerBound >= range.upperBound } ?? slab.free.count
    if index < slab.free.count, slab.free[index].lowerBound == range.upperBound {
      range = range.lowerBound..<slab.free.remove(at: index).upperBound
    }
    if index > 0, slab.free[index - 1].upperBound == range.lowerBound {
      index -= 1
      range = slab.free.remove(at: index).lowerBound..<range.upperBound
    }
    slab.free.insert(range, at: index)
    if slab.free == [0..<slab.memory.bytes.count], slabs.count > 1 {
      slabs.removeAll { $0 === slab }
    }
  }
}
