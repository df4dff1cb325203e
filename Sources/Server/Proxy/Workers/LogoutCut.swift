package import Primitives

/// Counts of what a logout has ended, by kind: of one worker, or of several together.
package struct LogoutCut: Sendable, Equatable {
  /// Requests that waited for a token or a connection: nothing of them was sent.
  package var waiting = 0
  /// Requests that an upstream had, and of whose answers nothing had begun.
  package var underWay = 0
  /// Answers that had begun: event streams, downloads.
  package var answers = 0
  /// Connections that had switched protocols: WebSockets.
  package var upgraded = 0
  /// Connections to upstreams that were kept for the next request.
  package var idle = 0
  /// TLS sessions that a later connection could have been resumed from.
  var resumable = 0
  /// Cookies that were kept for it.
  package var cookies = 0

  package mutating func add(_ other: LogoutCut) {
    waiting += other.waiting
    underWay += other.underWay
    answers += other.answers
    upgraded += other.upgraded
    idle += other.idle
    resumable += other.resumable
    cookies += other.cookies
  }

  package func write(to json: inout JSONWriter) {
    json.object("cut") { json in
      json.member("waiting", UInt64(waiting))
      json.member("under_way", UInt64(underWay))
      json.member("answers", UInt64(answers))
      json.member("upgraded", UInt64(upgraded))
      json.member("idle", UInt64(idle))
      json.member("resumable", UInt64(resumable))
      json.member("cookies", UInt64(cookies))
    }
  }
}
