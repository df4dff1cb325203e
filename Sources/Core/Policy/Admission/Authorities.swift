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
  }

  private var bytes: [UInt8] = []
  private(set) var names: [Name] = []

  init(_ texts: [String]) {
    for text in texts {
      let start = bytes.count
      bytes += text.utf8.map(ByteClass.lowercased)
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

  /// The host without port, lower-case, when it may select a service. For authorities that are not listed: only of a
  /// text that is a plausible name.
  static func selector(_ host: ArraySlice<UInt8>) -> String? {
    if host.isEmpty || host.count > 253 || host.elementsEqual("localhost".utf8) { return nil }
    for byte in host where !ByteClass.isLetter(byte) && !ByteClass.isDigit(byte) && byte != 0x2d && byte != 0x2e {
      return nil
    }
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
    while index < text.count, ByteClass.lowercased(text[index]) == name[index] { index &+= 1 }
    return index == text.count
  }
}
