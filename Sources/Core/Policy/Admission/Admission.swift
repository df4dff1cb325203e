package import HTTP1
import Primitives

/// May this caller ask at all? One per listener address.
package struct Admission: Sendable, Equatable {
  package var callers: Callers
  /// Not empty: each request has to bring the token of one of them, besides coming from a user who may ask. Who comes over a
  /// network is no user, so the token is all.
  package var clients: [Client]
  /// Authorities that `Host` may name, lower-case, with port (`localhost:7070`); the port may be absent in the request only
  /// if it is 80. nil: not checked (unix sockets). `loopbackPorts` adds to them.
  package var authorities: [String]? { didSet { known = authorities.map(Authorities.init) } }
  private var known: Authorities?
  /// The ports with which `Host` may name `localhost` or a loopback address, whatever `authorities` says.
  package var loopbackPorts: LoopbackPorts
  /// The web pages that may ask; every other is refused.
  package var pages: PageOrigins

  package init(
    callers: Callers, authorities: [String]?, loopbackPorts: LoopbackPorts = .none, clients: [Client] = [],
    pages: PageOrigins = PageOrigins([])
  ) {
    self.callers = callers
    self.loopbackPorts = loopbackPorts
    self.clients = clients
    self.authorities = authorities
    self.pages = pages
    known = authorities.map(Authorities.init)
  }

  /// Caller, Host (421), Origin, Sec-Fetch-Site and what else tells a browser (403), TRACE, TRACK and CONNECT (405), client token, in this order.
  /// `caller` is nil when the kernel gave no certain answer: refused. `localEnd` may be named by `Host` as well.
  package func admit(
    _ head: RequestHead, caller: Caller?, listener: Int, localEnd: LocalEnd? = nil, hash: TokenHash = { _ in nil }
  ) throws(PolicyRefusal) -> AdmittedRequest {
    let caller = try checkCaller(caller)
    // Its target and Host name another server by design: what it asks for is refused, not whom.
    if head.method == .connect { throw .methodNotSupported }
    let name = if let known { try checkHost(head, known, localEnd) } else { try Self.uncheckedHost(head) }
    let visit = try checkBrowser(head, name)
    try Self.checkMethod(head.method, head.bytes.span.extracting(head.methodRange))
    let preflight = visit.page == nil ? nil : try Self.preflight(head)
    // Browsers send no token with it, and what it asks about is asked for one again.
    let client = clients.isEmpty || preflight != nil ? nil : try client(of: head, hash)
    return AdmittedRequest(
      caller: caller.proven(as: client), listener: listener, host: name.host,
      isSandboxed: visit.isNavigation || !name.isLoopback, page: visit.page, preflight: preflight,
      dependsOnOrigin: !pages.isEmpty, tunnelledPort: name.tunnelledPort)
  }

  /// The part of `admit` that needs no request: whether a caller of this uid, or one whom the kernel does not know, may ask
  /// here at all. Without a uid it takes a client token, so the listener has to ask for tokens.
  fileprivate func checkCaller(_ caller: Caller?) throws(PolicyRefusal) -> Caller {
    guard let caller else { throw .callerUnknown }
    if let uid = caller.uid {
      guard callers.admits(caller) else { throw .callerNotAllowed(uid: uid) }
    } else if clients.isEmpty {
      throw .callerUnknown
    }
    return caller
  }

  /// The name of our own by which a service is chosen; nil: the path chooses, or the name is not ours.
  package func name(of head: RequestHead, localEnd: LocalEnd? = nil) -> String? {
    let name = if let known { try? checkHost(head, known, localEnd) } else { try? Self.uncheckedHost(head) }
    return name?.host
  }

  /// The last question, so that no client can have us compute hashes for what is refused anyway.
  private func client(of head: RequestHead, _ hash: TokenHash) throws(PolicyRefusal) -> String? {
    guard let digest = ClientToken.digest(in: head, by: hash) else {
      throw ClientToken.isReplaced(in: head) ? .clientTokenMalformed : .clientTokenMissing
    }
    guard let name = clients.name(of: digest) else { throw .clientTokenUnknown }
    return name
  }

  /// The name that a page which had its own point at us cannot forge (T1): such a page sends its own name, with any port. An
  /// absolute-form target names the authority a second time; both must be ours and choose the same service (T10; RFC 9112 §3.2.2).
  /// Then only listed ports are ours: a program that takes us for a forward proxy writes the URLs of other local servers so.
  private func checkHost(
    _ head: RequestHead, _ known: Authorities, _ localEnd: LocalEnd?
  ) throws(PolicyRefusal) -> CheckedName {
    func named(_ range: Range<Int>) -> Authorities.Name? {
      let text = head.bytes.span.extracting(range)
      return known.named(text) ?? localEnd?.named(text)
    }
    guard let host = head.host else { throw .hostNotAllowed }
    let listed = named(host)
    guard let name = listed ?? known.loopback(head.bytes.span.extracting(host), loopbackPorts) else {
      throw .hostNotAllowed
    }
    if let absolute = head.absoluteAuthority {
      // A name that was never proved to the client (RFC 9110 section 7.4).
      if Self.isHTTPS(head, absolute) { throw .authorityMismatch }
      guard listed != nil, let target = named(absolute), target.host == name.host else { throw .authorityMismatch }
    }
    return CheckedName(host: name.host, isLoopback: name.isLoopback, tunnelledPort: name.tunnelledPort)
  }

  /// Whether `https://` stands before an absolute-form target's authority.
  private static func isHTTPS(_ head: RequestHead, _ authority: Range<Int>) -> Bool {
    let scheme = "https://".utf8
    guard authority.lowerBound >= head.methodRange.upperBound &+ scheme.count else { return false }
    let before = authority.lowerBound &- scheme.count..<authority.lowerBound
    return scheme.equalsIgnoringCase(head.bytes.span.extracting(before))
  }

  /// On a unix socket no page can ask, and clients write any name; but one name they must agree upon.
  private static func uncheckedHost(_ head: RequestHead) throws(PolicyRefusal) -> CheckedName {
    if let absolute = head.absoluteAuthority, let host = head.host {
      let isSame = head.bytes[absolute].map(ASCII.lowercased) == head.bytes[host].map(ASCII.lowercased)
      if !isSame { throw .authorityMismatch }
    }
    guard let authority = head.absoluteAuthority ?? head.host else {
      return CheckedName(host: nil, isLoopback: true, tunnelledPort: nil)
    }
    let bytes = head.bytes[authority]
    let name = bytes.prefix { $0 != UInt8(ascii: ":") }
    return CheckedName(host: Authorities.selector(name[...])?.lowercased(), isLoopback: true, tunnelledPort: nil)
  }

  /// The name by which the request calls us.
  private struct CheckedName {
    /// As `AdmittedRequest.host`.
    let host: String?
    /// No browser asks by another name without saying what sent it there; see `Authorities.Name`. Of a unix socket, true: no
    /// browser asks there at all.
    let isLoopback: Bool
    /// As `AdmittedRequest.tunnelledPort`.
    let tunnelledPort: UInt16?
  }

  private struct Visit {
    /// The listed origin of the page that asks; nil: it is none.
    var page: [UInt8]?
    var isNavigation = false
  }

  /// Web pages do not get to use credentials, but for those that are listed (T2, T3): a browser sends Origin with everything
  /// but simple GETs, and Sec-Fetch-Site with everything to a loopback name. `none` is a person typing. Which page a request
  /// without Origin comes from, cannot be said: Referer survives redirects and sandboxes.
  /// Sec-Fetch-Mode alone means nothing: Node's `fetch` sends it, too.
  ///
  /// To any other name in `hosts`, a browser sends simple GETs with neither: there it is told by what it says of itself. With
  /// `clients` there is no need to guess, as no page can add a token without sending Origin.
  private func checkBrowser(_ head: RequestHead, _ name: CheckedName) throws(PolicyRefusal) -> Visit {
    var visit = Visit()
    var isBrowser = false
    var navigates = false
    var isCrossSite = false
    for field in head.fields {
      if case .origin = field.known {
        guard visit.page == nil, let page = pages.listed(head.bytes.span.extracting(field.value)) else {
          throw .originNotAllowed
        }
        if let port = name.tunnelledPort, Self.isOwnPage(page, port: port) { throw .originNotAllowed }
        visit.page = page
      }
      if case .secFetchSite = field.known {
        isBrowser = true
        isCrossSite = isCrossSite || !"none".utf8.elementsEqual(head.bytes.span.extracting(field.value))
      }
      if case .secFetchMode = field.known {
        navigates = "navigate".utf8.elementsEqual(head.bytes.span.extracting(field.value))
      }
    }
    if isCrossSite, visit.page == nil { throw .crossSite }
    visit.isNavigation = isBrowser && navigates
    if !name.isLoopback, clients.isEmpty, !isBrowser, visit.page == nil, head.looksLikeBrowsers { throw .siteUnknown }
    return visit
  }

  /// Whether a page comes from this machine and the port of the tunnel by which it calls us, whatever loopback name either has: it is
  /// what a browser shows of an upstream (T35).
  private static func isOwnPage(_ page: [UInt8], port: UInt16) -> Bool {
    guard let origin = try? Origin(parsing: String(decoding: page, as: UTF8.self)) else { return false }
    return origin.scheme == .http && origin.host.isLocal && origin.port == port
  }

  /// The method that a page asks about before it uses it (Fetch standard, "CORS-preflight request"); nil: this is no preflight.
  private static func preflight(_ head: RequestHead) throws(PolicyRefusal) -> Range<Int>? {
    guard head.method == .options else { return nil }
    let span = head.bytes.span
    for field in head.fields where FieldName.matches(field.name, of: span, "access-control-request-method") {
      let name = span.extracting(field.value)
      guard !name.isEmpty, head.bytes[field.value].allSatisfy(ByteClass.isTokenCharacter) else {
        throw .methodNotSupported
      }
      try checkMethod(Method(name), name)
      return field.value
    }
    return nil
  }

  /// TRACE echoes the credential, CONNECT tunnels past us (T18). Some servers read methods without regard to case.
  private static func checkMethod(_ method: Method, _ name: Span<UInt8>) throws(PolicyRefusal) {
    switch method {
    case .trace, .connect: throw .methodNotSupported
    case .get, .head, .post, .put, .delete, .patch, .options: return
    case .other:
      for refused in ["TRACE", "TRACK", "CONNECT"] where refused.utf8.equalsIgnoringCase(name) {
        throw .methodNotSupported
      }
    }
  }
}

/// An admission that all requests of a listener share: asked where it stands, and not copied with its lists for each of them.
package final class Gate: Sendable {
  private let admission: Admission

  package init(_ admission: Admission) { self.admission = admission }

  /// See `Admission.admit`.
  package func admit(
    _ head: RequestHead, caller: Caller?, listener: Int, localEnd: LocalEnd?, hash: TokenHash
  ) throws(PolicyRefusal) -> AdmittedRequest {
    try admission.admit(head, caller: caller, listener: listener, localEnd: localEnd, hash: hash)
  }

  /// Why this caller is refused whatever it asks; nil: the request decides. Asked before any of the request is read, so that
  /// a caller who is not admitted costs no parsing (T60).
  package func refusal(of caller: Caller?) -> PolicyRefusal? {
    do throws(PolicyRefusal) {
      _ = try admission.checkCaller(caller)
      return nil
    } catch {
      return error
    }
  }

  /// See `Admission.name`.
  package func name(of head: RequestHead, localEnd: LocalEnd?) -> String? {
    admission.name(of: head, localEnd: localEnd)
  }
}

/// Evidence that admission said yes; the only thing `RuleSet` accepts. Only `Admission.admit` makes one.
package struct AdmittedRequest: Sendable, Equatable {
  package let caller: Caller
  package let listener: Int
  /// The request's host without port, lower-case, when it selects a service by host name (any admitted name that is not the
  /// plain listener name); else nil.
  package let host: String?
  /// A browser will show the answer as a page of ours, or could: it gets `Content-Security-Policy: sandbox`.
  package let isSandboxed: Bool
  /// The listed origin of the page that asks; nil: it is none.
  package let page: [UInt8]?
  /// The place in the head of the method that the page's preflight asks about; nil: it is none.
  package let preflight: Range<Int>?
  /// Pages may ask here, so that answers differ by who asks.
  package let dependsOnOrigin: Bool
  /// The port that `Host` names, if the listener has no such port: the client comes through a tunnel, such as `ssh -L`, that listens
  /// on this port.
  package let tunnelledPort: UInt16?

  fileprivate init(
    caller: Caller, listener: Int, host: String?, isSandboxed: Bool, page: [UInt8]?, preflight: Range<Int>?,
    dependsOnOrigin: Bool, tunnelledPort: UInt16?
  ) {
    self.caller = caller
    self.listener = listener
    self.host = host
    self.isSandboxed = isSandboxed
    self.page = page
    self.preflight = preflight
    self.dependsOnOrigin = dependsOnOrigin
    self.tunnelledPort = tunnelledPort
  }
}

extension String.UTF8View {
  /// An ASCII literal against bytes in any case.
  fileprivate func equalsIgnoringCase(_ bytes: Span<UInt8>) -> Bool {
    guard count == bytes.count else { return false }
    var index = 0
    for byte in self {
      if ASCII.lowercased(byte) != ASCII.lowercased(bytes[index]) { return false }
      index += 1
    }
    return true
  }
}
