/// What leads to a file, and what there is to know of it beside its owner and mode.
package struct FileWay: Sendable {
  /// Who else could put another file in its place, and what to do about it; nil: nobody, as far as can be seen.
  package var problem: (message: String, help: String)?
  /// Who could if its mount was not read-only: a sentence; nil: nobody.
  package var pardon: String?
  /// A step on a read-only mount, where nobody can change it.
  package var isReadOnly = false
  package var isEmpty = false

  package init() {}
}
