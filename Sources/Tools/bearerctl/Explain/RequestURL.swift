internal import Policy
internal import Settings

/// The URL argument of `bearerctl explain`, split into the authority and the request target.
struct RequestURL {
  /// The host and port; `nil` if the argument is only a path.
  let authority: String?
  /// The request target; `/` for a URL without a path.
  let target: String

  /// Parses `http://localhost:7070/github/user`, `localhost:7070/github/user` or `/github/user`.
  init(_ text: String) throws(InvalidURL) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw InvalidURL("a URL must not have spaces or control characters: write a space as %20")
    }
    var whole = text.prefix { $0 != "#" }
    // curl(1) also accepts a URL without a scheme.
    if whole.firstMatch(of: /^[A-Za-z0-9.-]+:[0-9]+(\/|$)/) != nil { whole = "http://" + whole }
    if whole.hasPrefix("/") || whole == "*" {
      authority = nil
      target = String(whole)
      return
    }
    guard let colon = whole.firstRange(of: "://") else {
      throw InvalidURL("expected a URL like http://localhost:7070/github/user, or only its path /github/user")
    }
    guard whole[..<colon.lowerBound].lowercased() == "http" else {
      throw InvalidURL(
        "expected a URL that begins with http://: the URL that the program uses, not the upstream's")
    }
    let rest = whole[colon.upperBound...]
    let name = rest.prefix { $0 != "/" && $0 != "?" }
    guard !name.isEmpty, !name.contains("@") else {
      throw InvalidURL("expected http://HOST:PORT/PATH, without a user name or password")
    }
    let path = rest[name.endIndex...]
    authority = name.lowercased()
    target = path.hasPrefix("/") ? String(path) : "/" + path
  }

  static let defaultPort: UInt16 = 80

  /// The port, 80 by default; `nil` for only a path or an invalid port.
  var port: UInt16? {
    guard let authority else { return nil }
    let name = authority.hasPrefix("[") ? authority.drop { $0 != "]" } : authority[...]
    guard let colon = name.lastIndex(of: ":") else { return Self.defaultPort }
    return UInt16(name[name.index(after: colon)...])
  }
}

struct InvalidURL: Error {
  let message: String
  init(_ message: String) { self.message = message }
}

extension ListenerSettings {
  /// The TCP ports of the listener, with 0 for a port that only the daemon knows.
  var ports: [UInt16] {
    addresses.compactMap { address in
      switch address {
      case .localhost(let port), .tcp(_, let port): port
      case .unix: nil
      case .systemd: 0
      }
    }
  }

  var addressList: String {
    addresses.map { address in
      switch address {
      case .localhost(let port): "localhost:\(port)"
      case .tcp(let ip, let port): ip.bytes.count == 16 ? "[\(ip)]:\(port)" : "\(ip):\(port)"
      case .unix(let path, _): "unix:\(path)"
      case .systemd(let name): "systemd:\(name)"
      }
    }.joined(separator: ", ")
  }
}
