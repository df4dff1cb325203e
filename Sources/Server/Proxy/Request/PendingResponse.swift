internal import Gateway

/// Response bytes that cannot be processed yet, and the end of the connection after them.
struct PendingResponse {
  var bytes: [UInt8] = []
  /// How the upstream connection ended while the response was buffered. Processed after `bytes`. `nil` if the
  /// connection has not ended.
  var end: DeferredEnd?
  /// Whether the remaining bytes will be searched for secrets on a later turn of the loop.
  var isSearching = false
}

/// The end of an upstream connection, to be processed after the buffered part of its response.
enum DeferredEnd {
  case ended(isClean: Bool)
  case failed(RefusalCode, String)
}
