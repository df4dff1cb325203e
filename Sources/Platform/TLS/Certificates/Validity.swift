internal import Policy
internal import Primitives

/// A period of time in seconds since 1970, without the second `ends`.
package struct Validity: Sendable, Equatable {
  package let begins: Int64
  package let ends: Int64

  package init(begins: Int64, ends: Int64) {
    self.begins = begins
    self.ends = ends
  }

  /// Says that `now`, in seconds since 1970, is before or after the period.
  func fault(at now: Int64) -> String {
    (now < begins ? "is valid only from \(CivilTime.time(of: begins)) on" : "expired on \(CivilTime.time(of: ends))")
      + ", and the clock of this machine says \(CivilTime.time(of: now))"
  }

  /// The period in which all certificates of a verified chain, its pins and the checks of its revocation are valid.
  /// - Parameter revocationEnds: When the checks of revocation expire. `nil` if revocation was not checked.
  init(of chain: [CertificateView], pinning: PinPolicy, revocationEnds: Int64? = nil) {
    begins = chain.map(\.notBefore).max() ?? .max
    let end = min(chain.map(\.notAfter).min() ?? 0, revocationEnds ?? .max)
    ends = pinning.pins.isEmpty ? end : min(end, pinning.expires ?? .max)
  }

  /// Whether `now`, in seconds since 1970, is in the period.
  package func contains(_ now: Int64) -> Bool { begins <= now && now < ends }
}

/// The current time of two clocks: calendar and uptime.
package struct Moment: Sendable {
  /// Seconds since 1970.
  package let calendar: Int64
  /// Seconds since boot, including sleep.
  let uptime: Int64

  package init(calendar: Int64, uptime: Int64) {
    self.calendar = calendar
    self.uptime = uptime
  }

  static func + (moment: Moment, seconds: Int64) -> Moment {
    Moment(calendar: moment.calendar &+ seconds, uptime: moment.uptime &+ seconds)
  }
}
