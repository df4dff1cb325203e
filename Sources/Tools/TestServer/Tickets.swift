internal import COpenSSL

/// Writes the number of the connection into each TLS session ticket.
enum Tickets {
  /// A TLS connection of the test server, as the ticket callbacks see it.
  final class Owner {
    let number: Int
    /// Number of the connection that issued the client's ticket; `nil` without a valid ticket.
    fileprivate(set) var source: Int?

    init(number: Int) { self.number = number }

    /// Stores a reference to this object in `ssl`. The object must outlive `ssl`.
    func attach(to ssl: OpaquePointer) {
      SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  static func tagTickets(of context: OpaquePointer) {
    SSL_CTX_set_session_ticket_cb(
      context,
      { ssl, _ in
        guard let ssl, let owner = Tickets.owner(of: ssl), let session = SSL_get_session(ssl) else { return 0 }
        var number = owner.number
        return SSL_SESSION_set1_ticket_appdata(session, &number, MemoryLayout<Int>.size)
      },
      { ssl, session, _, _, status, _ in
        if let ssl, let session, let owner = Tickets.owner(of: ssl) { owner.source = Tickets.number(in: session) }
        // OpenSSL's default decisions.
        return switch status {
        case SSL_TICKET_SUCCESS: SSL_TICKET_RETURN_USE
        case SSL_TICKET_SUCCESS_RENEW: SSL_TICKET_RETURN_USE_RENEW
        case SSL_TICKET_EMPTY, SSL_TICKET_NO_DECRYPT: SSL_TICKET_RETURN_IGNORE_RENEW
        default: SSL_TICKET_RETURN_ABORT
        }
      }, nil)
  }

  private static func owner(of ssl: OpaquePointer) -> Owner? {
    SSL_get_ex_data(ssl, 0).map { Unmanaged<Owner>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func number(in session: OpaquePointer) -> Int? {
    var data: UnsafeMutableRawPointer?
    var count = 0
    guard SSL_SESSION_get0_ticket_appdata(session, &data, &count) == 1, count == MemoryLayout<Int>.size else {
      return nil
    }
    return data?.loadUnaligned(as: Int.self)
  }
}
