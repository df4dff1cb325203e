/// The way to a file, and what there is to know of the file beside its owner and mode.
package struct FileWay: Sendable {
  /// Who else could put another file in its place, and what to do about it; nil: no other user, as far as can be seen.
  package var problem: (message: String, help: String)?
  /// Who could if its mount was not read-only: a sentence; nil: no other user.
  package var pardon: String?
  /// A step on a read-only mount, where it cannot be changed.
  package var isReadOnly = false
  package var isEmpty = false

  package init() {}
}
