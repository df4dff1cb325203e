internal import HTTP1
internal import Policy
internal import Primitives

// Copies of a client token in parts of the request where programs should not put it.
extension RequestForwarding {
  /// Whether the head for the upstream would contain a text in the form of a client token (T6).
  func forwardsClientToken(
    _ head: RequestHead, target: CanonicalTarget, route: Route, snapshot: Snapshot
  ) -> Bool {
    let span = head.bytes.span
    let headers = snapshot.sharedHeaders(of: route)
    let names = fieldNames(of: route, snapshot: snapshot)
    for field in head.fields
    where ClientToken.isIn(span.extracting(field.name.lowerBound..<field.value.upperBound)) {
      // Some cookies may be forwarded, whatever happens to the whole field.
      if field.known == .cookie, cookies == .pass { return true }
      switch treatment(of: field, of: head.bytes, head, route, headers, names) {
      case .forwarded: return true
      case .filtered: if offersClientToken(field, of: head, route, headers) { return true }
      case .endsHere, .removed, .listed, .configured: continue
      }
    }
    if ClientToken.isIn(span.extracting(head.methodRange)) { return true }
    guard ClientToken.isIn(target.path.span) || ClientToken.isIn(target.query.span) else { return false }
    var (written, notes) = (ByteBuffer(), ForwardingNotes())
    RequestForwarding.writeTarget(
      target, plan: snapshot.plans[route.service], route: route, to: &written, notes: &notes)
    return ClientToken.isIn(written.contents.span)
  }

  private func offersClientToken(
    _ field: Field, of head: RequestHead, _ route: Route, _ headers: Shared<HeaderPolicy>
  ) -> Bool {
    var entries = SubprotocolEntries(field, among: head.fields, of: head.bytes)
    while let entry = entries.next(in: head.bytes) {
      let text = head.bytes.span.extracting(entry.range)
      if isOffered(entry, of: head.bytes, route, headers), ClientToken.isIn(text) { return true }
    }
    return false
  }
}
