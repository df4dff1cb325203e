internal import Policy

/// A stretch of the calendar, from its first second up to and without its end. Seconds since 1970.
package struct Validity: Sendable, Equatable {
  package let begins: Int64
  package let ends: Int64

  package init(begins: Int64, ends: Int64) {
    self.begins = begins
    self.ends = ends
  }

  /// The calendar's clock can be set, forwards and backwards.
  package func contains(_ now: Int64) -> Bool { begins <= now && now < ends }
}

extension Validity {
  /// While all certificates of a verified chain are valid, and its pins too.
  init(of chain: [CertificateView], pinning: PinPolicy) {
    begins = chain.map(\.notBefore).max() ?? .max
    let end = chain.map(\.notAfter).min() ?? 0
    ends = pinning.pins.isEmpty ? end : min(end, pinning.expires ?? .max)
  }
}

/// Now, by the two clocks that are asked. Seconds.
package struct Moment: Sendable {
  /// Since 1970: certificates and pins are valid by the calendar.
  package let calendar: Int64
  /// Since the machine started, asleep or awake: sessions grow old whatever the calendar is set to.
  let uptime: Int64

  package init(calendar: Int64, uptime: Int64) {
    self.calendar = calendar
    self.uptime = uptime
  }

  static func + (moment: Moment, seconds: Int64) -> Moment {
    Moment(calendar: moment.calendar &+ seconds, uptime: moment.uptime &+ seconds)
  }
}
