/// The desks that nobody sits at. The one that was left last is taken first: its memory is at hand.
final class Desks {
  private var first: Desk?
  private var count = 0
  /// Of those at desks.
  private let flood: Flood

  /// When more come at once than this, the last ones have desks of their own that nobody takes over.
  private static let most = 1_024

  init(flood: Flood) { self.flood = flood }

  /// nil: one has to be made.
  func take() -> Desk? {
    flood.rise()
    guard let desk = first.take() else { return nil }
    first = desk.next.take()
    count &-= 1
    return desk
  }

  func leave(_ desk: consuming Desk) {
    flood.fall()
    desk.clear()
    guard count < Desks.most else { return }
    desk.next = first.take()
    first = desk
    count &+= 1
  }

  /// Those that were of use for a while only.
  func clear() {
    // One by one: each keeps the next.
    while let desk = first.take() { first = desk.next.take() }
    count = 0
  }
}
