internal import Glibc

/// The end of a command that could not say "fine".
package struct Failure: Error {
  package static let no: Int32 = 1
  package static let usage: Int32 = 2
  // sysexits.h
  package static let noInput: Int32 = 66
  package static let noHost: Int32 = 68
  package static let unavailable: Int32 = 69
  package static let system: Int32 = 71

  package let code: Int32
  /// For standard error; empty: everything is said already.
  package let message: String

  package init(_ code: Int32, _ message: String = "") {
    self.code = code
    self.message = message
  }
}

/// A signal has asked us to end.
package struct Interruption: Error {
  package let signal: Int32
  /// SIGPIPE: the reader of our output has gone.
  package static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE]
}
