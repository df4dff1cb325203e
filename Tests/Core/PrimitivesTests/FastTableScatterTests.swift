@testable import Primitives
import Testing

@Suite struct FastTableScatterTests {
  private typealias Table = FastTable<UInt>

  @Test func `T54: numbers that were chosen for the same place are scattered when they come`() {
    var table = largeTable()
    let numbers = chosen(forPlaces: 4, each: 300)
    for number in numbers { table.set(number, for: number) }
    let distances = numbers.map { table.distance(from: table.home(of: $0), to: table.place(of: $0)) }
    #expect(numbers.count == 1_200 && distances.max()! < 500, "\(distances.max()!)")
    #expect(numbers.allSatisfy { table[$0] == $0 } && Self.others.allSatisfy { table[$0] == $0 })
  }

  @Test func `T54: numbers that were chosen for places in a row are scattered when the first one goes`() {
    var table = largeTable()
    for number in Self.others { #expect(table.remove(number) == number) }
    let numbers = chosen(forPlaces: 2_000, each: 1).sorted { table.home(of: $0) < table.home(of: $1) }
    for number in numbers { table.set(number, for: number) }
    #expect(numbers.count == 2_000 && longestRow(in: table) >= 2_000)
    #expect(table.remove(numbers[0]) == numbers[0])
    #expect(longestRow(in: table) < 1_000, "\(longestRow(in: table))")
    for number in numbers.dropFirst() { #expect(table.remove(number) == number) }
    #expect(table.isEmpty)
  }

  private static let others = UInt(6_000_001)..<6_005_000

  /// A table with places for more than 7,000 numbers.
  private func largeTable() -> Table {
    var table = Table()
    for number in Self.others { table.set(number, for: number) }
    #expect(table.numbers.count == 16_384)
    return table
  }

  /// Returns numbers that belong in the first places of a large table.
  private func chosen(forPlaces places: Int, each count: Int) -> [UInt] {
    let table = largeTable()
    var perPlace = [Int](repeating: 0, count: places)
    return (UInt(1)..<6_000_000).filter { number in
      let place = table.home(of: number)
      guard place < places, perPlace[place] < count else { return false }
      perPlace[place] += 1
      return true
    }
  }

  private func longestRow(in table: Table) -> Int {
    table.numbers.split(separator: 0).map(\.count).max() ?? 0
  }
}
