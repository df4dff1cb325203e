// Written by make generate from config/keys.toml.
// swift-format-ignore-file

/// After how many rejections in a row bearerd suspends a credential, and for how long.
package struct Suspension: Sendable, Equatable {
  /// bearerd suspends the credential after this many responses with 401 or 407 in a row, without a success between
  /// them.
  package var after = 5
  /// How long bearerd waits before it sends one request with the credential as a test. In milliseconds.
  package var time: UInt64 = 60_000
  package init() {}
}

/// The settings of a service that have a single value.
package struct ServiceOptions: Sendable, Equatable {
  /// The HTTP version of requests to the upstream. With `auto`, bearerd offers HTTP/2 and HTTP/1.1 in the TLS handshake
  /// (ALPN), and uses the version that the upstream selects. With `http1`, bearerd offers only HTTP/1.1. With `http2`,
  /// bearerd offers only HTTP/2, and refuses an upstream that does not select HTTP/2. Logins by NTLM or Negotiate,
  /// credentials with `mode: challenge`, and upgrades to other protocols than `websocket` always use HTTP/1.1, also
  /// with `http2`. A WebSocket uses HTTP/1.1 unless an open HTTP/2 connection accepts it. To an http upstream, `http2`
  /// sends HTTP/2 without asking first (prior knowledge), and `auto` means HTTP/1.1.
  package enum ServiceProtocol: String, CaseIterable, Sendable { case auto, http1, http2 }
  /// What happens to cookies of the program and of the upstream. `strip` removes them. `pass` passes them on. `jar`
  /// stores the upstream's cookies in bearerd, separately for each credential and upstream, and hides them from the
  /// program.
  package enum Cookies: String, CaseIterable, Sendable { case strip, pass, jar }
  /// What the program gets if the upstream rejects the credential. `pass` passes the upstream's response on. `502`
  /// replaces this response with an error response with status 502.
  package enum OnRejected: String, CaseIterable, Sendable { case pass, status502 = "502" }
  /// Where bearerd masks the credential if the upstream repeats it in a response. `off`: nowhere. `headers`: in the
  /// header fields and trailers. `errors`: also in the bodies of 4xx and 5xx responses. `all`: also in all other
  /// bodies.
  package enum Redact: String, CaseIterable, Sendable { case off, headers, errors, all }
  /// What happens to response heads that are not valid HTTP/1.1. `repair` corrects a fault if the response can be
  /// understood in only one way, for example a space before a colon. `strict` refuses these responses with 502.
  package enum Responses: String, CaseIterable, Sendable { case repair, strict }
  /// The HTTP version of requests to the upstream.
  package var serviceProtocol = ServiceProtocol.auto
  /// How often bearerd opens a TLS connection to the upstream without a request, to learn of a wrong pin or certificate
  /// before a program does. In milliseconds; `nil` for no limit.
  package var probe: UInt64?
  /// What happens to cookies of the program and of the upstream.
  package var cookies = Cookies.strip
  /// If `true`, bearerd adds a `Via` field.
  package var via = false
  /// What the program gets if the upstream rejects the credential.
  package var onRejected = OnRejected.pass
  /// Where bearerd masks the credential if the upstream repeats it in a response.
  package var redact = Redact.errors
  /// What happens to response heads that are not valid HTTP/1.1.
  package var responses = Responses.repair
  /// If `true`, each connection of a program has its own upstream connection, until the program's connection ends or
  /// you reload.
  package var dedicatedConnections = false
  /// If `false`, bearerd closes the upstream connection after each request with a body.
  package var reuseAfterBody = true
  package init() {}
}

/// How long bearerd waits for an upstream and for bodies.
package struct Timeouts: Sendable, Equatable {
  /// The maximum time for the name lookup and the TCP connection together. In milliseconds.
  package var connect: UInt64 = 10_000
  /// The maximum time for the TLS handshake with the upstream. In milliseconds.
  package var handshake: UInt64 = 10_000
  /// The maximum time that bearerd waits for the head of the response. In milliseconds; `nil` for no limit.
  package var responseHead: UInt64? = 600_000
  /// The longest time without a byte in a request body or response body. In milliseconds; `nil` for no limit.
  package var bodySilence: UInt64?
  /// The longest time without a byte in either direction on an upgraded connection, such as a WebSocket, and in a gRPC
  /// call. In milliseconds; `nil` for no limit.
  package var upgraded: UInt64?
  /// The maximum time for the whole request and its response. In milliseconds; `nil` for no limit.
  package var total: UInt64?
  package init() {}
}
