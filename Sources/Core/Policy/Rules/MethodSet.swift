package import HTTP1
internal import Primitives

/// The methods that a rule matches. An empty set matches every method.
package struct MethodSet: Sendable, Equatable {
  package let names: [String]
  /// One bit for each `Method` in the set.
  private(set) var known: UInt16
  private var ignoresCase = false

  /// Throws for text that is not a method's name, for lower case (RFC 9110 §9.1), and for TRACE, TRACK and CONNECT.
  package init(_ names: [String]) throws(PolicySyntaxError) {
    var known: UInt16 = 0
    for name in names {
      guard !name.isEmpty, name.utf8.allSatisfy(ByteClass.isTokenCharacter) else {
        throw PolicySyntaxError("\(quoted(name)) is not a method: expected one like GET")
      }
      let upper = name.uppercased()
      if ["TRACE", "TRACK", "CONNECT"].contains(upper) {
        throw PolicySyntaxError("bearerd never sends \(upper), so a rule cannot list it")
      }
      guard name == upper else {
        throw PolicySyntaxError("the method \(quoted(name)) is not in capital letters: expected \(upper)")
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

  /// Whether the set contains a method that may be sent twice (RFC 9110 section 9.2.2).
  package var includesIdempotent: Bool { Method.allCases.contains { $0.isIdempotent && known & Self.bit($0) != 0 } }

  var ignoringCase: MethodSet {
    var set = self
    set.ignoresCase = true
    set.known |= Self.bit(.other)
    return set
  }

  /// Whether the rule matches the method. GET does not include HEAD.
  /// - Parameter name: Compared only if `method` is `other`.
  package func contains(_ method: Method, name: Span<UInt8>) -> Bool {
    guard known & Self.bit(method) != 0 else { return false }
    if method != .other || names.isEmpty { return true }
    return names.contains { $0.utf8.elementsEqual(name, ignoringCase: ignoresCase) }
  }

  static func bit(_ method: Method) -> UInt16 { 1 << UInt16(method.rawValue) }
}

extension Method {
  /// The method's name in requests; empty for `other`.
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
  func elementsEqual(_ bytes: Span<UInt8>, ignoringCase: Bool = false) -> Bool {
    guard count == bytes.count else { return false }
    var index = 0
    for byte in self {
      let other = bytes[index]
      if byte != other, !ignoringCase || ASCII.lowercased(byte) != ASCII.lowercased(other) { return false }
      index += 1
    }
    return true
  }
}
