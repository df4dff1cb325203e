package import HTTP1

/// Methods of a rule: empty means every method.
package struct MethodSet: Sendable, Equatable {
  /// As configured; upper-case tokens.
  package let names: [String]
  /// One bit per `Method`; that of `other` says that a name has to be compared.
  private(set) var known: UInt16
  private var ignoresCase = false

  /// Refuses what is not a token, and TRACE, TRACK and CONNECT, which never go out. Lower case is refused too: methods are
  /// case-sensitive (RFC 9110 §9.1), and a rule for `get` would never match.
  package init(_ names: [String]) throws(OriginError) {
    var known: UInt16 = 0
    for name in names {
      guard !name.isEmpty, name.utf8.allSatisfy(ByteClass.isTokenCharacter) else {
        throw OriginError("\(quoted(name)) is not a method: expected one like GET")
      }
      let upper = name.uppercased()
      if ["TRACE", "TRACK", "CONNECT"].contains(upper) {
        throw OriginError("bearerd never sends \(upper), so a rule cannot list it")
      }
      guard name == upper else {
        throw OriginError("the method \(quoted(name)) is not in capital letters: expected \(upper)")
      }
      known |= Self.bit(Method.allCases.first { $0.registeredName == name } ?? .other)
    }
    self.names = names
    self.known = names.isEmpty ? .max : known
  }

  private init() {
    names = []
    known = .max
  }

  package static var every: MethodSet { MethodSet() }

  /// These methods, and all that differ from them in the case of letters only: there are frameworks that read `delete` as DELETE.
  var ignoringCase: MethodSet {
    var set = self
    set.ignoresCase = true
    set.known |= Self.bit(.other)
    return set
  }

  /// `name` matters for `other` only. Methods are case-sensitive, but where a set ignores it. HEAD is not implied by GET.
  package func contains(_ method: Method, name: Span<UInt8>) -> Bool {
    guard known & Self.bit(method) != 0 else { return false }
    if method != .other || names.isEmpty { return true }
    return names.contains { $0.utf8.elementsEqual(name, ignoringCase: ignoresCase) }
  }

  static func bit(_ method: Method) -> UInt16 { 1 << UInt16(method.rawValue) }
}

extension Method {
  /// The name on the wire; empty for `other`.
  var registeredName: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .patch: "PATCH"
    case .options: "OPTIONS"
    case .trace: "TRACE"
    case .connect: "CONNECT"
    case .other: ""
    }
  }
}

extension String.UTF8View {
  /// Compared byte by byte, without a copy.
  /// - Parameter ignoringCase: of the letters of `bytes`; these are capitals.
  func elementsEqual(_ bytes: Span<UInt8>, ignoringCase: Bool = false) -> Bool {
    guard count == bytes.count else { return false }
    var index = 0
    for byte in self {
      let isLowercase = ignoringCase && bytes[index] &- 0x61 < 26
      if byte != (isLowercase ? bytes[index] ^ 0x20 : bytes[index]) { return false }
      index += 1
    }
    return true
  }
}
