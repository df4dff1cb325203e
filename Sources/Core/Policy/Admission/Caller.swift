/// Who asks: as the kernel says, and as a client token proves.
package struct Caller: Sendable, Hashable {
  /// nil: the connection came over a network, where our kernel knows no user.
  package let uid: UInt32?
  /// Whose client token came with the request; only `Admission.admit` sets it.
  package private(set) var client: String?

  package init(uid: UInt32) { self.uid = uid }

  /// A caller on the other end of a network.
  package static let network = Caller()
  private init() { uid = nil }

  func proven(as client: String?) -> Caller {
    var caller = self
    caller.client = client
    return caller
  }
}

/// Who may ask: each caller who is in all of the lists that stand. Groups are resolved to their members' uids when the
/// configuration is read.
package struct Callers: Sendable, Equatable {
  /// nil: any uid, and those who have none.
  package var uids: Set<UInt32>?
  /// Users among them who are listed as members of a group alone.
  package var members: Set<UInt32>
  /// Names of clients. nil: with or without a client token.
  package var clients: Set<String>?

  package enum Verdict: Sendable, Equatable { case admitted, userNotListed, clientNotListed }

  package init(uids: Set<UInt32>?, members: Set<UInt32> = [], clients: Set<String>? = nil) {
    self.uids = uids
    self.members = members
    self.clients = clients
  }

  package func verdict(on caller: Caller) -> Verdict {
    if let uids {
      guard let uid = caller.uid, uids.contains(uid) else { return .userNotListed }
    }
    if let clients {
      guard let client = caller.client, clients.contains(client) else { return .clientNotListed }
    }
    return .admitted
  }

  /// Who is in both.
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
