package import Configuration
package import Gateway
package import HTTP1
package import Policy
import Primitives

/// A request that `bearerctl explain` asks about: decided by the configuration file, and by the running daemon, to which it
/// goes as one line of the control socket.
package struct ExplainRequest: Sendable {
  /// The name of the listener that it comes in by.
  package var listener = ""
  /// The caller that the kernel would name.
  package var caller = Caller.network
  /// The client for whose token `ClientToken.placeholder` stands among the fields; nil: any token there is one of its own.
  package var client: String?
  /// The authority that the program connects to, `localhost:7070`; nil: the listener's own.
  package var authority: String?
  /// Method and request-target.
  package var line = ""
  /// The lines of its head; without `Host`, the authority stands there.
  package var fields: [String] = []

  package init() {}

  /// - Parameters:
  ///   - snapshot: made of `settings`.
  ///   - ports: of the listener, as far as they are known.
  /// - Returns: nil: these settings have no such listener, or it has no such client.
  package func explanation(
    by snapshot: Snapshot, of settings: Settings, ports: [UInt16] = []
  ) throws(MessageError) -> (RequestHead, Explanation)? {
    guard let index = settings.listeners.firstIndex(where: { $0.name == listener }) else { return nil }
    let place = settings.listeners[index]
    var snapshot = snapshot
    if let client {
      guard let digest = place.clients.first(where: { $0.name == client })?.digests.first else { return nil }
      snapshot = Snapshot(snapshot) { _ in digest }
    }
    let authority = authority ?? place.firstAuthority(ports)
    let host = fields.contains { $0.lowercased().hasPrefix("host:") } ? [] : ["Host: \(authority)"]
    let head = (["\(line) HTTP/1.1"] + host + fields).map { $0 + "\r\n" }.joined() + "\r\n"
    var read = RequestHead()
    var reader = HeadReader(limits: snapshot.headLimits)
    guard try reader.readRequest(Array(head.utf8).span, into: &read) != nil else { throw MessageError(.closedInHead) }
    // A listener of every address may be called by the one that was connected to.
    let isEverywhere = place.addresses.contains { if case .tcp(let ip, _) = $0 { ip.isUnspecified } else { false } }
    let localEnd = caller.uid == nil || isEverywhere ? LocalEnd(authority) : nil
    return (read, Explanation(read, caller: caller, listener: index, localEnd: localEnd, snapshot: snapshot))
  }

  // MARK: on the control socket

  /// Its parts in hexadecimal digits, with a space between two; `-` for one that is empty.
  package var text: String {
    let uid = caller.uid.map { "\($0)" } ?? ""
    return ([listener, uid, client ?? "", authority ?? "", line] + fields).map(Self.hexadecimal).joined(separator: " ")
  }

  /// nil: `text` is no such request.
  package init?(text: String) {
    var parts: [String] = []
    for word in text.split(separator: " ") {
      guard let part = Self.text(word) else { return nil }
      parts.append(part)
    }
    guard parts.count >= 5 else { return nil }
    if !parts[1].isEmpty {
      guard let uid = UInt32(parts[1]) else { return nil }
      caller = Caller(uid: uid)
    }
    (listener, line, fields) = (parts[0], parts[4], Array(parts[5...]))
    client = parts[2].isEmpty ? nil : parts[2]
    authority = parts[3].isEmpty ? nil : parts[3]
  }

  private static func hexadecimal(_ text: String) -> String {
    text.isEmpty ? "-" : ASCII.hexadecimal(text.utf8)
  }

  private static func text(_ word: Substring) -> String? {
    if word == "-" { return "" }
    return ASCII.bytes(hexadecimal: word.utf8).flatMap { String(validating: $0, as: UTF8.self) }
  }
}

extension ListenerSettings {
  /// The authority that a client writes that has only a path.
  /// - Parameter ports: as they are bound, where the settings leave that to the system; empty: they are not known.
  package func firstAuthority(_ ports: [UInt16] = []) -> String {
    func authority(_ host: String, _ port: UInt16) -> String {
      let port = port == 0 ? ports.first ?? 0 : port
      return port == 0 ? host : "\(host):\(port)"
    }
    for address in addresses {
      switch address {
      case .localhost(let port): return authority("localhost", port)
      case .tcp(let ip, let port) where ip.isUnspecified: return authority("localhost", port)
      case .tcp(let ip, let port): return authority(ip.bytes.count == 16 ? "[\(ip)]" : "\(ip)", port)
      case .unix, .systemd: continue
      }
    }
    return authority("localhost", 0)
  }
}
