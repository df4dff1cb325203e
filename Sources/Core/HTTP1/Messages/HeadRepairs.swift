/// The repairs made to a response head (RFC 9112 §2.2, §5.1, §5.2, §6.3; RFC 9110 §8.6).
package struct HeadRepairs: OptionSet, Sendable {
  package let rawValue: UInt8
  @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

  @inlinable package static var none: HeadRepairs { HeadRepairs(rawValue: 0) }
  /// Whether the head needed no repair.
  @inlinable package var isEmpty: Bool { rawValue == 0 }

  /// Spaces or tabs between a field's name and its colon were removed.
  package static let blankBeforeColon = HeadRepairs(rawValue: 1)
  /// A field with an illegal name was left out.
  package static let fieldName = HeadRepairs(rawValue: 1 << 1)
  /// The lines of a folded field were joined.
  package static let foldedField = HeadRepairs(rawValue: 1 << 2)
  /// A line ended with LF without CR.
  package static let lineFeed = HeadRepairs(rawValue: 1 << 3)
  /// Equal Content-Length values were merged.
  package static let equalLengths = HeadRepairs(rawValue: 1 << 4)
  /// Repeated `chunked` codings were merged.
  package static let repeatedChunked = HeadRepairs(rawValue: 1 << 5)
  /// Content-Length was removed beside `chunked`.
  package static let lengthBesideChunked = HeadRepairs(rawValue: 1 << 6)

  /// All repairs, each with its name in the log and the error if repairs are disabled.
  private static let all: [(repair: HeadRepairs, name: String, reason: MessageError.Reason)] = [
    (.blankBeforeColon, "blank-before-colon", .spaceBeforeColon), (.fieldName, "field-name", .badFieldName),
    (.foldedField, "folded-field", .obsoleteFolding), (.lineFeed, "line-feed", .bareLineFeed),
    (.equalLengths, "equal-lengths", .duplicateContentLength),
    (.repeatedChunked, "repeated-chunked", .duplicateTransferEncoding),
    (.lengthBesideChunked, "length-beside-chunked", .lengthWithTransferEncoding),
  ]

  package var description: String {
    HeadRepairs.all.filter { contains($0.repair) }.map(\.name).joined(separator: ",")
  }

  /// The error for a head that needs one of these repairs, if repairs are disabled.
  var reason: MessageError.Reason {
    HeadRepairs.all.first { contains($0.repair) }?.reason ?? .badFieldName
  }

  static func canRepair(_ reason: MessageError.Reason) -> Bool { all.contains { $0.reason == reason } }
}
