/// How the heads of a forwarded request and its response are changed.
package struct HeaderPolicy: Sendable, Equatable {
  package enum OnClientHeader: String, Sendable { case replace, keep, reject }
  /// `strip` removes cookies, and `pass` forwards them. With `jar`, bearerd keeps the upstream's cookies for later
  /// requests with the same credential, and clients do not see them.
  package enum Cookies: String, Sendable { case strip, pass, jar }
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
  package var cookies = Cookies.strip
  package var via = false
  package init() {}
}
