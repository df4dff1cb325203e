internal import Gateway

/// Response bytes that the exchange cannot process yet, and the end of the connection after them.
struct PendingResponse {
  var bytes: PendingBytes?
  /// The end of the connection after these bytes. `nil` if the connection is still open.
  var end: DeferredEnd?
  /// Whether the remaining bytes will be searched for secrets on a later turn of the loop.
  var isSearching = false
}

/// The end of an upstream connection, to be processed after the buffered part of its response.
enum DeferredEnd {
  case ended(isClean: Bool)
  case failed(RefusalCode, String)
}
