/// A hash function for Digest authentication (RFC 7616 section 6.1), weakest first.
package enum DigestHash: String, Sendable, CaseIterable, Comparable {
  case md5 = "MD5"
  case sha256 = "SHA-256"
  case sha512Truncated = "SHA-512-256"

  package var size: Int { self == .md5 ? 16 : 32 }

  package static func < (one: Self, other: Self) -> Bool { one.rank < other.rank }

  private var rank: Int {
    switch self {
    case .md5: 0
    case .sha256: 1
    case .sha512Truncated: 2
    }
  }
}
