internal import Primitives

/// Bytes that cannot be used yet. Rare: a session without them has none of these.
final class PendingBytes {
  private(set) var bytes: [UInt8] = []

  /// More behind those that wait already. They come back and are not changed in place: a property that is lent to a call costs
  /// a check at each of its uses, wherever they are.
  static func adding(_ more: Span<UInt8>, to held: PendingBytes?) -> PendingBytes? {
    if more.isEmpty { return held }
    let all = held ?? PendingBytes()
    all.bytes.append(more)
    return all
  }
}
