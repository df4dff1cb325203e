internal import Console
// For Decodable and JSONDecoder: bearerctl has this much of Foundation already, by ArgumentParser.
internal import FoundationEssentials

/// The daemon's word on itself. Times are seconds since 1970.
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
    /// Device and inode identify the file, whatever its name has become.
    let device: UInt64
    let inode: UInt64
    let records: UInt64
    let head: String
    let dropped: UInt64
    let problem: String?
    /// Why requests get 503 meanwhile; nil: they do not.
    let refusing: String?
  }

  struct Listener: Decodable {
    let name: String
    let addresses: [String]
    let accepted: UInt64
  }

  struct Service: Decodable {
    struct Rate: Decodable {
      /// Who has less left than the rate allows.
      struct Caller: Decodable {
        let uid: UInt32?
        let client: String?
        let left: UInt64
        /// Until there is one again; 0: there is.
        let milliseconds: UInt64
      }
      let rate: String
      /// Counted from 1; nil: the service's own.
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
      /// The end of what a program said, if it said so.
      let expires: Int?
    }
    struct Suspension: Decodable {
      let upstream: String
      let rejections: Int
      /// Until a request may try it; 0: the next one may.
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
    /// In its jars; nil: it has none.
    let cookies: Int?
    let token: Token?

    /// The token of a credential whose value a token endpoint grants.
    struct Token: Decodable {
      /// nil: there is none, or its end is not known.
      let secondsLeft: Int?
      /// Whether there is no token now, and the next request gets one; nil: the daemon is of an earlier version.
      let atNextRequest: Bool?
      let loginRequired: Bool
      /// When the endpoint gave a token last; nil: never.
      let lastGranted: Int?
      /// When something came in the way last, and what; nil: never.
      let lastFailed: Int?
      let lastFailure: String?
      let failuresInARow: Int?
      /// Seconds until the endpoint may be asked again; nil: nothing is in the way of the next attempt.
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
  /// The time of a clock that only goes on.
  let milliseconds: UInt64
  let started: Int
  let workers: Int
  let configuration: Configuration
  let process: ProcessUse
  let audit: Audit?
  let connections: Int
  let listeners: [Listener]
  /// Upper bounds of the buckets of `responseHead`, in microseconds.
  let bounds: [UInt64]
  let services: [Service]
  let credentials: [Credential]
  let pools: [Pool]
  /// Requests that came to no service.
  let unplaced: UInt64
  let recentRefusals: [Refused]

  init(asking client: ControlClient, seconds: UInt64 = 60) throws {
    let text = try client.demand("status", seconds: seconds)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    do {
      self = try decoder.decode(StatusDocument.self, from: Data(text.utf8))
    } catch {
      throw Failure(Failure.unavailable, "the daemon at \(client.path) has another version than bearerctl")
    }
  }
}
