package import HTTP1
package import Policy
package import Primitives

/// The head of a response for the client, without the bytes of an HTTP version. Reused from event to event.
package struct OutgoingResponse: Sendable {
  package var status = 0
  package var reason = ByteBuffer()
  /// Whole field lines, as in `name: value` and CRLF.
  package var fields = ByteBuffer()
  /// The length of the body. `chunked` and `untilClose` mean that it is not known.
  package var length = BodyLength.none
  /// The protocol that the connection switches to. `nil` if it does not switch.
  package var upgrade: UpgradeProtocol?
  /// The body of a response of bearerd itself, or of one whose own body is withheld. Otherwise empty.
  package var content = ByteBuffer()

  package init() {}

  /// Begins another response.
  package mutating func begin(_ status: Int) {
    removeAll()
    self.status = status
  }

  package mutating func removeAll() {
    // Most events have no response.
    if status == 0 { return }
    status = 0
    reason.removeAll()
    fields.removeAll()
    length = .none
    if upgrade != nil { upgrade = nil }
    content.removeAll()
  }

  /// Begins a response of bearerd itself.
  package mutating func begin(_ status: Int, reason: StaticString) {
    begin(status)
    self.reason.append(reason)
  }

  /// Appends the body of a response of bearerd itself.
  package mutating func append(content body: ArraySlice<UInt8>) {
    content.append(contentsOf: body)
    length = .length(UInt64(content.count))
  }
}
