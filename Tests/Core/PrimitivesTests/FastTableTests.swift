import Primitives
import Testing

@Suite struct FastTableTests {
  @Test func `a table has the same values as a dictionary`() {
    var random = SystemRandomNumberGenerator()
    for range: Int32 in [8, 100, 3_000] {
      var table = FastTable<Int>()
      var expected: [Int32: Int] = [:]
      for step in 0..<20_000 {
        let number = Int32.random(in: 1...range, using: &random) &* (step % 3 == 0 ? 1 : 4_096)
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
          table.set(step, for: number)
          expected[number] = step
        case 2: #expect(table.remove(number) == expected.removeValue(forKey: number))
        default: #expect(table[number] == expected[number])
        }
      }
      #expect(table.count == expected.count)
      #expect(table.all.sorted() == expected.values.sorted())
      for (number, value) in expected { #expect(table[number] == value && table.contains(number)) }
      table.removeAll()
      #expect(table.isEmpty && table.all.isEmpty && expected.keys.allSatisfy { table[$0] == nil })
    }
  }

  @Test func `0 and unknown keys have no value`() {
    var table = FastTable<Int>()
    #expect(table[5] == nil && !table.contains(5) && table.remove(5) == nil)
    table.set(1, for: 5)
    #expect(table[0] == nil && !table.contains(0) && table.remove(0) == nil)
    #expect(table[-1] == nil && table[6] == nil && table[5] == 1)
  }

  @Test func `objects are keys by their identity`() {
    final class Object {}
    let objects = (0..<50).map { _ in Object() }
    var table = FastTable<Int>()
    for (index, object) in objects.enumerated() { table.set(index, for: object) }
    #expect(objects.indices.allSatisfy { table[objects[$0]] == $0 })
    for index in stride(from: 0, to: 50, by: 2) { #expect(table.remove(objects[index]) == index) }
    #expect(objects.indices.allSatisfy { table[objects[$0]] == ($0 % 2 == 0 ? nil : $0) })
  }
}
