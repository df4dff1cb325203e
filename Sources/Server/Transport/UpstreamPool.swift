package import Gateway
package import Policy
internal import Primitives
internal import System
package import TLS

/// The connections that share one origin, offered protocols, trust, pins, credential and generation. Nothing else may use
/// them (T25).
///
/// A pool that offers HTTP/2 has a second pool for requests that only HTTP/1.1 can carry (`http1Only`).
package final class UpstreamPool {
  package let upstream: Upstream
  /// The TLS settings and stored TLS sessions. `nil` for plain HTTP.
  package let context: ClientContext?
  let generation: UInt64
  /// The protocol of connections without TLS, which negotiate none.
  package let plainProtocol: ApplicationProtocol
  /// Whether connections can turn out to speak HTTP/2.
  package let offersHTTP2: Bool
  /// Whether responses can contain a new secret, such as a cookie.
  let responsesAreSecret: Bool
  var hasLoggedPinAdvice = false
  /// How many streams a new HTTP/2 connection may open before the upstream's settings arrive.
  var streamLimit = UpstreamStreams.initialStreams
  private var pool = ConnectionPool<UpstreamConnection>()
  /// The pool of `http1Only`. `nil` until a request needs it.
  private var twin: UpstreamPool?
  /// Whether the upstream has refused HTTP/2, so that all requests use `http1Only`.
  package private(set) var prefersHTTP1 = false
  /// Whether the connection that was opened last speaks HTTP/1.1, although the pool offers HTTP/2.
  private(set) var upstreamSpeaksHTTP1 = false
  /// The version of the last connection, without those of `http1Only`. `nil` if there was none.
  package private(set) var negotiated: NegotiatedVersion?
  /// Open connections by version, without those whose handshake is in progress and those of `http1Only`.
  private var open = (http1: 0, http2: 0)
  /// Number of HTTP/2 streams in use.
  private var streams = 0
  /// The connection that is being opened for all requests that need one now. `nil` if there is none.
  var opening: SharedOpening?

  /// The requests that wait for the settings of a connection.
  private var webSocketOpenings = FastTable<WebSocketOpening>()

  package typealias Choice = ConnectionPool<UpstreamConnection>.Choice

  /// - Parameter plainProtocol: the protocol of connections without TLS.
  package init(
    upstream: Upstream, context: ClientContext?, generation: UInt64, responsesAreSecret: Bool = false,
    plainProtocol: ApplicationProtocol = .http1
  ) {
    self.responsesAreSecret = responsesAreSecret
    self.upstream = upstream
    self.context = context
    self.generation = generation
    self.plainProtocol = plainProtocol
    offersHTTP2 = context?.identity.protocols.contains(.http2) ?? (plainProtocol == .http2)
  }

  /// The idle connections, without those of `http1Only`.
  package var idle: [UpstreamConnection] { pool.idle }
  /// Number of idle connections.
  package var idleCount: Int { pool.idle.count + (twin?.idleCount ?? 0) }
  /// Number of connections that are idle, in use or being opened.
  package var connectionCount: Int { pool.count + (twin?.connectionCount ?? 0) }
  /// Number of TLS sessions that can be resumed.
  package var resumableSessions: Int { (context?.statistics.kept ?? 0) + (twin?.resumableSessions ?? 0) }
  package var isRetired: Bool { pool.isRetired }

  func opened() -> UInt64 { pool.opened() }
  func closed() { pool.closed() }

  /// Counts a connection whose handshake has ended.
  func began(_ version: ApplicationProtocol) { if version == .http2 { open.http2 += 1 } else { open.http1 += 1 } }

  /// No longer counts a connection that has closed.
  /// - Parameter streams: the streams that were in use.
  func ended(_ version: ApplicationProtocol, streams count: Int) {
    if version == .http2 { open.http2 -= 1 } else { open.http1 -= 1 }
    streams -= count
  }

  func streamBegan() { streams &+= 1 }
  func streamEnded() { streams &-= 1 }

  /// The version that the next connection probably has.
  package var expectedVersion: ApplicationProtocol {
    if prefersHTTP1 { return .http1 }
    return negotiated?.applicationProtocol ?? (offersHTTP2 ? .http2 : .http1)
  }

  /// The connections with this version, and their streams. A connection whose handshake is in progress counts as
  /// active, and as one with `expectedVersion`.
  package func use(of version: ApplicationProtocol) -> (idle: Int, active: Int, streams: Int) {
    let idle = pool.idle.count { $0.applicationProtocol == version }
    let opening = version == expectedVersion ? pool.count - open.http1 - open.http2 : 0
    let all = opening + (version == .http2 ? open.http2 : open.http1)
    let others = twin?.use(of: version) ?? (idle: 0, active: 0, streams: 0)
    return (
      idle + others.idle, all - idle + others.active, (version == .http2 ? streams : 0) + others.streams
    )
  }

  /// Whether the connection belongs to this pool, or to its `http1Only`.
  func owns(_ connection: UpstreamConnection) -> Bool { connection.pool === self || connection.pool === twin }

  // MARK: protocols

  /// Returns the pool of connections to the same upstream that offer only HTTP/1.1. This pool itself, if it offers
  /// nothing else.
  package func http1Only() throws(TLSError) -> UpstreamPool {
    guard offersHTTP2 else { return self }
    if let twin { return twin }
    let made = UpstreamPool(
      upstream: upstream, context: try context?.offering([.http1]), generation: generation,
      responsesAreSecret: responsesAreSecret)
    if isRetired { made.retire() }
    twin = made
    return made
  }

  /// Sends all later requests with HTTP/1.1, because the upstream requires it (HTTP_1_1_REQUIRED, RFC 9113 section 7).
  /// Requests in progress continue. Returns `false` if the configuration allows only HTTP/2.
  @discardableResult
  package func requireHTTP1() -> Bool {
    guard let context, context.identity.protocols.contains(.http1) else { return !offersHTTP2 }
    guard offersHTTP2, !prefersHTTP1 else { return true }
    prefersHTTP1 = true
    negotiated = NegotiatedVersion(.http1, .required, at: Clock.now.seconds)
    close(pool.removeIdle())
    return true
  }

  /// Whether the configuration allows only HTTP/2.
  var offersOnlyHTTP2: Bool { offersHTTP2 && context?.identity.protocols.contains(.http1) != true }

  func add(_ opening: WebSocketOpening) { webSocketOpenings.set(opening, for: opening) }
  func remove(_ opening: WebSocketOpening) { webSocketOpenings.remove(opening) }

  /// Lets the requests continue that wait for the settings of a connection, because they have arrived or never will.
  func settingsAreKnown(of connection: UpstreamConnection) {
    if webSocketOpenings.isEmpty { return }
    for opening in webSocketOpenings.all where opening.waits(for: connection) { opening.proceedLater() }
  }

  /// Whether requests that need a new connection wait for the same one, which may carry all of them.
  var sharesOpenings: Bool { offersHTTP2 && !upstreamSpeaksHTTP1 }

  /// Records which protocol a connection speaks that has just been opened.
  func learnProtocol(of connection: UpstreamConnection) {
    let version = connection.applicationProtocol
    upstreamSpeaksHTTP1 = offersHTTP2 && version == .http1
    if prefersHTTP1 { return }
    let cause: NegotiatedVersion.Cause =
      if let proof = connection.proof, proof.identity.protocols.count > 1 {
        proof.isProtocolSelected ? .selected : .notSelected
      } else {
        .configured
      }
    negotiated = NegotiatedVersion(version, cause, at: Clock.now.seconds)
  }

  // MARK: connections

  /// Returns a connection in use that has room, or an idle connection. `nil` if there is none. The caller must begin a run.
  /// Closes idle connections whose certificates are no longer valid.
  /// - Parameter now: seconds since 1970.
  package func acquire(at now: Int64, _ choice: Choice = .any) -> UpstreamConnection? {
    var expired: [UpstreamConnection] = []
    let connection = pool.acquire(choice, at: now, expired: &expired)
    for connection in expired { connection.close() }
    return connection
  }

  /// Keeps an idle connection for later requests. Returns its maximum idle time in milliseconds, or `nil` if it is not
  /// kept.
  /// - Parameters:
  ///   - limit: number of connections to keep for `time`. Further connections are kept for half this time.
  func keep(_ connection: UpstreamConnection, limit: Int, time: UInt64) -> UInt64? {
    let time = pool.keep(connection, limit: limit, time: time)
    if time != nil { opening?.connectionHasRoom() }
    return time
  }

  /// Offers a connection in use to further runs while the connection has room.
  func update(_ connection: UpstreamConnection) {
    pool.update(connection)
    if let opening, connection.hasRoom { opening.connectionHasRoom() }
  }

  func remove(_ connection: UpstreamConnection) { pool.remove(connection) }

  /// Prevents the reuse and TLS resumption of all connections opened so far. Requests in progress can finish.
  package func invalidate() {
    // The requests that wait for it keep it, and later requests do not join them.
    opening = nil
    context?.discardSessions()
    close(pool.invalidate())
    twin?.invalidate()
  }

  /// Invalidates all connections, and keeps no connection from now on.
  package func retire() {
    opening = nil
    context?.discardSessions()
    close(pool.retire())
    twin?.retire()
  }

  package func closeIdle() {
    close(pool.removeIdle())
    twin?.closeIdle()
  }

  private func close(_ connections: [UpstreamConnection]) {
    for connection in connections { connection.close() }
  }
}
