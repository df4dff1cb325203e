/// A hash that a server of Digest may have us compute (RFC 7616 section 6.1), the weakest first. None beyond these: a name that
/// an upstream sends becomes one of them, or nothing.
package enum DigestHash: String, Sendable, CaseIterable, Comparable {
  case md5 = "MD5"
  case sha256 = "SHA-256"
  case sha512Half = "SHA-512-256"

  /// Bytes of what it makes.
  package var size: Int {
    switch self {
    case .md5: 16
    case .sha256, .sha512Half: 32
    }
  }

  package static func < (one: Self, other: Self) -> Bool { one.rank < other.rank }

  private var rank: Int {
    switch self {
    case .md5: 0
    case .sha256: 1
    case .sha512Half: 2
    }
  }
}
