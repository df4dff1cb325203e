internal import Primitives
internal import Settings

/// Checks whether client certificates can be used, and when they expire.
struct ClientCertificateChecks: SectionReader {
  let context: ReadingContext

  /// Checks that each certificate matches its key and has not expired.
  func check(_ credentials: [CredentialDraft]) {
    for draft in credentials.compactMap(\.certificate) {
      guard environment.files.status(draft.settings.file) != nil else { continue }
      // `FileChecks` has warned about a missing file.
      let files = [draft.settings.key, draft.settings.passphrase].compactMap { source in
        if case .file(let path) = source { path } else { nil }
      }
      guard files.allSatisfy({ environment.files.responding([$0]).contains($0) && environment.files.status($0) != nil })
      else { continue }
      switch environment.clientCertificate(draft.settings) {
      case .badCertificate(let sentence): report.error(draft.fileLocation, sentence)
      case .badKey(let sentence): report.error(draft.keyLocation, sentence)
      case .unreadKey(let sentence):
        report.warning(
          draft.keyLocation, "\(sentence): requests with this credential get 503",
          help: "put the secret there, and reload")
      case .good(let begins, let ends, let isForClients):
        if !isForClients {
          report.warning(
            draft.fileLocation,
            "upstreams will refuse this certificate: it is not for TLS clients (RFC 5280 section 4.2.1.12)"
          )
        }
        check(from: begins, to: ends, at: draft.fileLocation)
      }
    }
  }

  private func check(from begins: Int64, to ends: Int64, at location: TextLocation) {
    if ends <= environment.now {
      report.error(
        location, "this certificate expired on \(CivilTime.day(of: ends))", help: "put the renewed certificate there")
    } else if begins > environment.now {
      report.error(location, "this certificate is not valid before \(CivilTime.day(of: begins))")
    } else if let time = timeLeft(until: ends) {
      report.warning(
        location, "this certificate expires \(time). After that, requests with this credential get 503",
        help: "put the renewed certificate there, and reload")
    }
  }
}
