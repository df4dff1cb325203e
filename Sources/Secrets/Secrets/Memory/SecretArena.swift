internal import System

/// Locked pages, cut into blocks: a page for each secret would soon exceed what a process may lock.
package final class SecretArena {
  /// A block of a slab, in use until `release`.
  struct Block {
    fileprivate let slab: Slab
    fileprivate let offset: Int
    /// At least what was asked for.
    let bytes: UnsafeMutableRawBufferPointer
  }

  fileprivate final class Slab {
    let memory: LockedMemory
    /// The free ranges, by offset; neighbours are one range.
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

  /// Whether memory is given out only if it can be locked.
  package var mustLock = false
  /// False when the system refused to lock memory.
  package private(set) var isLocked = true

  /// All zero. First fit: secrets are few, and come and go rarely.
  func allocate(byteCount: Int) throws(SystemError) -> Block {
    let size = (max(1, byteCount) + Self.alignment - 1) / Self.alignment * Self.alignment
    for slab in slabs {
      if let block = take(size, from: slab) { return block }
    }
    let slab = try Slab(byteCount: max(Self.slabSize, size), mustLock: mustLock)
    slabs.append(slab)
    if !slab.memory.isLocked { isLocked = false }
    guard let block = take(size, from: slab) else { preconditionFailure("a new slab holds what it was made for") }
    return block
  }

  private func take(_ size: Int, from slab: Slab) -> Block? {
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

  /// Wipes the block. Once only; `Secret` sees to that.
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
