// Called by `Exchange.decide`, through a `Gate`.
// Calls `Authorities`, `PageOrigins` and `ClientToken`.

package import HTTP1
import Primitives

/// Decides whether a caller may send requests to a listener.
package struct Admission: Sendable, Equatable {
  package var callers: Callers
  /// The clients that may send requests with a token. If not empty, every request except a CORS preflight needs a
  /// token.
  package var clients: [Client]
  /// The values that `Host` may have: lower-case, with port (`localhost:7070`). `nil` for Unix sockets, where `Host` is
  /// not checked.
  package var authorities: [String]? { didSet { known = authorities.map(Authorities.init) } }
  private var known: Authorities?
  /// The ports with which `Host` may name `localhost` or a loopback address, in addition to `authorities`.
  package var loopbackPorts: LoopbackPorts
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

  /// Returns the admitted request, or throws the reason for its refusal.
  /// - Parameters:
  ///   - caller: `nil` if the kernel did not identify the user. The request is then refused.
  ///   - localEnd: Local address of the connection, which `Host` may also name.
  ///   - hash: Computes the digest of a client token. Needed only if the listener has `clients`.
  package func admit(
    _ head: RequestHead, caller: Caller?, listener: Int, localEnd: LocalEnd? = nil, hash: TokenHash = { _ in nil }
  ) throws(PolicyRefusal) -> AdmittedRequest {
    let caller = try checkCaller(caller)
    // The target and `Host` of CONNECT name another server by design. The error must be about the method.
    if head.method == .connect { throw .methodNotSupported }
    let name = if let known { try checkHost(head, known, localEnd) } else { try Self.uncheckedHost(head) }
    let browser = try checkBrowser(head, name)
    try Self.checkMethod(head.method, head.bytes.span.extracting(head.methodRange))
    let preflight = browser.page == nil ? nil : try Self.preflight(head)
    // Browsers send no token with a preflight. The request that follows must carry one. The last check, so that a
    // refused request costs no hash.
    let client = clients.isEmpty || preflight != nil ? nil : try client(of: head, hash)
    return AdmittedRequest(
      caller: caller.authenticated(as: client), listener: listener, host: name.host,
      isSandboxed: browser.isNavigation || !name.isLoopback, page: browser.page, preflight: preflight,
      variesByOrigin: !pages.isEmpty, tunneledPort: name.tunneledPort)
  }

  /// Refuses a caller whose user is unknown or not allowed.
  fileprivate func checkCaller(_ caller: Caller?) throws(PolicyRefusal) -> Caller {
    // A caller without a uid can be identified only by a client token.
    guard let caller else { throw .callerUnknown }
    if let uid = caller.uid {
      guard callers.admits(caller) else { throw .callerNotAllowed(uid: uid) }
    } else if clients.isEmpty {
      throw .callerUnknown
    }
    return caller
  }

  /// Returns the request's host name if it selects the service, and `nil` if the path selects the service.
  package func name(of head: RequestHead, localEnd: LocalEnd? = nil) -> String? {
    let name = if let known { try? checkHost(head, known, localEnd) } else { try? Self.uncheckedHost(head) }
    return name?.host
  }

  /// Returns the name of the client whose token the request carries, and throws if there is no known token.
  private func client(of head: RequestHead, _ hash: TokenHash) throws(PolicyRefusal) -> String? {
    guard let digest = ClientToken.digest(in: head, by: hash) else {
      throw ClientToken.hasOtherCredential(in: head) ? .clientTokenMalformed : .clientTokenMissing
    }
    guard let name = clients.name(of: digest) else { throw .clientTokenUnknown }
    return name
  }

  /// Checks that the listener accepts the request's `Host` and the host of an absolute-form target (T1, T10).
  private func checkHost(
    _ head: RequestHead, _ known: Authorities, _ localEnd: LocalEnd?
  ) throws(PolicyRefusal) -> CheckedName {
    // Prevents DNS rebinding, in which browsers send the host name of the web page.
    func named(_ range: Range<Int>) -> Authorities.Name? {
      let text = head.bytes.span.extracting(range)
      return known.name(matching: text) ?? localEnd?.name(matching: text)
    }
    guard let host = head.host else { throw .hostNotAllowed }
    let listed = named(host)
    guard let name = listed ?? known.loopbackName(head.bytes.span.extracting(host), loopbackPorts) else {
      throw .hostNotAllowed
    }
    if let absolute = head.absoluteAuthority {
      // bearerd has not proved this `https` name to the client with a certificate (RFC 9110 section 7.4).
      if Self.isHTTPS(head, absolute) { throw .authorityMismatch }
      // Not `loopbackPorts`: clients of a forward proxy send this form for URLs of other local servers.
      guard listed != nil, let target = named(absolute), target.host == name.host else { throw .authorityMismatch }
    }
    return CheckedName(host: name.host, isLoopback: name.isLoopback, tunneledPort: name.tunneledPort)
  }

  private static func isHTTPS(_ head: RequestHead, _ authority: Range<Int>) -> Bool {
    let scheme = "https://".utf8
    guard authority.lowerBound >= head.methodRange.upperBound &+ scheme.count else { return false }
    let before = authority.lowerBound &- scheme.count..<authority.lowerBound
    return scheme.elementsEqual(head.bytes.span.extracting(before), ignoringCase: true)
  }

  /// Returns the host name without checking it, for Unix sockets, which web pages cannot reach.
  private static func uncheckedHost(_ head: RequestHead) throws(PolicyRefusal) -> CheckedName {
    if let absolute = head.absoluteAuthority, let host = head.host {
      let isSame = head.bytes[absolute].map(ASCII.lowercased) == head.bytes[host].map(ASCII.lowercased)
      if !isSame { throw .authorityMismatch }
    }
    guard let authority = head.absoluteAuthority ?? head.host else {
      return CheckedName(host: nil, isLoopback: true, tunneledPort: nil)
    }
    let bytes = head.bytes[authority]
    let name = bytes.prefix { $0 != UInt8(ascii: ":") }
    return CheckedName(host: Authorities.selector(name[...])?.lowercased(), isLoopback: true, tunneledPort: nil)
  }

  private struct CheckedName {
    let host: String?
    /// Whether the host is a loopback name, or the listener a Unix socket.
    let isLoopback: Bool
    let tunneledPort: UInt16?
  }

  private struct BrowserContext {
    var page: [UInt8]?
    var isNavigation = false
  }

  /// Refuses requests of web pages that are not listed, so that pages cannot use credentials (T2, T3).
  private func checkBrowser(_ head: RequestHead, _ name: CheckedName) throws(PolicyRefusal) -> BrowserContext {
    // Browsers send `Origin` with every request except simple GETs. They send `Sec-Fetch-Site` with every request to a
    // loopback name, with the value `none` if the user entered the URL. To other hosts, browsers send neither field
    // with simple GETs. `looksLikeBrowser` then guesses. Listeners with `clients` need no guess, because a page cannot
    // add a token without sending `Origin`.
    var browser = BrowserContext()
    var isBrowser = false
    var navigates = false
    var isCrossSite = false
    // `Referer` does not identify the page, because it survives redirects and sandboxes. `Sec-Fetch-Mode` alone proves
    // nothing: Node's `fetch` also sends it.
    for field in head.fields {
      if case .origin = field.known {
        guard browser.page == nil, let page = pages.listed(head.bytes.span.extracting(field.value)) else {
          throw .originNotAllowed
        }
        if let port = name.tunneledPort, Self.isOwnPage(page, port: port) { throw .originNotAllowed }
        browser.page = page
      }
      if case .secFetchSite = field.known {
        isBrowser = true
        isCrossSite = isCrossSite || !"none".utf8.elementsEqual(head.bytes.span.extracting(field.value))
      }
      if case .secFetchMode = field.known {
        navigates = "navigate".utf8.elementsEqual(head.bytes.span.extracting(field.value))
      }
    }
    if isCrossSite, browser.page == nil { throw .crossSite }
    browser.isNavigation = isBrowser && navigates
    if !name.isLoopback, clients.isEmpty, !isBrowser, browser.page == nil, head.looksLikeBrowser { throw .siteUnknown }
    return browser
  }

  /// Whether the page was loaded through a tunnel to bearerd whose local port is `port` (T35).
  private static func isOwnPage(_ page: [UInt8], port: UInt16) -> Bool {
    // The content of such a page comes from an upstream.
    guard let origin = try? Origin(parsing: String(decoding: page, as: UTF8.self)) else { return false }
    return origin.scheme == .http && origin.host.isLocal && origin.port == port
  }

  /// Returns the range of the method that a CORS preflight announces; `nil` if the request is not a preflight.
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

  /// Refuses TRACE and TRACK, which echo the credential, and CONNECT, which tunnels past bearerd (T18).
  private static func checkMethod(_ method: Method, _ name: Span<UInt8>) throws(PolicyRefusal) {
    switch method {
    case .trace, .connect: throw .methodNotSupported
    case .get, .head, .post, .put, .delete, .patch, .options: return
    case .other:
      for refused in ["TRACE", "TRACK", "CONNECT"] where refused.utf8.elementsEqual(name, ignoringCase: true) {
        throw .methodNotSupported
      }
    }
  }
}

/// The admission of a listener, shared by reference.
package final class Gate: Sendable {
  private let admission: Admission

  package init(_ admission: Admission) { self.admission = admission }

  package func admit(
    _ head: RequestHead, caller: Caller?, listener: Int, localEnd: LocalEnd?, hash: TokenHash
  ) throws(PolicyRefusal) -> AdmittedRequest {
    try admission.admit(head, caller: caller, listener: listener, localEnd: localEnd, hash: hash)
  }

  /// Returns the reason for refusing every request of this caller; `nil` if the decision depends on the request (T60).
  package func refusal(of caller: Caller?) -> PolicyRefusal? {
    do throws(PolicyRefusal) {
      _ = try admission.checkCaller(caller)
      return nil
    } catch {
      return error
    }
  }

  package func name(of head: RequestHead, localEnd: LocalEnd?) -> String? {
    admission.name(of: head, localEnd: localEnd)
  }
}

/// Proof that a request passed admission. Only `Admission.admit` creates one, and `RuleSet.decide` requires one.
package struct AdmittedRequest: Sendable, Equatable {
  package let caller: Caller
  package let listener: Int
  /// The request's host without port, lower-case. `nil` for `localhost` and addresses, which select no service.
  package let host: String?
  /// Whether a browser could show the response as a page.
  package let isSandboxed: Bool
  /// The listed origin of the page that sent the request; `nil` if no page sent it.
  package let page: [UInt8]?
  /// Range, in the head's bytes, of the method that a CORS preflight announces. `nil` if there is no preflight.
  package let preflight: Range<Int>?
  /// Whether the listener allows web pages, so that responses depend on `Origin`.
  package let variesByOrigin: Bool
  /// The port in `Host` if it is the local port of a tunnel to bearerd, such as `ssh -L`; otherwise `nil`.
  package let tunneledPort: UInt16?

  fileprivate init(
    caller: Caller, listener: Int, host: String?, isSandboxed: Bool, page: [UInt8]?, preflight: Range<Int>?,
    variesByOrigin: Bool, tunneledPort: UInt16?
  ) {
    self.caller = caller
    self.listener = listener
    self.host = host
    self.isSandboxed = isSandboxed
    self.page = page
    self.preflight = preflight
    self.variesByOrigin = variesByOrigin
    self.tunneledPort = tunneledPort
  }
}
