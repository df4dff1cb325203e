/// The pins of `pin_policies`, by the host names that they apply to.
package struct PinPolicies: Sendable, Equatable {
  package enum Entry: Sendable, Equatable {
    case pinned(PinPolicy, includesSubdomains: Bool)
    /// The host needs no pins, although an entry for a parent domain includes subdomains.
    case excluded
  }

  /// By name, in lower case without a trailing dot.
  package private(set) var entries: [String: Entry] = [:]

  package init() {}

  /// Adds an entry. Returns `false` if there is already an entry of this name.
  package mutating func insert(_ entry: Entry, for name: String) -> Bool {
    guard entries[name] == nil else { return false }
    entries[name] = entry
    return true
  }

  /// Returns the entry for a host: the entry of its own name, or else of the nearest parent domain that includes
  /// subdomains. `nil` if there is none, and for an address.
  package func entry(for host: HostName) -> (name: String, entry: Entry)? {
    guard !entries.isEmpty, case .name(let name) = host else { return nil }
    if let own = entries[name] { return (name, own) }
    return parent(of: name)
  }

  /// Returns the entry of the nearest parent domain that includes subdomains.
  package func parent(of name: String) -> (name: String, entry: Entry)? {
    var rest = name[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      let parent = String(rest)
      if let entry = entries[parent], case .pinned(_, includesSubdomains: true) = entry { return (parent, entry) }
    }
    return nil
  }
}
