internal import Console
// For Decodable and JSONDecoder. ArgumentParser already depends on FoundationEssentials.
internal import FoundationEssentials

/// The status that a running daemon reports as JSON. Times without another unit are seconds since 1970.
struct StatusDocument: Decodable {
  struct Configuration: Decodable {
    struct Reload: Decodable {
      let at: Int
      let problem: String?
    }
    let file: String
    let generation: UInt64
    let loaded: Int
    let lastReload: Reload?
  }

  struct ProcessUse: Decodable {
    let residentBytes: UInt64
    let openFiles: UInt64
    let mostFiles: UInt64
    let logLinesDropped: UInt64
  }

  struct Audit: Decodable {
    let file: String
    /// Device and inode of the open audit file.
    let device: UInt64
    let inode: UInt64
    let records: UInt64
    let head: String
    let dropped: UInt64
    let problem: String?
    /// Why bearerd cannot write the audit file and refuses requests; otherwise `nil`.
    let refusing: String?
  }

  struct Listener: Decodable {
    let name: String
    let addresses: [String]
    let accepted: UInt64
  }

  struct Service: Decodable {
    struct Rate: Decodable {
      /// A caller whose recent requests count against the rate.
      struct Caller: Decodable {
        let uid: UInt32?
        let client: String?
        let left: UInt64
        /// Time in milliseconds until the caller may send a request.
        let milliseconds: UInt64
      }
      let rate: String
      /// Number of the rule that has the rate, counted from 1; `nil` for the rate of the service.
      let rule: Int?
      let callers: [Caller]
    }
    let name: String
    let at: String
    let listener: String
    let upstream: String
    let pins: Int
    let pinMode: String
    let requests: UInt64
    let refusals: UInt64
    let retries: UInt64
    let lastStatus: Int?
    let lastSuccess: Int?
    let lastFailure: Int?
    let responseHead: [UInt64]
    let rates: [Rate]
  }

  struct Credential: Decodable {
    struct Source: Decodable {
      let source: String
      let modified: Int?
      /// When the output of a helper expires; `nil` if unknown.
      let expires: Int?
    }
    struct Suspension: Decodable {
      let upstream: String
      let rejections: Int
      /// Seconds until bearerd tests the suspended credential with a request.
      let seconds: Int
    }
    let name: String
    let kind: String?
    let available: Bool
    let loggedOut: Bool?
    let problem: String?
    let generation: UInt64
    let changed: Int?
    let fingerprint: String?
    let sources: [Source]
    let accepted: UInt64
    let rejected: UInt64
    let lastAccepted: Int?
    let lastRejected: Int?
    let suspended: [Suspension]
    /// Number of cookies in the credential's jars; `nil` without a jar.
    let cookies: Int?
    let token: Token?

    struct Token: Decodable {
      /// Seconds until the token expires; `nil` if unknown.
      let secondsLeft: Int?
      /// Whether the next request fetches a token; `nil` from an earlier version of the daemon.
      let atNextRequest: Bool?
      let loginRequired: Bool
      /// When the last token was granted; `nil` if none was.
      let lastGranted: Int?
      /// When the last token request failed; `nil` if none did.
      let lastFailed: Int?
      let lastFailure: String?
      let failuresInARow: Int?
      /// Seconds until the next token request; `nil` if none is planned.
      let nextAttemptIn: Int?
    }
  }

  struct Pool: Decodable {
    let upstream: String
    let credential: String
    let idle: Int
    let active: Int
  }

  struct Refused: Decodable {
    let at: Int
    let code: String
    let service: String?
  }

  let version: String
  let now: Int
  /// The daemon's monotonic clock, in milliseconds.
  let milliseconds: UInt64
  let started: Int
  let workers: Int
  let configuration: Configuration
  let process: ProcessUse
  let audit: Audit?
  let connections: Int
  let listeners: [Listener]
  /// Upper bounds of the histogram buckets in `Service.responseHead`, in microseconds.
  let bounds: [UInt64]
  let services: [Service]
  let credentials: [Credential]
  let pools: [Pool]
  /// Number of requests that were not for any service.
  let unplaced: UInt64
  let recentRefusals: [Refused]

  init(asking client: ControlClient, seconds: UInt64 = 60) throws {
    let text = try client.responseText(to: "status", seconds: seconds)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    do {
      self = try decoder.decode(StatusDocument.self, from: Data(text.utf8))
    } catch {
      throw Failure(Failure.unavailable, "the daemon at \(client.path) has another version than bearerctl")
    }
  }
}
