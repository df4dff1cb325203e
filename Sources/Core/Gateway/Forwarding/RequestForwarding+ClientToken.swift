internal import HTTP1
internal import Policy
internal import Primitives

/// Copies of a client token in places where no program should put it.
extension RequestForwarding {
  /// Whether a text of a client token's form would go up with the head (T6). The fields where programs put their keys are
  /// taken out by then.
  func leavesClientToken(
    _ head: RequestHead, target: CanonicalTarget, route: Route, snapshot: Snapshot
  ) -> Bool {
    let span = head.bytes.span
    let headers = snapshot.sharedHeaders(of: route)
    let names = fieldNames(of: route, snapshot: snapshot)
    for field in head.fields
    where ClientToken.isIn(span.extracting(field.name.lowerBound..<field.value.upperBound)) {
      // A part of them may go up, whatever becomes of the field.
      if field.known == .cookie, headers.value.cookies == .pass { return true }
      switch fate(of: field, of: head.bytes, head, route, headers, names) {
      case .goesOn: return true
      case .thinned: if offersClientToken(field, of: head.bytes, route, headers) { return true }
      case .endsHere, .removed, .listed: continue
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
    _ field: Field, of bytes: [UInt8], _ route: Route, _ headers: Shared<HeaderPolicy>
  ) -> Bool {
    var entries = ListElements(field.value)
    while let entry = entries.next(in: bytes.span) {
      if isOffered(entry, of: bytes, route, headers), ClientToken.isIn(bytes.span.extracting(entry)) { return true }
    }
    return false
  }
}
