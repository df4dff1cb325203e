internal import Policy
internal import Primitives
internal import Settings

/// The contents of a file with certificate revocation lists.
package enum RevocationListsStatus: Sendable {
  /// The issuer of each list, and when the list expires, in seconds since 1970.
  case good([(issuer: String, nextUpdate: Int64)])
  /// Why bearerd cannot use the file, as a sentence with its path.
  case bad(String)
}

struct RevocationReader: SectionReader {
  let context: ReadingContext
  let fields: Fields<RevocationKey>

  /// - Parameter consequence: What happens after a list has expired, as the end of a message.
  func policy(ifStale consequence: String) -> RevocationPolicy? {
    var policy = RevocationPolicy()
    policy.listFile = fields[.crlFile].flatMap { listFile($0, ifStale: consequence) }
    policy.stapling = fields[.stapling].flatMap {
      choice($0, [("use", RevocationPolicy.Stapling.use), ("require", .require)])
    }
    if !fields.has(.crlFile), !fields.has(.stapling) {
      missing(
        [.crlFile, .stapling], in: fields, "\"revocation\" has no check: expected crl_file, stapling, or both",
        help: "add crl_file: FILE or stapling: require, or delete the line")
      return nil
    }
    return policy
  }

  private func listFile(_ node: YAMLNode, ifStale consequence: String) -> String? {
    guard let path = path(node, "the path of a file with revocation lists"),
      FileChecks(context: context).checkRevocationLists(path, at: node.location)
    else { return nil }
    switch environment.revocationLists(path) {
    case .bad(let sentence):
      return report.error(
        node.location, sentence,
        help: "put the authority's current revocation list there, in PEM or DER. To look at it, run: "
          + "openssl crl -noout -text -in \(ShellWord.quoted(path))")
    case .good(let lists):
      // An issuer may also have a newer list in the file.
      let ends = Dictionary(lists.map { ($0.issuer, $0.nextUpdate) }, uniquingKeysWith: max)
      for (issuer, end) in ends.sorted(by: { $0.key < $1.key }) where end <= environment.now {
        report.warning(
          node.location,
          "the revocation list of \(issuer) in \(path) expired on \(CivilTime.day(of: end)). If this issuer is "
            + "needed, \(consequence)",
          help: "put the authority's current list there, and reload")
      }
      return path
    }
  }
}
