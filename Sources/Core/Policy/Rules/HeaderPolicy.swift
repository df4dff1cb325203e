/// How the head of a forwarded request is changed.
package struct HeaderPolicy: Sendable, Equatable {
  package enum OnClientHeader: String, CaseIterable, Sendable { case replace, keep, reject }
  package struct Setting: Sendable, Equatable {
    package let name: String
    package let value: [UInt8]
    package let lowercasedName: String
    package init(name: String, value: [UInt8]) {
      self.name = name
      self.value = value
      lowercasedName = name.lowercased()
    }
  }
  package var onClientHeader = OnClientHeader.replace
  /// Names of client fields that are not removed: lower-case, with `-` for `_`.
  package var allowClientHeaders: [String] = []
  package var set: [Setting] = []
  /// Names of fields to remove from requests, in lower case.
  package var remove: [String] = []
  /// Names of query parameters to remove: lower-case, with `-` for `_` and `.`.
  package var removeParameters: [String] = []
  package init() {}
}
