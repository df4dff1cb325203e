internal import Gateway
internal import Transport

/// Unused exchange slots, and the output buffer of the state machines.
final class ExchangePool {
  private var first: ExchangeSlot?
  private var count = 0
  /// The output buffer. `nil` while it is lent.
  private var buffer: EventOutput? = EventOutput()
  private let spikes: SpikeDetector

  /// Maximum number of unused slots to keep.
  private static let maximumCount = 1_024

  init(spikes: SpikeDetector) { self.spikes = spikes }

  /// Returns an unused slot, or `nil` if the caller must create one.
  func acquire() -> ExchangeSlot? {
    spikes.increment()
    guard let slot = first.take() else { return nil }
    first = slot.next.take()
    count &-= 1
    return slot
  }

  func release(_ slot: consuming ExchangeSlot) {
    spikes.decrement()
    slot.clear()
    guard count < ExchangePool.maximumCount else { return }
    slot.next = first.take()
    first = slot
    count &+= 1
  }

  /// Lends the output buffer, or a new one if it is already lent.
  func borrowOutput() -> EventOutput { buffer.take() ?? EventOutput() }
  func returnOutput(_ buffer: consuming EventOutput) { self.buffer = buffer }

  /// Releases unused slots, until none is left or `isEnough` returns `true`. Returns whether none is left.
  func release(until isEnough: () -> Bool) -> Bool {
    // One by one, because releasing a long linked list at once would recurse deeply.
    while let slot = first.take() {
      first = slot.next.take()
      count &-= 1
      if isEnough() { return first == nil }
    }
    return true
  }
}
