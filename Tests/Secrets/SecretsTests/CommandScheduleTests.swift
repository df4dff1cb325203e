import Secrets
import Settings
import Testing

/// When a command runs, and how long its value is used.
@Suite struct CommandScheduleTests {
  private func schedule(ttl: UInt64?) -> CommandSchedule {
    CommandSchedule(SecretCommand(words: ["/bin/get"], timeToLive: ttl, timeout: 1000))
  }

  @Test func `a command runs immediately, and again after four fifths of its value's lifetime`() {
    var schedule = schedule(ttl: 10_000)
    #expect(schedule.nextRun == 0 && schedule.expiry == nil)
    schedule.succeeded(startedAt: 500, endedAt: 700)
    #expect(schedule.nextRun == 8_500 && schedule.expiry == 10_500)
  }

  @Test func `a command without a time to live runs once`() {
    var schedule = schedule(ttl: nil)
    schedule.succeeded(startedAt: 0, endedAt: 1)
    #expect(schedule.nextRun == nil && schedule.expiry == nil)
    schedule.retryFailed()
    #expect(schedule.nextRun == nil)
  }

  @Test func `a command that runs longer than its value lives pauses between runs`() {
    var schedule = schedule(ttl: 1_000)
    schedule.succeeded(startedAt: 0, endedAt: 3_000)
    #expect(schedule.nextRun == 3_500 && schedule.expiry == 1_000)
  }

  @Test func `a failed command is retried after 1 s, doubling to 5 min, and its value stays until expiry`() {
    var schedule = schedule(ttl: 10_000)
    schedule.succeeded(startedAt: 0, endedAt: 0)
    var pauses: [UInt64] = []
    for _ in 0..<100 {
      schedule.failed(endedAt: 8_000)
      pauses.append((schedule.nextRun ?? 0) - 8_000)
    }
    #expect(pauses[..<10] == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000])
    #expect(pauses[10...].allSatisfy { $0 == 300_000 })
    #expect(schedule.expiry == 10_000)
    schedule.expired()
    #expect(schedule.expiry == nil)
    schedule.retryFailed()
    #expect(schedule.nextRun == 0)
    schedule.succeeded(startedAt: 20_000, endedAt: 20_000)
    schedule.failed(endedAt: 28_000)
    #expect(schedule.nextRun == 29_000, "the first pause is 1 s again")
  }

  @Test func `an expiry shortens the lifetime of a value, and never extends the time to live`() {
    for (ttl, lifetime, next, expiry) in [
      (10_000, 5_000, 4_160, 5_200), (10_000, 60_000, 8_000, 10_000), (nil, 5_000, 4_160, 5_200),
    ] as [(UInt64?, UInt64, UInt64, UInt64)] {
      var schedule = schedule(ttl: ttl)
      schedule.succeeded(startedAt: 0, endedAt: 200, lifetime: lifetime)
      #expect(schedule.nextRun == next && schedule.expiry == expiry)
    }
  }

  @Test func `T42: after a rejection a command runs immediately, and then with pauses of 1 s to 5 min`() {
    var schedule = schedule(ttl: nil)
    schedule.succeeded(startedAt: 1_000_000, endedAt: 1_000_000)
    let isImmediate = schedule.rejected(at: 1_000_500)
    #expect(isImmediate)
    #expect(schedule.nextRun == 1_000_500 && schedule.expiry == nil)
    var pauses: [UInt64] = []
    for _ in 0..<20 {
      schedule.succeeded(startedAt: 1_001_000, endedAt: 1_001_000)
      let isImmediate = schedule.rejected(at: 1_001_000)
      #expect(!isImmediate)
      pauses.append((schedule.nextRun ?? 0) - 1_001_000)
    }
    #expect(pauses[..<4] == [1_000, 2_000, 4_000, 8_000] && pauses.last == 300_000)
    let isImmediateAgain = schedule.rejected(at: 1_301_001)
    #expect(isImmediateAgain, "the last rejection was long ago")
  }

  @Test func `extreme times do not trap`() {
    var schedule = schedule(ttl: .max)
    schedule.succeeded(startedAt: .max, endedAt: .max)
    schedule.succeeded(startedAt: .max, endedAt: .max, lifetime: .max)
    for _ in 0..<100 { _ = schedule.rejected(at: .max) }
    schedule.succeeded(startedAt: 0, endedAt: 0, lifetime: .max)
    for _ in 0..<100 { schedule.failed(endedAt: .max) }
  }
}
