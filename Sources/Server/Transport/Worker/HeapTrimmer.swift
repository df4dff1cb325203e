internal import EventLoop

/// Returns memory to the system after a load spike.
package final class HeapTrimmer {
  package var releaseMemory: () -> Void = {}
  private let minimumPeak: Int
  private var timer: Timer?
  private var isCheckScheduled = false
  private var detectors: [SpikeDetector] = []

  /// Minimum number of objects in a spike.
  static let defaultMinimumPeak = 256
  /// Milliseconds from the apparent end of a spike to the check that confirms it.
  private static let delay: UInt64 = 500

  init(loop: Loop, minimumPeak: Int) {
    self.minimumPeak = minimumPeak
    timer = Timer(loop: loop) { [unowned self] in check() }
  }

  package func makeSpikeDetector() -> SpikeDetector {
    let detector = SpikeDetector(minimumPeak: minimumPeak) { [unowned self] in scheduleCheck() }
    detectors.append(detector)
    return detector
  }

  func close() { timer?.close() }

  private func scheduleCheck() {
    guard !isCheckScheduled else { return }
    isCheckScheduled = true
    timer?.start(after: HeapTrimmer.delay)
  }

  private func check() {
    isCheckScheduled = false
    var hasEnded = false
    for detector in detectors where detector.confirmEnd() { hasEnded = true }
    if hasEnded { releaseMemory() }
  }
}

/// Counts the objects of one kind, and detects when a spike in their number ends.
package final class SpikeDetector {
  private(set) var count = 0
  /// The highest `count` since the last spike ended.
  private var peak = 0
  /// The highest `count` since the spike apparently ended.
  private var recentPeak = 0
  private var hasApparentlyEnded = false
  private let minimumPeak: Int
  private let onApparentEnd: () -> Void

  /// A spike ends when the count falls to `peak` divided by this number, and stays low.
  private static let peakDivisor = 4

  fileprivate init(minimumPeak: Int, onApparentEnd: @escaping () -> Void) {
    self.minimumPeak = minimumPeak
    self.onApparentEnd = onApparentEnd
  }

  package func increment() {
    count &+= 1
    if count > peak { peak = count }
    if count > recentPeak { recentPeak = count }
  }

  package func decrement() {
    count &-= 1
    if peak >= minimumPeak, !hasApparentlyEnded { detectEnd() }
  }

  private func detectEnd() {
    guard count <= peak / SpikeDetector.peakDivisor else { return }
    hasApparentlyEnded = true
    recentPeak = count
    onApparentEnd()
  }

  /// Returns whether the count has stayed low since `detectEnd`, so that the spike has ended.
  fileprivate func confirmEnd() -> Bool {
    guard hasApparentlyEnded else { return false }
    hasApparentlyEnded = false
    guard recentPeak <= peak / SpikeDetector.peakDivisor else {
      // The count has risen again. It may also be low again by now.
      detectEnd()
      return false
    }
    peak = count
    return true
  }
}
