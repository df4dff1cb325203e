/// The sender of a request: its user according to the kernel, and its client according to the client token.
package struct Caller: Sendable, Hashable {
  /// The user's id; `nil` if the connection came over a network, where the kernel knows no user.
  package let uid: UInt32?
  /// The client whose token came with the request; `nil` without one. Only `Admission.admit` sets it.
  package private(set) var client: String?

  package init(uid: UInt32) { self.uid = uid }

  package static let network = Caller()
  private init() { uid = nil }

  func authenticated(as client: String?) -> Caller {
    var caller = self
    caller.client = client
    return caller
  }
}

/// The callers that may send requests: a caller must be in every list that is not `nil`.
package struct Callers: Sendable, Equatable {
  /// Allowed users. `nil` allows every caller.
  package let uids: Set<UInt32>?
  /// One of `uids`, often the only one. A comparison is faster than a search.
  private let sample: UInt32?
  /// Users in `uids` that are listed only as members of a group.
  package var members: Set<UInt32>
  /// Names of allowed clients. `nil` allows callers with or without a client token.
  package var clients: Set<String>?

  package enum Verdict: Sendable, Equatable { case admitted, userNotListed, clientNotListed }

  package init(uids: Set<UInt32>?, members: Set<UInt32> = [], clients: Set<String>? = nil) {
    self.uids = uids
    sample = uids?.first
    self.members = members
    self.clients = clients
  }

  package static func == (one: Callers, other: Callers) -> Bool {
    (one.uids, one.members, one.clients) == (other.uids, other.members, other.clients)
  }

  package func verdict(on caller: Caller) -> Verdict {
    if let uids {
      guard let uid = caller.uid, uid == sample || uids.contains(uid) else { return .userNotListed }
    }
    if let clients {
      guard let client = caller.client, clients.contains(client) else { return .clientNotListed }
    }
    return .admitted
  }

  package func intersection(_ other: Callers) -> Callers {
    func common<Element>(_ one: Set<Element>?, _ other: Set<Element>?) -> Set<Element>? {
      guard let one, let other else { return one ?? other }
      return one.intersection(other)
    }
    return Callers(
      uids: common(uids, other.uids), members: members.union(other.members), clients: common(clients, other.clients))
  }

  package func admits(_ caller: Caller) -> Bool { verdict(on: caller) == .admitted }
}
