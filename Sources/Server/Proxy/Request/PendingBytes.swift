internal import Primitives

/// Received bytes that cannot be processed yet.
final class PendingBytes {
  private(set) var bytes: [UInt8] = []

  /// Appends `more` to `pending`. Returns `nil` if there are no bytes.
  static func adding(_ more: Span<UInt8>, to pending: PendingBytes?) -> PendingBytes? {
    // `pending` is not `inout`, because passing a property `inout` costs an exclusivity check.
    if more.isEmpty { return pending }
    let all = pending ?? PendingBytes()
    all.bytes.append(more)
    return all
  }
}
