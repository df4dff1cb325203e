internal import Policy
internal import Settings

/// Collects lists of credentials, such as `credential: [a, b]`.
final class CombinedCredentials {
  private(set) var all: [(parts: [Int], location: TextLocation)] = []

  /// Returns the index in `all` of a list of sorted credential indices, and appends a new list.
  func index(of parts: [Int], at location: TextLocation) -> Int {
    if let known = all.firstIndex(where: { $0.parts == parts }) { return known }
    all.append((parts, location))
    return all.count - 1
  }

  /// Returns a combined credential for each list.
  func drafts(of credentials: [CredentialDraft]) -> [CredentialDraft] {
    // A combined credential has only the origins and callers that all its credentials allow.
    all.map { set in
      let parts = set.parts.map { credentials[$0] }
      var draft = CredentialDraft(
        name: parts.map(\.name).joined(separator: "+"), location: parts[0].location,
        originsLocation: parts[0].originsLocation)
      draft.origins = parts[0].origins.filter { origin in parts.allSatisfy { $0.origins.contains(origin) } }
      draft.callers = parts.compactMap(\.callers).reduce(nil) { $0?.intersection($1) ?? $1 }
      let schemes = parts.compactMap(\.scheme)
      draft.scheme = schemes.count == parts.count ? .all(schemes) : nil
      draft.certificate = parts.compactMap(\.certificate).first
      let renewable = parts.first { $0.scheme?.token != nil }
      (draft.replayBuffer, draft.refreshOn) = (renewable?.replayBuffer, renewable?.refreshOn ?? [])
      let suspensions = parts.compactMap(\.suspension)
      draft.suspension = suspensions.first.map { first in
        var strictest = first
        for other in suspensions.dropFirst() {
          (strictest.after, strictest.time) = (min(strictest.after, other.after), max(strictest.time, other.time))
        }
        return strictest
      }
      draft.parts = set.parts
      draft.partGrants = parts.map(\.grant)
      return draft
    }
  }
}
