internal import HTTP1

/// Bytes that nobody can use yet. Rare: a session without them has none of these.
final class HeldBytes {
  private(set) var bytes: [UInt8] = []

  /// Puts more behind those that wait already.
  static func add(_ more: Span<UInt8>, to held: inout HeldBytes?) {
    if more.isEmpty { return }
    let all = held ?? HeldBytes()
    all.bytes.append(more)
    held = all
  }
}
