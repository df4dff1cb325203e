import System
import Testing

@Suite struct WipedMemoryTests {
  @Test func `memory of several blocks is zero, and keeps its contents when it grows or shrinks`() throws {
    var memory = try #require(WipedMemory.allocate(3, of: 8))
    #expect(UnsafeRawBufferPointer(start: memory, count: 24).allSatisfy { $0 == 0 })
    for index in 0..<24 { memory.storeBytes(of: UInt8(index), toByteOffset: index, as: UInt8.self) }
    for count in [32, 5, 24] {
      let kept = min(count, 5)
      memory = try #require(WipedMemory.reallocate(memory, count))
      #expect(UnsafeRawBufferPointer(start: memory, count: kept).elementsEqual((0..<kept).map { UInt8($0) }))
    }
    WipedMemory.free(memory)
    WipedMemory.free(nil)
  }

  @Test func `a size that no memory has is no memory`() {
    #expect(WipedMemory.allocate(.max) == nil && WipedMemory.allocate(.max / 2, of: 3) == nil)
    #expect(WipedMemory.allocate(.max - 15) == nil && WipedMemory.reallocate(nil, .max) == nil)
  }
}
