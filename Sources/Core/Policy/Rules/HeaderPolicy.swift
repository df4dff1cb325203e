/// The treatment of the head of a forwarded request and of its response; a service's and a rule's own, merged when read.
package struct HeaderPolicy: Sendable, Equatable {
  package enum OnClientHeader: String, Sendable { case replace, keep, reject }
  /// `jar`: of requests with a credential, kept for later ones; of others, stripped.
  package enum Cookies: String, Sendable { case strip, pass, jar }
  package struct Setting: Sendable, Equatable {
    package let name: String
    package let value: [UInt8]
    /// The name as it is compared: lower-case.
    package let folded: String
    package init(name: String, value: [UInt8]) {
      self.name = name
      self.value = value
      folded = name.lowercased()
    }
  }
  package var onClientHeader = OnClientHeader.replace
  /// Lower-case, `_` written `-`.
  package var allowClientHeaders: [String] = []
  package var set: [Setting] = []
  /// Lower-case.
  package var remove: [String] = []
  /// Parameters of the query; lower-case, `_` and `.` written `-`.
  package var removeParameters: [String] = []
  package var cookies = Cookies.strip
  package var via = false
  package init() {}
}
