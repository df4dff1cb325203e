internal import HTTP1
internal import Policy
internal import Primitives

// The entries of `Sec-WebSocket-Protocol` (RFC 6455 section 11.3.4), some of which are credentials (T14).
extension RequestForwarding {
  func mustRemoveSubprotocols(_ field: Field, of head: RequestHead, _ route: Route, _ headers: Shared<HeaderPolicy>)
    -> Bool
  {
    var entries = SubprotocolEntries(field, among: head.fields, of: head.bytes)
    while let entry = entries.next(in: head.bytes) {
      if !isOffered(entry, of: head.bytes, route, headers) { return true }
    }
    return false
  }

  /// Whether the upstream gets this subprotocol entry.
  func isOffered(
    _ entry: SubprotocolEntries.Entry, of bytes: [UInt8], _ route: Route, _ headers: Shared<HeaderPolicy>
  ) -> Bool {
    if hasClientToken, ClientToken.isEntry(entry.range, of: bytes) { return false }
    guard route.credential != .pass, entry.isCredential else { return true }
    return headers.value.allowClientHeaders.contains("sec-websocket-protocol")
  }

  /// Appends the field with the entries that the upstream gets.
  func writeSubprotocols(
    _ field: Field, of head: RequestHead, _ route: Route, _ headers: Shared<HeaderPolicy>, to output: inout ByteBuffer,
    notes: inout ForwardingNotes
  ) {
    let bytes = head.bytes
    var isFirst = true
    var entries = SubprotocolEntries(field, among: head.fields, of: bytes)
    while let entry = entries.next(in: bytes) {
      if isOffered(entry, of: bytes, route, headers) {
        if isFirst { output.append(bytes.span.extracting(field.name)) }
        output.append(isFirst ? ": " : ", ")
        output.append(bytes.span.extracting(entry.range))
        isFirst = false
      } else {
        notes.removed.insert(CredentialField(.subprotocols))
      }
    }
    if !isFirst { output.append("\r\n") }
    notes.changes?.removed.append(String(decoding: bytes[field.name], as: UTF8.self))
  }

  /// Whether a 101 response selects no subprotocol, or one that was offered to the upstream (RFC 6455 section 4.1).
  func hasOffered(
    _ response: ResponseHead, to head: RequestHead, route: Route, snapshot: Snapshot
  ) -> Bool {
    var picked: Range<Int>?
    for field in response.fields
    where CredentialSubprotocol.isSubprotocolField(field, of: response.bytes) && !field.value.isEmpty {
      if picked != nil { return false }
      picked = field.value
    }
    guard let picked else { return true }
    return head.fields.contains { offers(response.bytes[picked], $0, of: head, route, snapshot) }
  }

  private func offers(
    _ picked: ArraySlice<UInt8>, _ field: Field, of head: RequestHead, _ route: Route, _ snapshot: Snapshot
  ) -> Bool {
    guard CredentialSubprotocol.isSubprotocolField(field, of: head.bytes) else { return false }
    let headers = snapshot.sharedHeaders(of: route)
    let names = fieldNames(of: route, snapshot: snapshot)
    let treatment = treatment(of: field, of: head.bytes, head, route, headers, names)
    guard treatment == .forwarded || treatment == .filtered else { return false }
    var entries = SubprotocolEntries(field, among: head.fields, of: head.bytes)
    while let entry = entries.next(in: head.bytes) {
      if picked == head.bytes[entry.range] { return isOffered(entry, of: head.bytes, route, headers) }
    }
    return false
  }
}
