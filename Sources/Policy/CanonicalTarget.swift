/// A request-target in its one canonical form, with the other readings that an upstream might take of it.
/// Unreserved characters decoded, remaining escapes in upper case, nothing else changed.
package struct CanonicalTarget: Sendable {
  /// Matched, logged and sent; begins with `/`. Empty for `*` (OPTIONS).
  package private(set) var path: [UInt8] = []
  /// With its `?`, as it came; empty when there is none.
  package private(set) var query: [UInt8] = []
  /// Other paths that an upstream might read: `%2F` as separator, everything decoded once, `//` collapsed, `;params` dropped, and combinations. Empty for plain paths: the fast path.
  package private(set) var readings: [[UInt8]] = []

  package init() {}

  /// Keeps its storage. Refuses dot segments in any reading, backslash (plain or escaped), NUL and control bytes (plain or escaped), bad escapes, fragments, non-ASCII.
  package mutating func read(_ target: Span<UInt8>) throws(PolicyRefusal) { fatalError() }
}
