import Primitives

/// Which ports `Host` may name together with a loopback name or address, unless the listener lists that name itself.
package enum LoopbackPorts: Sendable, Equatable {
  /// No port: other machines can reach the listener, or a service manager may hand it sockets that they can.
  case none
  /// These ports: the listener belongs to one service, which is found by its port.
  case only(Set<UInt16>)
  /// Every port but these, which belong to such services. A tunnel such as `ssh -L` may lead to the listener from any port.
  case any(except: Set<UInt16>)

  fileprivate func contain(_ port: UInt16) -> Bool {
    switch self {
    case .none: false
    case .only(let ports): ports.contains(port)
    case .any(let others): !others.contains(port)
    }
  }
}

/// The authorities that a listener answers to, ready to be compared with a request's bytes.
struct Authorities: Sendable, Equatable {
  struct Name: Sendable, Equatable {
    /// In `bytes`, lower-case, with port.
    let authority: Range<Int>
    /// The authority without `:80`, which a request may leave out; else nil.
    let portless: Range<Int>?
    /// The host when it may select a service: not `localhost` and not an address.
    let host: String?
    /// A browser trusts it over plain HTTP as well, and says with each request to it where that comes from.
    let isLoopback: Bool
    /// The port of a loopback name that is not listed with this port; `nil` for a listed name.
    var tunnelledPort: UInt16?
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

  /// The name that `text` is, without regard to the letters' case (RFC 9110 §4.2.3).
  func named(_ text: Span<UInt8>) -> Name? {
    for index in names.indices {
      if matches(text, names[index].authority) { return names[index] }
      if let portless = names[index].portless, matches(text, portless) { return names[index] }
    }
    return nil
  }

  /// The name that a loopback name or address stands for, whatever its port: `localhost`, a name below it that is listed, or an
  /// address of this machine alone.
  func loopback(_ text: Span<UInt8>, _ ports: LoopbackPorts) -> Name? {
    if case .none = ports { return nil }
    guard text.count <= Self.longestLoopback else { return nil }
    var bytes: [UInt8] = []
    for index in text.indices { bytes.append(ASCII.lowercased(text[index])) }
    // The colons of an IPv6 address stand in brackets.
    let close = bytes.lastIndex(of: UInt8(ascii: "]")) ?? 0
    let colon = bytes[close...].lastIndex(of: UInt8(ascii: ":"))
    let written: UInt16? = if let colon { Self.port(bytes[(colon + 1)...]) } else { 80 }
    guard let port = written, ports.contain(port) else { return nil }
    let host = String(decoding: bytes[..<(colon ?? bytes.count)], as: UTF8.self)
    guard let name = try? HostName(parsing: host), name.isLocal else { return nil }
    var selector: String?
    if case .name(let text) = name, text != "localhost" {
      // Below localhost only the services' own names are known.
      guard names.contains(where: { $0.host == text }) else { return nil }
      selector = text
    }
    return Name(
      authority: 0..<0, portless: nil, host: selector, isLoopback: name.description == host, tunnelledPort: port)
  }

  /// The longest name with the longest port.
  private static var longestLoopback: Int { 260 }

  /// A port without leading zeros.
  private static func port(_ digits: ArraySlice<UInt8>) -> UInt16? {
    guard digits.first != UInt8(ascii: "0"), (1...5).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else {
      return nil
    }
    return UInt16(exactly: digits.reduce(0) { $0 * 10 + Int($1 &- 0x30) })
  }

  /// The host without port, lower-case, when it may select a service. For authorities that are not listed: only of a
  /// text that is a plausible name.
  static func selector(_ host: ArraySlice<UInt8>) -> String? {
    if host.isEmpty || host.count > 253 || host.elementsEqual("localhost".utf8) { return nil }
    for byte in host where !HostName.isNameCharacter(byte) { return nil }
    let text = String(decoding: host, as: UTF8.self)
    return IPAddress(parsing: text) == nil ? text : nil
  }

  /// W3C Secure Contexts section 3.1, "potentially trustworthy origin". Whatever is written in another way is none.
  private static func isLoopback(_ host: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: host, as: UTF8.self)
    guard let name = try? HostName(parsing: text) else { return false }
    return name.isLocal && name.description == text
  }

  private func matches(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard text.count == range.count else { return false }
    let name = bytes.span.extracting(range)
    // Nearly all write it as it stands in the configuration.
    var index = 0
    while index < text.count, text[index] == name[index] { index &+= 1 }
    while index < text.count, ASCII.lowercased(text[index]) == name[index] { index &+= 1 }
    return index == text.count
  }
}
