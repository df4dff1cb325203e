/// The repairs that made a clean head of a response head (RFC 9112 §2.2, §5.1, §5.2, §6.3; RFC 9110 §8.6).
package struct HeadRepairs: OptionSet, Sendable {
  package let rawValue: UInt8
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

  @inlinable package static var none: HeadRepairs { HeadRepairs(rawValue: 0) }
  /// Inlined, because every response is asked.
  @inlinable package var isEmpty: Bool { rawValue == 0 }

  /// Spaces or tabs between a field's name and its colon were removed.
  package static let blankBeforeColon = HeadRepairs(rawValue: 1)
  /// A field with an illegal name was left out.
  package static let fieldName = HeadRepairs(rawValue: 1 << 1)
  /// A field of several lines became a field of one line.
  package static let foldedField = HeadRepairs(rawValue: 1 << 2)
  /// A line ended with LF alone.
  package static let lineFeed = HeadRepairs(rawValue: 1 << 3)
  /// Equal Content-Length values became one.
  package static let equalLengths = HeadRepairs(rawValue: 1 << 4)
  /// Several `chunked` codings became one.
  package static let repeatedChunked = HeadRepairs(rawValue: 1 << 5)
  /// Content-Length beside `chunked` was removed.
  package static let lengthBesideChunked = HeadRepairs(rawValue: 1 << 6)

  /// Each repair, its name in the log, and the reason for which a strict reader refuses the head.
  private static let all: [(repair: HeadRepairs, name: String, reason: MessageError.Reason)] = [
    (.blankBeforeColon, "blank-before-colon", .spaceBeforeColon), (.fieldName, "field-name", .badFieldName),
    (.foldedField, "folded-field", .obsoleteFolding), (.lineFeed, "line-feed", .bareLineFeed),
    (.equalLengths, "equal-lengths", .duplicateContentLength),
    (.repeatedChunked, "repeated-chunked", .duplicateTransferEncoding),
    (.lengthBesideChunked, "length-beside-chunked", .lengthWithTransferEncoding),
  ]

  /// The names of the repairs, with commas between them.
  package var description: String {
    HeadRepairs.all.filter { contains($0.repair) }.map(\.name).joined(separator: ",")
  }

  /// The reason for which a strict reader refuses the first of these repairs.
  var reason: MessageError.Reason {
    HeadRepairs.all.first { contains($0.repair) }?.reason ?? .badFieldName
  }

  /// Whether a head with this fault may be one that can be repaired.
  static func mayCure(_ reason: MessageError.Reason) -> Bool { all.contains { $0.reason == reason } }
}
