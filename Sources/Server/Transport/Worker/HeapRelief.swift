internal import EventLoop

/// After a flood the allocator keeps all that was needed at its height, for as long as the process lives. Once most of what came
/// has been gone for a while, it is given back: never per request, and once for each flood.
package final class HeapRelief {
  /// The action to be taken about it.
  package var giveBack: () -> Void = {}
  private let leastPeak: Int
  private var timer: Timer?
  private var isPlanned = false
  private var floods: [Flood] = []

  /// Fewer leave nothing worth the time.
  static let leastPeak = 256
  /// Milliseconds after which they are not expected back.
  private static let quiet: UInt64 = 500

  init(loop: Loop, leastPeak: Int) {
    self.leastPeak = leastPeak
    timer = Timer(loop: loop) { [unowned self] in look() }
  }

  /// One more kind of what may come all at once.
  package func flood() -> Flood {
    let flood = Flood(leastPeak: leastPeak) { [unowned self] in plan() }
    floods.append(flood)
    return flood
  }

  func close() { timer?.close() }

  private func plan() {
    guard !isPlanned else { return }
    isPlanned = true
    timer?.start(after: HeapRelief.quiet)
  }

  private func look() {
    isPlanned = false
    var isOver = false
    for flood in floods where flood.takeEnd() { isOver = true }
    if isOver { giveBack() }
  }
}

/// How many of one kind there are, and were.
package final class Flood {
  private(set) var count = 0
  /// The most since memory was given back last, and since the flood seemed to be over.
  private var peak = 0
  private var recentPeak = 0
  private var seemsOver = false
  private let leastPeak: Int
  private let onEbb: () -> Void

  /// The part of the peak that may be left.
  private static let share = 4

  fileprivate init(leastPeak: Int, onEbb: @escaping () -> Void) {
    self.leastPeak = leastPeak
    self.onEbb = onEbb
  }

  package func rise() {
    count &+= 1
    if count > peak { peak = count }
    if count > recentPeak { recentPeak = count }
  }

  package func fall() {
    count &-= 1
    if peak >= leastPeak, !seemsOver { ebb() }
  }

  private func ebb() {
    guard count <= peak / Flood.share else { return }
    seemsOver = true
    recentPeak = count
    onEbb()
  }

  /// Whether it was over all the time since it seemed to be. It is forgotten, then.
  fileprivate func takeEnd() -> Bool {
    guard seemsOver else { return false }
    seemsOver = false
    guard recentPeak <= peak / Flood.share else {
      // Between two waves, or again.
      ebb()
      return false
    }
    peak = count
    return true
  }
}
