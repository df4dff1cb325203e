package import Primitives

/// What a logout has ended, in one worker or several.
package struct LogoutCounts: Sendable, Equatable {
  /// Requests that waited for a token or a connection, and were not sent.
  package var waiting = 0
  /// Requests that were sent, but whose response had not begun.
  package var sent = 0
  /// Responses that were cut off.
  package var responses = 0
  /// Upgraded connections, such as WebSockets, that were ended.
  package var upgraded = 0
  /// Idle connections to upstreams that were closed.
  package var idle = 0
  /// Stored TLS sessions that can no longer be resumed.
  var resumable = 0
  /// Cookies that were removed from the credential's jars.
  package var cookies = 0

  package mutating func add(_ other: LogoutCounts) {
    waiting += other.waiting
    sent += other.sent
    responses += other.responses
    upgraded += other.upgraded
    idle += other.idle
    resumable += other.resumable
    cookies += other.cookies
  }

  package func write(to json: inout JSONWriter) {
    json.object("cut") { json in
      json.member("waiting", UInt64(waiting))
      json.member("under_way", UInt64(sent))
      json.member("answers", UInt64(responses))
      json.member("upgraded", UInt64(upgraded))
      json.member("idle", UInt64(idle))
      json.member("resumable", UInt64(resumable))
      json.member("cookies", UInt64(cookies))
    }
  }
}
