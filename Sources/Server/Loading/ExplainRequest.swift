package import Gateway
package import HTTP1
package import Policy
import Primitives
package import Settings

/// A request for `bearerctl explain`.
package struct ExplainRequest: Sendable {
  package var listener = ""
  /// The caller that the kernel would report for the request's connection.
  package var caller = Caller.network
  /// The client whose token the request contains. `nil` if the request has no client token.
  package var client: String?
  /// The authority that the program connects to, such as `localhost:7070`. `nil` for the listener's first address.
  package var authority: String?
  /// The method and the request-target, such as `GET /v1/models`.
  package var line = ""
  /// The header fields, such as `Accept: */*`. If `Host` is missing, it is made from `authority`.
  package var fields: [String] = []

  package init() {}

  /// Explains how bearerd would decide the request.
  /// - Parameter ports: the ports that the listener is bound to. Empty if they are unknown.
  /// - Returns: `nil` if `settings` does not have the listener, or the listener does not have the client.
  package func explanation(
    by snapshot: Snapshot, of settings: DaemonSettings, ports: [UInt16] = []
  ) throws(MessageError) -> (RequestHead, Explanation)? {
    guard let index = settings.listeners.firstIndex(where: { $0.name == listener }) else { return nil }
    let listenerSettings = settings.listeners[index]
    var snapshot = snapshot
    if let client {
      guard let digest = listenerSettings.clients.first(where: { $0.name == client })?.digests.first else { return nil }
      snapshot = Snapshot(snapshot) { _ in digest }
    }
    let authority = authority ?? listenerSettings.firstAuthority(ports)
    let host = fields.contains { $0.lowercased().hasPrefix("host:") } ? [] : ["Host: \(authority)"]
    let head = (["\(line) HTTP/1.1"] + host + fields).map { $0 + "\r\n" }.joined() + "\r\n"
    var read = RequestHead()
    var reader = HeadReader(limits: snapshot.headLimits)
    guard try reader.readRequest(Array(head.utf8).span, into: &read) != nil else { throw MessageError(.closedInHead) }
    // On a listener for all addresses, `Host` may be the address that the client connected to.
    let isEverywhere = listenerSettings.addresses.contains {
      if case .tcp(let ip, _) = $0 { ip.isUnspecified } else { false }
    }
    let localEnd = caller.uid == nil || isEverywhere ? LocalEnd(authority) : nil
    return (read, Explanation(read, caller: caller, listener: index, localEnd: localEnd, snapshot: snapshot))
  }

  // MARK: control socket format

  /// The request as one line, for the control socket.
  package var text: String {
    let uid = caller.uid.map { "\($0)" } ?? ""
    return ([listener, uid, client ?? "", authority ?? "", line] + fields).map(Self.hexadecimal).joined(separator: " ")
  }

  /// Parses the format of `text`. Returns `nil` if the line is invalid.
  package init?(text: String) {
    let words = text.split(separator: " ")
    let parts = words.compactMap(Self.text)
    guard parts.count == words.count, parts.count >= 5 else { return nil }
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
  /// Returns the authority of the listener's first TCP address, otherwise `localhost`.
  /// - Parameter ports: the bound ports. Empty if they are unknown.
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
