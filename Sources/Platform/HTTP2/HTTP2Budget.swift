/// Limits the frames by which a peer causes work without making progress, such as PING floods and rapid resets. Each such frame
/// costs points. Completed streams and data earn points. There is no clock, except for the owner's calls of `earn(seconds:)`.
package struct HTTP2Budget {
  /// A kind of work that costs points.
  package enum Cost: Int, CaseIterable, Sendable {
    case head, peerReset, ownReset, settings, ping, priority, windowUpdate, emptyData, paddedData, continuation
    case emptyContinuation, goAway, unknown, interim

    /// About the work that one frame causes.
    var points: Int {
      switch self {
      case .peerReset, .ownReset, .settings, .goAway, .interim: 10
      case .emptyContinuation: 20
      case .emptyData: 5
      case .ping, .head, .continuation, .unknown: 2
      case .priority, .windowUpdate, .paddedData: 1
      }
    }

    /// How the peer caused the work.
    var description: String {
      switch self {
      case .head: "HEADERS frames"
      case .peerReset: "RST_STREAM frames"
      case .ownReset: "frames for which a stream had to be reset"
      case .settings: "SETTINGS frames"
      case .ping: "PING frames"
      case .priority: "frames about priorities"
      case .windowUpdate: "WINDOW_UPDATE frames"
      case .emptyData: "empty DATA frames"
      case .paddedData: "padded DATA frames"
      case .continuation: "CONTINUATION frames"
      case .emptyContinuation: "empty CONTINUATION frames"
      case .goAway: "GOAWAY frames"
      case .unknown: "frames of unknown types"
      case .interim: "interim responses"
      }
    }
  }

  private let capacity: Int
  private var points: Int
  private var counts = [Int](repeating: 0, count: Cost.allCases.count)
  /// Number of open streams. A SETTINGS frame can change the windows of all of them.
  var streams = 0
  /// A kind of work that costs nothing.
  private let exempt: Cost?
  /// The kind of frame that used the last points.
  private(set) var exceeded: Cost?

  init(_ capacity: Int, exempt: Cost? = nil) {
    (self.capacity, points, self.exempt) = (capacity, capacity, exempt)
  }

  mutating func charge(_ cost: Cost) {
    points -= price(of: cost)
    counts[cost.rawValue] &+= 1
    if points < 0, exceeded == nil { overdraw(cost) }
  }

  private func price(of cost: Cost) -> Int { cost.points + (cost == .settings ? streams / 4 : 0) }

  /// Gives back what the exempt work has cost. Only called without points left, so that `charge` need not ask.
  @inline(never)
  private mutating func overdraw(_ cost: Cost) {
    if let exempt {
      points = min(capacity, points + counts[exempt.rawValue] * price(of: exempt))
      counts[exempt.rawValue] = 0
    }
    if points < 0 { exceeded = cost }
  }

  /// Data of the peer. Short data earns nothing, because it would pay for attacks with few bytes.
  mutating func earnByReceivedData(_ count: Int) { if count >= 256 { earn(1) } }
  /// The peer may answer a DATA frame with updates of two windows. A frame earns nothing if it is short because the peer opens
  /// its windows by few bytes at a time.
  mutating func earnBySentData(_ count: Int, isLast: Bool) {
    if count >= 256 || isLast { earn(3) }
  }
  /// A stream that one side resets although it makes progress: for example, the peer cancels it after the response began. Pays
  /// for the peer's HEADERS and RST_STREAM frames.
  mutating func earnByReset() { earn(12) }
  /// A request of the peer, and the whole response. Pays for the HEADERS frame, and for one other request that the peer resets.
  mutating func earnByRequest() { earn(14) }
  /// A whole response of the peer. Earns more than a request, because the peer cannot choose the number of requests.
  mutating func earnByResponse() { earn(30) }
  /// A peer may send keep-alive frames on a connection without other traffic.
  mutating func earn(seconds: Int) { earn(50 * min(max(0, seconds), capacity)) }

  private mutating func earn(_ number: Int) { points = min(capacity, points + number) }

  /// What the peer did, if it has used all points.
  var complaint: String? {
    exceeded.map {
      "the peer sent too many \($0.description) (\(counts[$0.rawValue])) for the little else that it sent"
    }
  }
}
