internal import EventLoop
internal import System

/// After a flood of connections the allocator keeps all that they needed, for as long as the process lives. Once most of them
/// have been gone for a while, it is given back: never per request, and once for each flood.
final class HeapRelief {
  private let giveBack: () -> Void
  private let leastPeak: Int
  private var timer: Timer?
  private var isPlanned = false
  private var connections = 0
  /// The most since it was given back last.
  private var peak = 0

  /// Fewer leave nothing worth the time.
  static let leastPeak = 256
  /// Of the peak, what may be left.
  private static let share = 4
  /// Milliseconds after which they are not expected back.
  private static let quiet: UInt64 = 2_000

  init(loop: Loop, leastPeak: Int = HeapRelief.leastPeak, giveBack: @escaping () -> Void = { Heap.giveBack() }) {
    self.leastPeak = leastPeak
    self.giveBack = giveBack
    timer = Timer(loop: loop) { [unowned self] in look() }
  }

  /// How many connections there are now.
  func follow(_ count: Int) {
    connections = count
    peak = max(peak, count)
    guard !isPlanned, isDue else { return }
    isPlanned = true
    timer?.start(after: HeapRelief.quiet)
  }

  func close() { timer?.close() }

  private var isDue: Bool { peak >= leastPeak && connections <= peak / HeapRelief.share }

  private func look() {
    isPlanned = false
    guard isDue else { return }
    giveBack()
    peak = connections
  }
}
