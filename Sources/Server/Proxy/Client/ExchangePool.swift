internal import Gateway
internal import Transport

/// Memory that exchanges use one after the other: slots that no connection uses, and the output of the machines. The slot that was released last is acquired first: its memory is at hand.
final class ExchangePool {
  private var first: ExchangeSlot?
  private var count = 0
  /// The output of the machines: lent within a turn, never across; nil: lent.
  private var buffer: EventOutput? = EventOutput()
  /// Counts the slots in use.
  private let flood: Flood

  /// When more come at once than this, the last ones have slots of their own, which are freed behind them.
  private static let most = 1_024

  init(flood: Flood) { self.flood = flood }

  /// nil: one has to be made.
  func acquire() -> ExchangeSlot? {
    flood.rise()
    guard let slot = first.take() else { return nil }
    first = slot.next.take()
    count &-= 1
    return slot
  }

  func release(_ slot: consuming ExchangeSlot) {
    flood.fall()
    slot.clear()
    guard count < ExchangePool.most else { return }
    slot.next = first.take()
    first = slot
    count &+= 1
  }

  /// A machine that is called while the output is lent gets another one.
  func borrowOutput() -> EventOutput { buffer.take() ?? EventOutput() }
  func giveBack(_ buffer: consuming EventOutput) { self.buffer = buffer }

  /// Frees the slots that were of use for a while only.
  func clear() {
    // One by one: each keeps the next.
    while let slot = first.take() { first = slot.next.take() }
    count = 0
  }
}
