package import HTTP1

/// May this caller ask at all? One per listener address.
package struct Admission: Sendable, Equatable {
  package var callers: Callers
  /// Authorities that `Host` may name, lower-case, with port (`localhost:7070`); the port may be absent in the request only if it is 80. nil: not checked (unix sockets).
  package var authorities: [String]?

  package init(callers: Callers, authorities: [String]?) {
    self.callers = callers
    self.authorities = authorities
  }

  /// Caller, Host (421), Origin and Sec-Fetch-Site (403), TRACE, TRACK and CONNECT (405), in this order.
  /// `caller` is nil when the kernel gave no certain answer: refused.
  package func admit(
    _ head: RequestHead, caller: Caller?, listener: Int
  ) throws(PolicyRefusal) -> AdmittedRequest { fatalError() }
}

/// Evidence that admission said yes; the only thing `RuleSet` accepts. Only `Admission.admit` makes one.
package struct AdmittedRequest: Sendable, Equatable {
  package let caller: Caller
  package let listener: Int
  /// The request's host without port, lower-case, when it selects a service by host name (any admitted name that is not the plain listener name); else nil.
  package let host: String?
  /// A typed-in navigation: the answer gets `Content-Security-Policy: sandbox`.
  package let isNavigation: Bool
}
