import Primitives

/// The ports that a listener accepts in `Host` after a loopback name or address.
package enum LoopbackPorts: Sendable, Equatable {
  case none
  /// Only these ports.
  case only(Set<UInt16>)
  /// Every port except these.
  case any(except: Set<UInt16>)

  fileprivate func contain(_ port: UInt16) -> Bool {
    switch self {
    case .none: false
    case .only(let ports): ports.contains(port)
    case .any(let others): !others.contains(port)
    }
  }
}

/// The authorities (host and port) that a listener accepts in `Host`.
struct Authorities: Sendable, Equatable {
  struct Name: Sendable, Equatable {
    /// Range in `Authorities.bytes` of the authority: lower-case, with port.
    let authority: Range<Int>
    /// Range of the authority without `:80`, which requests may omit; `nil` for other ports.
    let portless: Range<Int>?
    /// The host if it can select a service; `nil` for `localhost` and addresses.
    let host: String?
    let isLoopback: Bool
    /// The port in `Host` if only `LoopbackPorts` allows it; `nil` for a listed authority.
    var tunneledPort: UInt16?
  }

  private var bytes: [UInt8] = []
  private(set) var names: [Name] = []

  init(_ texts: [String]) {
    for text in texts {
      let start = bytes.count
      bytes += text.utf8.map(ASCII.lowercased)
      let colon = bytes[start...].lastIndex(of: UInt8(ascii: ":")) ?? bytes.count
      let isDefaultPort = bytes[colon...].elementsEqual(":80".utf8)
      names.append(
        Name(
          authority: start..<bytes.count, portless: isDefaultPort ? start..<colon : nil,
          host: Self.selector(bytes[start..<colon]), isLoopback: Self.isLoopback(bytes[start..<colon])))
    }
  }

  /// Returns the listed name that equals `text`, ignoring case (RFC 9110 §4.2.3).
  func name(matching text: Span<UInt8>) -> Name? {
    for index in names.indices {
      if matches(text, names[index].authority) { return names[index] }
      if let portless = names[index].portless, matches(text, portless) { return names[index] }
    }
    return nil
  }

  /// Returns the loopback name or address in `text`; `nil` if `text` is neither, or if `ports` does not allow its port.
  func loopbackName(_ text: Span<UInt8>, _ ports: LoopbackPorts) -> Name? {
    if case .none = ports { return nil }
    guard text.count <= Self.longestLoopback else { return nil }
    var bytes: [UInt8] = []
    for index in text.indices { bytes.append(ASCII.lowercased(text[index])) }
    // Skip the colons of an IPv6 address in brackets.
    let close = bytes.lastIndex(of: UInt8(ascii: "]")) ?? 0
    let colon = bytes[close...].lastIndex(of: UInt8(ascii: ":"))
    let written: UInt16? = if let colon { Self.port(bytes[(colon + 1)...]) } else { 80 }
    guard let port = written, ports.contain(port) else { return nil }
    let host = String(decoding: bytes[..<(colon ?? bytes.count)], as: UTF8.self)
    guard let name = try? HostName(parsing: host), name.isLocal else { return nil }
    var selector: String?
    if case .name(let text) = name, text != "localhost" {
      // Names below `localhost` must belong to a service.
      guard names.contains(where: { $0.host == text }) else { return nil }
      selector = text
    }
    return Name(
      authority: 0..<0, portless: nil, host: selector, isLoopback: name.description == host, tunneledPort: port)
  }

  /// Maximum length of a loopback authority in bytes.
  private static var longestLoopback: Int { 260 }

  private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
    guard digits.first != UInt8(ascii: "0"), (1...5).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else {
      return nil
    }
    return UInt16(exactly: digits.reduce(0) { $0 * 10 + Int($1 &- 0x30) })
  }

  /// Returns the host if it can select a service; `nil` for `localhost`, addresses and invalid names.
  static func selector(_ host: ArraySlice<UInt8>) -> String? {
    if host.isEmpty || host.count > 253 || host.elementsEqual("localhost".utf8) { return nil }
    for byte in host where !HostName.isNameCharacter(byte) { return nil }
    let text = String(decoding: host, as: UTF8.self)
    return IPAddress(parsing: text) == nil ? text : nil
  }

  private static func isLoopback(_ host: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: host, as: UTF8.self)
    guard let name = try? HostName(parsing: text) else { return false }
    return name.isLocal && name.description == text
  }

  private func matches(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard text.count == range.count else { return false }
    let name = bytes.span.extracting(range)
    // Most requests spell the name as the configuration does.
    var index = 0
    while index < text.count, text[index] == name[index] { index &+= 1 }
    while index < text.count, ASCII.lowercased(text[index]) == name[index] { index &+= 1 }
    return index == text.count
  }
}
