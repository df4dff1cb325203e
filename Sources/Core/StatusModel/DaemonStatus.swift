/// The state of the daemon, without secrets. `bearerctl status` shows the state.
/// Times without another unit are seconds since 1970.
package struct DaemonStatus: ControlResponse {
  package var version = ""
  package var now = 0
  /// The daemon's monotonic clock, in milliseconds.
  package var milliseconds: UInt64 = 0
  package var started = 0
  package var workers = 0
  package var configuration = Configuration()
  package var process = ProcessUse()
  /// `nil` without an audit file.
  package var audit: Audit?
  package var connections = 0
  package var workerConnections: [UInt64] = []
  package var loops: [Loop] = []
  package var listeners: [Listener] = []
  /// Upper bounds of the histogram buckets in `Service.responseHead`, in microseconds.
  package var bounds: [UInt64] = []
  package var services: [Service] = []
  package var credentials: [Credential] = []
  package var pools: [Pool] = []
  package var expiries: [Expiry] = []
  /// Number of requests that were not for any service.
  package var unplaced: UInt64 = 0
  package var recentRefusals: [Refused] = []
  /// `nil` if the configuration has no `reports`.
  package var reports: Reports?
  package init() {}

  package struct Configuration: Codable, Equatable, Sendable {
    package var file = ""
    package var generation: UInt64 = 0
    package var loaded = 0
    /// `nil` if there was no reload yet.
    package var lastReload: Reload?
  }

  package struct Reload: Codable, Equatable, Sendable {
    package var at: Int
    /// A one-line error message; `nil` after a successful reload.
    package var problem: String?

    package init(at: Int, problem: String?) {
      self.at = at
      self.problem = problem
    }
  }

  package struct ProcessUse: Codable, Equatable, Sendable {
    package var residentBytes: UInt64 = 0
    package var openFiles: UInt64 = 0
    package var mostFiles: UInt64 = 0
    package var logLinesDropped: UInt64 = 0
  }

  package struct Audit: Codable, Equatable, Sendable {
    package var file = ""
    /// Device and inode of the open audit file.
    package var device: UInt64 = 0
    package var inode: UInt64 = 0
    /// Number of the last record in the file.
    package var records: UInt64 = 0
    /// Chain value of the last record.
    package var head = ""
    package var dropped: UInt64 = 0
    /// Why the last write failed; `nil` if it succeeded.
    package var problem: String?
    /// Why bearerd cannot write the audit file and refuses requests; otherwise `nil`.
    package var refusing: String?
    package init() {}
  }

  /// Numbers of failed verifications that the report server accepted, that it did not get, and that were not sent.
  package struct Reports: Codable, Equatable, Sendable {
    package var sent: UInt64 = 0
    package var failed: UInt64 = 0
    package var suppressed: UInt64 = 0
    package init() {}
  }

  /// The event loop of a worker.
  package struct Loop: Codable, Equatable, Sendable {
    package var turns: UInt64 = 0
    /// Turns that took 100 ms or more.
    package var stalls: UInt64 = 0
    package var longestTurnMicroseconds: UInt64 = 0
    /// Age of the oldest request without a response head; `nil` if there is none.
    package var oldestWaitingRequestMilliseconds: UInt64?
    package init() {}
  }

  package struct Listener: Codable, Equatable, Sendable {
    package var name = ""
    package var addresses: [String] = []
    package var accepted: UInt64 = 0
    package init() {}
  }

  package struct Service: Codable, Equatable, Sendable {
    package var name = ""
    package var at = ""
    package var listener = ""
    package var upstream = ""
    /// The HTTP version of the last connection to the upstream, `1.1` or `2`; `nil` if there was none.
    package var httpVersion: String?
    /// Why the connection used this version: a raw value of `NegotiatedVersion.Cause`.
    package var httpCause: String?
    package var pins = 0
    package var pinMode = ""
    package var requests: UInt64 = 0
    package var refusals: UInt64 = 0
    package var retries: UInt64 = 0
    package var lastStatus: Int?
    package var lastSuccess: Int?
    package var lastFailure: Int?
    /// Counts of the histogram buckets for the time from a request's head to its response's head.
    package var responseHead: [UInt64] = []
    package var rates: [Rate] = []
    /// The pin that matched in the last TLS handshake; `nil` if none did.
    package var matchedPin: String?
    /// When the upstream's certificate expires; `nil` before the first TLS handshake.
    package var certificateExpires: Int?
    /// The last probe; `nil` if there was none.
    package var probe: Probe?
  }

  /// A TLS connection to an upstream without a request.
  package struct Probe: Codable, Equatable, Sendable {
    package var at: Int
    /// The code of the failure; `nil` if the probe succeeded.
    package var failure: String?
  }

  /// When something expires that requests need.
  package struct Expiry: Codable, Hashable, Sendable {
    package enum Kind: String, Codable, Sendable {
      case pins
      case upstreamCertificate = "upstream-certificate"
      case clientCertificate = "client-certificate"
      case caFile = "ca-file"
    }

    package var what: Kind
    /// The name of a service or credential, a key of the configuration, or the path of a file.
    package var name: String
    /// When the validity began; `nil` for pins.
    package var from: Int?
    package var at: Int

    package init(_ what: Kind, _ name: String, from: Int64? = nil, at: Int64) {
      (self.what, self.name, self.from, self.at) = (what, name, from.map(Int.init(clamping:)), Int(clamping: at))
    }

    /// Returns the smallest of the notice periods (0, 1, 7 and 30 days) that the time left is within; `nil` if there is
    /// none. For a certificate, only periods below a third of its lifetime count, because operators renew short-lived
    /// certificates late.
    package func notice(at now: Int) -> Int? {
      let left = at.subtractingReportingOverflow(now)
      let lifetime = from.map { at.subtractingReportingOverflow($0) } ?? (.max, false)
      guard !left.overflow, !lifetime.overflow else { return nil }
      return [0, 1, 7, 30].first { left.partialValue <= $0 * Self.day && $0 * Self.day < lifetime.partialValue / 3 }
    }

    package static let day = 86_400
  }

  package struct Rate: Codable, Equatable, Sendable {
    package var rate = ""
    /// Number of the rule that has the rate, counted from 1; `nil` for the rate of the service.
    package var rule: Int?
    package var callers: [Caller] = []
  }

  /// A caller whose recent requests count against the rate.
  package struct Caller: Codable, Equatable, Sendable {
    package var uid: Int?
    package var client: String?
    package var left: UInt64 = 0
    /// Time in milliseconds until the caller may send a request.
    package var milliseconds: UInt64 = 0
  }

  package struct Credential: Codable, Equatable, Sendable {
    package var name = ""
    package var kind = ""
    package var available = false
    package var loggedOut = false
    package var problem: String?
    package var generation: UInt64 = 0
    package var changed: Int?
    package var age: Int?
    package var expires: Int?
    package var fingerprint: String?
    package var sources: [Source] = []
    /// Number of cookies in the credential's jars; `nil` without a jar.
    package var cookies: Int??
    package var token: Token?
    package var accepted: UInt64 = 0
    package var rejected: UInt64 = 0
    package var lastAccepted: Int?
    package var lastRejected: Int?
    package var suspended: [Suspension] = []
    package init() {}
  }

  package struct Source: Codable, Equatable, Sendable {
    package var source = ""
    /// When the output of a program expires; `nil` if the source is not a program, and `.some(nil)` if this is unknown.
    package var expires: Int??
    /// When a file was modified; `nil` if the source is not a file, and `.some(nil)` if this is unknown.
    package var modified: Int??
    package init() {}
  }

  package struct Token: Codable, Equatable, Sendable {
    /// Seconds until the token expires; `nil` if unknown.
    package var secondsLeft: Int?
    package var renewing = false
    /// Whether the next request fetches a token.
    package var atNextRequest = false
    package var loginRequired = false
    /// Number of token requests.
    package var asked: UInt64 = 0
    package var granted: UInt64 = 0
    package var failed: UInt64 = 0
    package var failuresInARow = 0
    /// Seconds until the next token request; `nil` if none is planned.
    package var nextAttemptIn: Int?
    /// When the last token was granted; `nil` if none was.
    package var lastGranted: Int?
    /// When the last token request failed; `nil` if none did.
    package var lastFailed: Int?
    package var lastFailure: String?
    package init() {}
  }

  package struct Suspension: Codable, Equatable, Sendable {
    package var upstream = ""
    package var rejections = 0
    /// Seconds until bearerd tests the suspended credential with a request.
    package var seconds = 0
    package init() {}
  }

  /// Connections to one upstream with one credential and one HTTP version.
  package struct Pool: Codable, Equatable, Sendable {
    package var upstream: String
    /// The name of the credential. Empty for connections without a credential.
    package var credential: String
    /// `1.1` or `2`.
    package var httpVersion: String
    package var idle: Int
    package var active: Int
    /// Number of requests in progress on connections with HTTP/2; `nil` for HTTP/1.1, where each active connection has one.
    package var streams: Int?

    package init(
      upstream: String, credential: String, httpVersion: String, idle: Int, active: Int, streams: Int? = nil
    ) {
      self.upstream = upstream
      self.credential = credential
      self.httpVersion = httpVersion
      self.idle = idle
      self.active = active
      self.streams = streams
    }
  }

  package struct Refused: Codable, Equatable, Sendable {
    package var at: Int
    package var code: String
    package var service: String?
  }
}
