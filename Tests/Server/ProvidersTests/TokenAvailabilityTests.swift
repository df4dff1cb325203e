import Lifecycle
import System
import Testing

@testable import Providers

@Suite struct TokenAvailabilityTests {
  /// The machine may have slept. Then the monotonic clock of the loop is behind, and an expired token would seem usable.
  @Test func `T40: whether a request gets a token depends on the clock that counts while the machine sleeps`() {
    let now = BootTimer.now
    var status = TokenStatus()
    status.renewal.failures = 1
    status.renewal.usableUntil = now
    #expect(!status.isAvailable)
    status.renewal.usableUntil = now + 60_000
    #expect(status.isAvailable)
    status.renewal.usableUntil = .max
    #expect(status.isAvailable)
  }

  @Test func `a token that can be fetched again is available, unless its login was ended`() {
    var status = TokenStatus()
    #expect(status.isAvailable)
    status.loggedOut = 1
    #expect(!status.isAvailable)
  }
}
