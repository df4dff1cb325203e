import Testing

@testable import Lifecycle

@Suite struct BackOffTests {
  private let backOff = BackOff(first: 1_000, longest: 300_000)

  @Test(
    arguments: [
      (0, 0), (1, 1_000), (2, 2_000), (3, 4_000), (9, 256_000), (10, 300_000), (63, 300_000), (64, 300_000),
      (Int.max, 300_000),
    ] as [(Int, UInt64)])
  func `the wait doubles after each failure, up to the longest`(_ failures: Int, _ time: UInt64) {
    #expect(backOff.time(after: failures) == time)
  }

  @Test func `a random part shortens the wait by up to half`() {
    #expect(backOff.time(after: 1, chance: 0) == 1_000)
    #expect(backOff.time(after: 1, chance: .max) == 501)
  }

  @Test func `large times do not overflow`() {
    #expect(BackOff(first: .max, longest: .max).time(after: 9, chance: .max) > .max / 2)
    #expect(BackOff(first: 10, longest: 5).time(after: 1) == 5)
  }
}
