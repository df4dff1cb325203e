internal import Gateway

/// Bytes and events of an upstream that the exchange cannot use yet.
struct PendingResponse {
  var bytes: PendingBytes?
  /// How the connection ended, behind these bytes.
  var end: DeferredEnd?
  /// The rest is searched for secrets on a later turn of the loop.
  var isSearching = false
}

/// How an upstream connection ended whose response is held until its credential is renewed, or searched.
enum DeferredEnd {
  case ended(isClean: Bool)
  case failed(RefusalCode, String)
}
